"""builders/booksort.py as a user runs it."""

import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pooch.core
import pytest
from datasets import load_dataset

from epbench import BadInput
from epbench.interop.eval_results import _scores
from tests.booksort.made_texts import write_texts
from tests.conftest import ROOT
from tests.loopback import Handler, Loopback
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import scores_of

BUILD = "builders/booksort.py"
SMALL = ("--excerpt-words", "250", "1000", "--segment-words", "20", "--excerpts", "6", "--validation", "2")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"), 4000, 3000)


@pytest.fixture(scope="module")
def built(texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    done = ran(BUILD, "--texts", texts, *SMALL, "--out", out)
    return out / "booksort", done


def test_a_folder_of_texts_becomes_a_set(built):
    folder, shown = built
    names = "README.md books croissant-rai.json e1000_s20 e250_s20 eval.yaml manifest.json"
    assert sorted(path.name for path in folder.iterdir()) == names.split()
    assert sorted(path.name.split("-")[0] for path in (folder / "e250_s20").iterdir()) == ["test", "validation"]
    assert "0.500" in shown and "2 books, 128 pairs" in shown
    chosen = "--texts DIR --excerpt-words 250 1000 --segment-words 20 --excerpts 6 --validation 2"
    assert f"`python builders/booksort.py {chosen}`" in (folder / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_pairs_of_whole_books_are_asked_up_to_40_000_words_apart(tmp_path):
    """Built, asked with the book in context, by retrieval and by a memory system, and shown as Figure 10."""
    texts = write_texts(tmp_path / "texts", 44_000)
    options = ("--excerpt-words", "250", "--segment-words", "50", "--excerpts", "2", "--validation", "1")
    done = ran(BUILD, "--texts", texts, *options, "--whole-book", "20", "--out", tmp_path)
    words = load_dataset(str(tmp_path / "booksort"), "books", split="test")["n_words"][0]
    assert re.search(rf"book_s50 +test +160 +0\.500 +{words:,}", done) and "1 books, 188 pairs" in done
    assert "--validation 1 --whole-book 20`" in (tmp_path / "booksort/README.md").read_text("utf-8")
    base = ("eval_scripts/booksort.py", "--dataset", tmp_path / "booksort", "--config", "book_s50", "--model", "oracle")
    done = script(*base, "--memory", "in-context", "--out", tmp_path / "no")
    refused(done, "book_s50 asks about whole books and has no")
    found = {}
    for memory, more in (("full-book", ()), ("rag", ()), ("verbatim-bm25", ("--stored", "book"))):
        ran(*base, "--memory", memory, *more, "--out", tmp_path / memory)
        found[memory] = scores_of(tmp_path / memory)
        assert found[memory]["n_questions"] == 160
    assert found["full-book"]["accuracy"] == 1 and found["rag"]["retrieval"]["both_found"] > 0.9
    assert found["verbatim-bm25"]["retrieval"]["both_found"] > 0.9
    groups = found["full-book"]["by_group"]
    assert list(groups["distance"]) == list("12345678") and f"{words} x 40000" in groups["distance_bin"]
    assert found["full-book"]["distances"][-1]["to"] > 35_000
    ran("eval_scripts/tables.py", tmp_path / "full-book", "--out", tmp_path / "tables")
    figure = (tmp_path / "tables/figure-10.md").read_text("utf-8")
    assert all(f"| full-book | 0 | {bin_} | 1.000" in figure for bin_ in ("0–400", "400–1,000", "25,000–40,000"))
    assert "Accuracy on booksort: book_s50" in (tmp_path / "tables/leaderboard-booksort.md").read_text("utf-8")
    with pytest.raises(BadInput, match="those of whole books are no tasks of the Hub"):
        list(_scores(tmp_path / "full-book", {"benchmark": "booksort"}))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"word " * 900, (), "a.txt: expected prose with . ? or !, got no end of a sentence in 900 words"),
        (b"One short text. It ends.", (), "a.txt: expected at least 250 words of narrative (the shortest excerpt), got 5; remove"),
        (b"It was. " * 300, ("--template-books", "2"), "--texts and --template-books name different books; use only one"),
        (b"It was. " * 300, ("--excerpt-words", "60"), "excerpts of 60 words and segments of 20"),
        (b"It was. " * 300, ("--base-url", "http://127.0.0.1:1"), "use only one of them"),
        (None, (), "got no .txt files"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, content, options, message):
    texts = tmp_path / "texts"
    texts.mkdir()
    if content is not None:
        (texts / "a.txt").write_bytes(content)
    given = f"{BUILD} --texts {texts} --segment-words 20 --excerpt-words 250 --validation 2 --out {tmp_path / 'out'}"
    refused(script(given, *options), message)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_overwritten(texts, tmp_path):
    (tmp_path / "booksort").mkdir()
    (tmp_path / "booksort/thesis.tex").write_text("x")
    refused(script(BUILD, "--texts", texts, *SMALL, "--out", tmp_path), "is not a dataset folder")
    assert (tmp_path / "booksort/thesis.tex").exists()


@pytest.fixture
def mirror(nine_texts, tmp_path):
    """A mirror of Project Gutenberg on loopback with the nine texts."""
    root = tmp_path / "mirror"
    for path in nine_texts.glob("*.txt"):
        number = path.name.split("-")[0]
        (root / "cache/epub" / number).mkdir(parents=True)
        (root / "cache/epub" / number / f"pg{number}.txt").write_bytes(path.read_bytes())

    quiet = type("Quiet", (Handler, SimpleHTTPRequestHandler), {})
    with Loopback(ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(root)))) as server:
        yield server.url, root


