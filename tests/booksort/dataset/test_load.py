import itertools
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from epbench.booksort.dataset.load import config_names, fingerprint, group_of, load_books, load_pairs
from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS
from epbench.errors import BadInput
from epbench.hub.install import install_dataset
from epbench.hub.rows import subset
from tests.booksort.published_sort_csv import SEGMENTS, write_excerpts, write_segments
from tests.booksort.sort_set import BINS, BOOKS, HELD_OUT, TEST, pair_rows, write_tables
from tests.conftest import SHARED, made_texts, set_of


@pytest.fixture
def published_csv(tmp_path):
    """The rows of one config as the authors' files have them: marked with asterisks, split by the excerpt's number."""
    rows = pair_rows(250, 20) + [row | {"excerpt_idx": 100} for row in pair_rows(250, 20, "validation")]
    segments = [row for row in rows if row["excerpt_idx"] != 100 or row["id"].endswith(f"{TEST}-{row['id'][-1]}")]
    write_segments(tmp_path, 250, 20, segments)
    write_excerpts(tmp_path, 250, 20, segments)
    return tmp_path


def test_the_pairs_of_a_config_and_split(dataset):
    pairs = load_pairs(dataset, ["e250_s20"])
    assert len(pairs) == len(BOOKS) * TEST * BINS
    assert {pair.excerpt_length for pair in pairs} == {250} and {pair.title for pair in pairs} == set(BOOKS.values())
    for pair in pairs:
        words = pair.excerpt.split()
        for position, segment in zip(pair.positions, pair.segments, strict=True):
            assert " ".join(words[position : position + 20]) == segment
        assert pair.shown == (pair.segments if pair.answer == "A" else pair.segments[::-1])
        assert pair.distance == pair.positions[1] - pair.positions[0] >= 20
    assert len(load_pairs(dataset, ["e250_s20"], "validation")) == len(BOOKS) * HELD_OUT * BINS
    assert len({id(pair.excerpt) for pair in pairs}) == len(BOOKS) * TEST, "the pairs of an excerpt share its text"
    assert config_names(dataset) == ["e120_s20", "e250_s20"]
    every = load_pairs(dataset, ["all"])
    assert every == load_pairs(dataset, ["e120_s20", "e250_s20", "e120_s20"])
    assert list(dict.fromkeys(pair.config for pair in every)) == ["e120_s20", "e250_s20"]  # short ones first
    some = subset(every, group_of, 10)
    assert len(some) == 10 and len({group_of(pair) for pair in some}) == 3  # pairs of an excerpt stay together
    install_dataset(Path(dataset))
    assert load_pairs("epbench/booksort", ["all"]) == every


def test_a_fingerprint_is_that_of_the_rows(dataset):
    pairs, books = load_pairs(dataset), load_books(dataset)
    assert fingerprint(pairs) == fingerprint(load_pairs(dataset))
    prints = {fingerprint(pairs), fingerprint(pairs[:-1]), fingerprint(pairs[::-1]), fingerprint(books)}
    assert len(prints) == 4
    assert [book.title for book in books] == list(BOOKS.values())


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("segment_1", 7, "field 'segment_1': expected a text, found 7"),
        ("segment_2", " ", "field 'segment_2': expected words, got none"),
        ("seg1_pos", 3, "field 'seg1_pos': segment_1 does not begin at word 3 of excerpt_text"),
        ("seg2_pos", 0, "field 'seg2_pos': expected more than seg1_pos = .*, got 0"),
        ("present_seg1_first", 2, "field 'present_seg1_first': expected 0 or 1, got 2"),
        ("answer", "C", "field 'answer': expected .*, got 'C'"),
        ("excerpt_length", 100, "expected the lengths in the config's name"),
        ("id", "101-e250_s20-0-0", "expected distinct ids, got '101-e250_s20-0-0' twice"),
    ],
)
def test_a_bad_row_is_one_line_with_row_and_field(tmp_path, field, value, match):
    rows = pair_rows(250, 20)[:3]
    rows[2][field] = value
    if field == "segment_1":  # a column has one type
        rows = [row | {"segment_1": 7} for row in rows[:2]] + [rows[2]]
    bad = write_tables(tmp_path / "bad", {("e250_s20", "test"): rows})
    with pytest.raises(BadInput, match=match) as error:
        load_pairs(str(bad))
    assert "\n" not in str(error.value) and "config 'e250_s20'" in str(error.value)


def test_a_missing_column_config_or_split_is_one_line(dataset, tmp_path):
    rows = [{name: value for name, value in row.items() if name != "seg2_pos"} for row in pair_rows(250, 20)[:2]]
    bad = write_tables(tmp_path / "bad", {("e250_s20", "test"): rows, ("books", "test"): [{"book_idx": 1}]})
    for name, configs, split, match in (
        (bad, ["e250_s20"], "test", "row 0, field 'seg2_pos': expected a whole number, found nothing"),
        (dataset, ["short"], "test", "expected one of the configs .*e250_s20, got 'short'"),
        ("/no/such", ["short"], "test", "config: expected e<excerpt>_s<segment>.*got 'short'"),
        (dataset, ["e250_s20"], "train", "split: expected one of test, validation, got 'train'"),
        (tmp_path, ["all"], "test", "is it a Book-SORT dataset"),
        ("/no/such", ["e250_s20"], "test", "neither a folder nor on the Hub"),
    ):
        with pytest.raises(BadInput, match=match):
            load_pairs(str(name), configs, split)
    with pytest.raises(BadInput, match="config 'books', row 0, field 'book_title': expected a text"):
        load_books(str(bad))


