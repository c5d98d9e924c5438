import re
import shutil

import pytest

from epbench import BadInput
from epbench.booksort.texts.books import books_from, published_books
from tests.booksort.made_texts import write_texts
from tests.booksort.nine_texts import table_of, write_nine

OUTSIDE = ("licence", "front matter", "back matter", "footnote marker")  # not in the narrative's range
# Table 3 counts headings, footnotes and captions in. What differs: the words CHAPTER and BOOK ONE at which the published
# files were cut (27, 58), two places where words were glued and one cut early (3), the title of the essay (-6).
DIFFERENCE = {69087: 27, 72963: 3, 73017: -6, 73042: 58}


@pytest.mark.parametrize("index", sorted(published_books()))
def test_kept_and_removed_words_agree_with_table_3(nine_texts, nine_table, nine_books, index):
    book = nine_books[index]
    removed = sum(words for kind, (_, words) in book.removed_words().items() if kind not in OUTSIDE)
    difference = DIFFERENCE if nine_texts.name == "gutenberg" else {}
    assert len(book.words) + removed - book.published_words == difference.get(index, 0)
    assert book.published_words == published_books()[index].words
    raw = (nine_texts / f"{index}-0.txt").read_text("utf-8-sig")
    plain, at = " ".join(re.sub(r"\[\d+\]", "", raw).replace("_", "").split()), 0
    for paragraph in book.paragraphs:  # what is kept is in the file word for word
        assert (at := plain.find(paragraph, at)) >= 0, paragraph[:80]


def test_no_heading_licence_mark_or_number_remains(nine_books):
    money = nine_books[72972].words  # of which the published set has damaged some
    assert "Rudge-in-the-Vale" in " ".join(money) and "ery" not in money and "Very" in money
    assert not {"Line.When", "seems.Reality"} & set(nine_books[72963].words)
    for book in nine_books.values():
        assert not re.search(r"gutenberg|transcriber|\[illustration|the end$", book.text, re.I), book.title
        assert not re.search(r"[_*]|\[\d+\]|\bCHAPTER\b", book.text), book.title
        for paragraph in book.paragraphs:
            assert not re.fullmatch(r"[IVXLC]+|\d+|BOOK [A-Z]+|Chapter [IVXLC]+.*|Fig\. \d+", paragraph), paragraph


def test_removed_headings_by_book(nine_books):
    def headings(index, kind="heading"):
        return [item.text for item in nine_books[index].removed if item.kind == kind]

    parts = [f"BOOK {n}" for n in ("ONE", "TWO", "THREE", "FOUR", "FIVE")]
    assert [heading for heading in headings(73042) if heading.startswith("BOOK")] == parts
    assert sum(heading.isdigit() for heading in headings(73042)) == 211
    assert len(headings(73042)) == 5 + 56 + 211
    assert len(headings(72963)) == 16 and len(headings(72963, "sub-heading")) == 83
    assert (len(headings(69087)), len(headings(72578)), len(headings(72869)), len(headings(72958))) == (54, 25, 40, 48)
    assert len(headings(72600)) == 18 and headings(73017) == []


def test_sentences_of_the_nine_books(nine_books):
    for book in nine_books.values():
        starts, words = book.starts, book.words
        assert starts[0] == 0 and not any(words[i].lstrip("“‘\"'([—")[:1].islower() for i in starts)
        titles = sum(re.fullmatch(r"[“‘\"'(]*(Mr|Mrs|Dr|St|Prof|Chas)\.", words[i - 1]) is not None for i in starts[1:])
        assert titles == 0
        assert 9 < len(words) / len(starts) < 28


def test_the_narrative_of_made_up_books_is_recovered_exactly(tmp_path):
    written = write_nine(tmp_path)
    with table_of(tmp_path):
        books = books_from(tmp_path)
    for book in books:
        expected = written[book.index]
        assert list(book.paragraphs) == expected.paragraphs
        for kind, headings in (("heading", expected.headings), ("sub-heading", expected.sub_headings)):
            assert [item.text for item in book.removed if item.kind == kind] == headings


def test_your_own_texts_are_numbered_by_name_and_titled_by_header_or_name(tmp_path):
    write_texts(tmp_path, 100, 100)
    header = "Title: A Tale\n\n*** START OF THE PROJECT GUTENBERG EBOOK TALE ***\n"
    (tmp_path / "a.txt").write_text(header + (tmp_path / "a.txt").read_text())
    (tmp_path / "notes.md").write_text("no text")
    (tmp_path / "deep.txt").mkdir()
    books = books_from(tmp_path)
    assert [(book.index, book.title, book.published_words) for book in books] == [(0, "A Tale", None), (1, "b", None)]
    assert "CHAPTER" not in books[0].text and books[0].removed_words()["heading"] == (1, 2)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "expected the texts of the books, got no .txt files"),
        ({"a.txt": "word " * 500}, r"a\.txt: expected prose .*, got no end of a sentence in 500 words"),
        (
            {"a.txt": "One day.", "b.txt": "One  day.\n"},
            r"b\.txt: expected each text once, got the same text as a\.txt",
        ),
        ({"69087-0.txt": "One."}, r"got no 72578-0\.txt for 'Tom Swift and His Talking Pictures'"),
    ],
)
def test_a_folder_that_cannot_be_used_is_one_line(tmp_path, files, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=message):
        books_from(tmp_path)


def test_the_nine_must_be_whole_and_unchanged(nine_texts, nine_table, tmp_path):
    for path in nine_texts.glob("*.txt"):
        shutil.copyfile(path, tmp_path / path.name)
    (tmp_path / "73017-0.txt").rename(tmp_path / "pg73017.txt")
    assert [book.index for book in books_from(tmp_path)] == sorted(published_books())
    essay = tmp_path / "pg73017.txt"
    whole = essay.read_bytes()
    essay.write_bytes(whole.replace(b"bustle", b"bustles", 1))
    with pytest.raises(BadInput, match=r"pg73017\.txt: expected sha256 .* for 'Pomona; or, the Future of English'"):
        books_from(tmp_path)
    essay.write_bytes(whole[:30_000])
    with pytest.raises(BadInput, match=r"pg73017\.txt: .* is truncated"):
        books_from(tmp_path)
    essay.unlink()
    with pytest.raises(BadInput, match=r"got no 73017-0\.txt"):
        books_from(tmp_path)
    shutil.copyfile(tmp_path / "72972-0.txt", tmp_path / "72972.txt")
    with pytest.raises(BadInput, match=r"got .* and .* for 'Money for Nothing'|got no 73017-0\.txt"):
        books_from(tmp_path)