@pytest.mark.slow
def test_the_nine_books_come_from_a_mirror_and_then_from_the_cache(nine_table, mirror, tmp_path, monkeypatch):
    url, root = mirror
    few = "--excerpt-words 250 --segment-words 20 --excerpts 10 --validation 2"

    def build(out, cache="cache"):
        monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / cache))
        return script(f"{BUILD} {few} --base-url {url} --out {tmp_path / out}")

    monkeypatch.setattr(pooch.core.time, "sleep", lambda _: None)
    broken = root / "cache/epub/73042/pg73042.txt"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100_000])
    refused(build("cut-off"), "the file of 'The Well of Loneliness' is truncated")
    assert not (tmp_path / "cut-off").exists()
    broken.write_bytes(whole)
    done = build("whole")
    assert done.returncode == 0 and "9 books, 432 pairs" in done.stdout, done.stderr
    for path in root.rglob("*.txt"):
        path.unlink()
    assert build("again").returncode == 0
    done = build("none", cache="empty")
    assert done.returncode == 1 and "a folder of the nine files" in done.stderr
    assert "pg69087.txt could not be downloaded" in done.stderr


# What a card says of the texts themselves: bytes and words, distances that came out, what was removed.
OF_THE_TEXTS = (
    (r"((?:num_bytes|download_size|dataset_size): )\d+", r"\1…"),
    (r"\b(\d+): \d+, \d+, \d+(?=[; ])", r"\1: …"),  # a bin's edge, and its least, median and largest distance
    (r"(?ms)^\| book \| title \|.*?\n\n", "…\n\n"),
    (r"(?m)^(- \*.*?\*: ).*(?: · .*|none)$", r"\1…"),
)


@pytest.mark.slow
def test_the_published_card_is_the_one_that_the_builder_writes(nine_texts, nine_set):
    """To the letter for the real texts; for made-up ones but for what is said of the texts."""
    cards = [card.read_text("utf-8") for card in (ROOT / "dataset_cards/booksort/README.md", nine_set / "README.md")]
    of_the_texts = [(r"num_bytes: \d+", "")] if nine_texts.name == "gutenberg" else OF_THE_TEXTS
    for pattern, other in of_the_texts:  # bytes in memory depend on the version of pyarrow
        cards = [re.sub(pattern, other, card) for card in cards]
    assert cards[0] == cards[1], "run `make cards TEXTS=DIR`"


def test_template_books_need_no_network_and_the_card_says_how(tmp_path):
    command = f"{BUILD} --template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 5 --validation 1"
    ran(command, "--out", tmp_path)
    books = load_dataset(str(tmp_path / "booksort"), "books", split="test")
    assert len(books) == 2 and len(set(books["book_title"])) == 2
    assert f"python {command}" in (tmp_path / "booksort/README.md").read_text()