def test_a_rebuilt_folder_is_read_anew_and_a_broken_file_is_one_line(tmp_path):
    folder = tmp_path / "booksort"
    first = load_pairs(str(write_tables(folder, {("e250_s20", "test"): pair_rows(250, 20)[:4]})))
    write_tables(folder, {("e250_s20", "test"): pair_rows(250, 20)[4:8]})
    again = load_pairs(str(folder))
    assert len(first) == len(again) == 4 and first != again
    (path,) = (folder / "e250_s20").iterdir()
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match=r"test-00000-of-00001.parquet: not a readable Parquet file") as error:
        load_pairs(str(folder))
    assert "\n" not in str(error.value)


def test_the_published_files_lose_their_asterisks(published_csv, dataset):
    pairs = load_pairs(str(published_csv))
    own = load_pairs(dataset, ["e250_s20"])
    shown = [(p.book_idx, p.excerpt_idx, p.segments, p.positions, p.excerpt, p.answer) for p in pairs]
    assert shown == [(p.book_idx, p.excerpt_idx, p.segments, p.positions, p.excerpt, p.answer) for p in own]
    held_out = load_pairs(str(published_csv), ["all"], "validation")
    assert {pair.excerpt_idx for pair in held_out} == {100}
    assert pairs[0].title == "book 101"
    with pytest.raises(BadInput, match="published set has no whole books"):
        load_books(str(published_csv))
    with pytest.raises(BadInput, match="published set has no pairs of whole books, got config 'book_s50'"):
        load_pairs("memari/booksort", ["book_s50"])
    with pytest.raises(BadInput, match="expected one of the configs e250_s20, got 'e1000_s20'"):
        load_pairs(str(published_csv), ["e1000_s20"])


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (
            lambda text: text.replace(b"\n1,101,0", b"\n1,101,x"),
            "n110.csv, row 1, field 'excerpt_idx': expected an integer",
        ),
        (lambda text: text + "été".encode("latin-1"), "n110.csv: not CSV in UTF-8 .*get the file again"),
        (lambda text: text.replace(b"segment_2", b"x", 1), "row 0, field 'segment_2': expected a text, found None"),
    ],
)
def test_a_damaged_published_file_is_one_line(published_csv, damaged, message):
    path = published_csv / "segments_250-s20-n110.csv"
    path.write_bytes(damaged(path.read_bytes()))
    with pytest.raises(BadInput, match=message):
        load_pairs(str(published_csv))


def test_the_published_set_on_the_hub_is_filtered_by_its_lengths(tmp_path, dataset):
    rows = [
        {name: value for name, value in row.items() if name not in ("id", "distance", "answer")}
        | {"segment_1": f"*{row['segment_1']}*", "excerpt_text": f"*{row['excerpt_text']}*\n\n"}
        for row in pair_rows(120, 20) + pair_rows(250, 20)
    ]
    source = write_tables(tmp_path / "booksort", {("default", "test"): rows, ("default", "validation"): rows[:1]})
    install_dataset(source, "memari")
    pairs = load_pairs("memari/booksort", ["e120_s20"])
    own = load_pairs(dataset, ["e120_s20"])
    assert [(p.excerpt, p.segments, p.answer) for p in pairs] == [(p.excerpt, p.segments, p.answer) for p in own]
    with pytest.raises(BadInput, match="found no rows"):
        load_pairs("memari/booksort", ["e20000_s50"])


@pytest.fixture(scope="module")
def made_set(once):
    return set_of(made_texts(once), once)


@pytest.fixture(scope="module")
def made_csv(made_set, once):
    """The set of the made-up nine books in the published form; only the excerpts of 250 words have a file there."""

    def write(folder):
        for excerpt, segment in itertools.product(EXCERPT_WORDS, SEGMENT_WORDS):
            paths = sorted((made_set / f"e{excerpt}_s{segment}").glob("*.parquet"))
            columns = [*SEGMENTS, *(["excerpt_pos", "excerpt_text"] if excerpt == 250 else [])]
            rows = [row for path in paths for row in pq.read_table(path, columns=columns).to_pylist()]
            write_segments(folder, excerpt, segment, rows)
            if excerpt == 250:
                write_excerpts(folder, excerpt, segment, rows)

    return once("nine-csv", write)


@pytest.fixture(scope="module", params=["made", *(["published"] if (SHARED / "booksort").is_dir() else [])])
def nine_csv(request):
    """Published files: made-up ones, and those of the authors where they lie beside the checkout."""
    return SHARED / "booksort" if request.param == "published" else request.getfixturevalue("made_csv")


@pytest.mark.slow
def test_every_row_of_the_published_files_can_be_read(nine_csv):
    folder = str(nine_csv)
    test, held_out = load_pairs(folder, ["all"]), load_pairs(folder, ["all"], "validation")
    assert (len(test), len(held_out)) == (34400, 3440)
    assert not any(text.startswith("*") and text.endswith("*") for pair in test for text in pair.segments)
    assert {pair.excerpt is not None for pair in test if pair.excerpt_length == 250} == {True}
    assert test[0].title == "The Murder of Roger Ackroyd"
