"""The texts that a model is trained on: their titles, numbers and wording are those that SORT shows."""

import shutil

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_books, load_pairs
from epbench.booksort.finetuning.material import TrainingText, books_of_set, chunks_of_texts, raw_books, summaries
from epbench.booksort.texts.books import books_from, published_books
from epbench.errors import BadInput
from epbench.finetuning.tokens import SampleTokens
from tests.booksort.sort_set import BOOKS, book_text
from tests.finetuning.tiny_tokenizers import tokenizer_with

RAW = (
    "The Project Gutenberg eBook of A Lamp\n\nTitle: A Lamp\n\n*** START OF THE PROJECT GUTENBERG EBOOK A LAMP ***\n\n"
    "CHAPTER I\n\n\nThe lamp went\nout.  Nobody came.\n \t\n[Illustration]\n\nIt rained, said Mr. Day. He left.\n\n"
    "*** END OF THE PROJECT GUTENBERG EBOOK A LAMP ***\n\nThe licence.\n"
)
NINE = pytest.mark.usefixtures("nine_table")


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_books_of_a_set_are_those_that_its_pairs_are_about(dataset):
    texts = books_of_set(dataset)
    assert [(text.id, text.title) for text in texts] == [(str(book), title) for book, title in BOOKS.items()]
    for text, book in zip(texts, load_books(dataset), strict=True):
        assert "\n\n".join(text.paragraphs) == book.text == book_text(book.book_idx)
    titles = {str(pair.book_idx): pair.title for pair in load_pairs(dataset)}
    assert titles == {text.id: text.title for text in texts}


def test_raw_books_lose_the_licence_alone(tmp_path):
    folder = write(tmp_path / "t", b_lamp=RAW, a_river="\ufeffA river.\r\n\r\nIt\r\nran. It dried.\r\n")
    (folder / "notes.md").write_text("no book")
    river, lamp = raw_books(folder)
    assert river == TrainingText("0", "a_river", ["A river.", "It ran. It dried."])
    paragraphs = ["CHAPTER I", "The lamp went out. Nobody came.", "[Illustration]", "It rained, said Mr. Day. He left."]
    assert lamp == TrainingText("1", "A Lamp", paragraphs)
    assert [(text.id, text.title) for text in (river, lamp)] == [(str(b.index), b.title) for b in books_from(folder)]


@NINE
def test_raw_published_books_have_the_numbers_and_titles_of_the_prompts(nine_texts, nine_books, tmp_path):
    texts = raw_books(nine_texts)
    assert [(int(text.id), text.title) for text in texts] == [(id_, book.title) for id_, book in nine_books.items()]
    for text, book in zip(texts, nine_books.values(), strict=True):
        assert "PROJECT GUTENBERG EBOOK" not in " ".join(text.paragraphs).upper()
        assert len(" ".join(text.paragraphs).split()) > len(book.words)
    headed = raw_books(nine_texts)[0]
    assert any(paragraph.startswith("CHAPTER") for paragraph in headed.paragraphs)

    for name in ("72963-0.txt", "69087-0.txt"):  # some of the nine suffice
        shutil.copy(nine_texts / name, tmp_path / name.replace("-0", "").replace("72963", "pg72963"))
    some = raw_books(tmp_path)
    assert [text.id for text in some] == ["69087", "72963"] and some[0] == headed


@NINE
def test_damaged_texts_are_refused(nine_texts, tmp_path):
    title = published_books()[69087].title
    whole = (nine_texts / "69087-0.txt").read_bytes()
    cases = [
        ({"69087": whole[:-40_000]}, "69087.txt: expected the START and END lines"),
        ({"69087": whole.replace(b"CHAPTER", b"PART", 1)}, "69087.txt: expected sha256"),
        ({"69087": whole, "pg69087-0": whole}, f"expected {title!r} once, got pg69087-0.txt as well as another"),
        ({"own": b"\xff\xfe"}, "own.txt: expected UTF-8, got byte 0xff at offset 0"),
        ({"own": " \n\n"}, "own.txt: expected a text, got no words"),
        ({}, "expected .txt files, got none"),
    ]
    for number, (files, message) in enumerate(cases):
        folder = write(tmp_path / str(number), **files)
        with pytest.raises(BadInput) as error:
            raw_books(folder)
        assert message in str(error.value) and str(folder) in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(BadInput, match="there is no such folder"):
        raw_books(tmp_path / "nowhere")


def test_summaries_are_named_by_number_or_title(dataset, tmp_path):
    books = books_of_set(dataset)
    write(tmp_path, **{"102": "Salt.\n\nIt thunders\nat last. Then it is quiet.", BOOKS[101]: "A lamp.\n"})
    first, second = summaries(tmp_path, books)
    assert first == TrainingText("101", BOOKS[101], ["A lamp."])
    assert second == TrainingText("102", BOOKS[102], ["Salt.", "It thunders at last. Then it is quiet."])
    assert summaries(write(tmp_path / "one", **{"102": "Salt."}), books[1:])[0].paragraphs == ["Salt."]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"101": "A lamp."}, "expected a summary of every book, got no 102.txt or Salt and Thunder.txt"),
        (
            {"101": "A.", "102": "B.", "103": "C."},
            "103.txt: expected the number or title of one of 2 books as its name",
        ),
        ({"101": "A.", BOOKS[101]: "A.", "102": "B."}, "expected one summary of book 101, got 101.txt and The Lamp"),
    ],
)
def test_summaries_that_do_not_match_the_books_are_refused(dataset, tmp_path, files, message):
    with pytest.raises(BadInput) as error:
        summaries(write(tmp_path / "s", **files), books_of_set(dataset))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_text_is_read_as_an_excerpt_is_in_context(dataset):
    pack, pair, tokens = load_prompts(), load_pairs(dataset)[0], SampleTokens(tokenizer_with("chatml"))
    (request,) = requests_for("in-context", [pair], pack, 12)
    texts = [TrainingText("101", pair.title, [pair.excerpt])]
    (sample,) = chunks_of_texts(texts, pack, 12, tokens)
    shown = tokens.tokenizer.decode(sample.ids)
    assert sample.id == "101/0" and request.system in shown and request.context in shown and "Segment A" not in shown
    with pytest.raises(BadInput, match="prompt: expected one of 1, 2"):
        chunks_of_texts(texts, pack, 13, tokens)
    with pytest.raises(BadInput, match=r"sample 101/0: found [\d,]+ tokens, expected at most 400"):
        chunks_of_texts(texts, pack, 12, SampleTokens(tokens.tokenizer, 400))
