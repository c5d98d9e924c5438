"""Book-SORT as a dataset: rows, card, manifest."""

import hashlib
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_dataset

from epbench import BadInput
from epbench.booksort.dataset.card import benchmark_yaml, booksort_card
from epbench.booksort.dataset.schema import Recipe, make_configs, manifest, tasks_of
from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS, distance_bins
from epbench.booksort.texts.books import books_from, published_books
from epbench.hub.dataset_folder import write_dataset
from tests.booksort.made_texts import made_book, write_texts

PUBLISHED_COLUMNS = {
    "book_idx", "excerpt_idx", "segment_idx", "excerpt_text", "excerpt_length", "segment_1", "segment_2", "segment_length",
    "seg1_pos", "seg2_pos", "present_seg1_first", "distance_bin", "excerpt_pos", "book_title", "num_words",
}  # fmt: skip
RECIPE = Recipe((250, 1000), (20,), 8, 2)


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    return books_from(write_texts(tmp_path_factory.mktemp("texts"), 4000, 800))


@pytest.fixture(scope="module")
def folder(books, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets") / "booksort"
    configs = make_configs(books, RECIPE)
    card = booksort_card("python make.py --seed 3", books, RECIPE, configs)
    write_dataset(folder, configs, card, {"manifest.json": manifest(books, RECIPE, configs)})
    return folder


def check_rows(rows, texts):
    """Check every row against its own columns and the books."""
    books = {book_idx: text.split() for book_idx, text in texts.items()}
    for row in rows:
        words = row["excerpt_text"].split(" ")
        assert len(words) == row["excerpt_length"]
        for number in (1, 2):
            at, segment = row[f"seg{number}_pos"], row[f"segment_{number}"].split()
            assert len(segment) == row["segment_length"] and words[at : at + len(segment)] == segment
        book = books[row["book_idx"]]
        start = round(row["excerpt_pos"] * len(book))
        assert book[start : start + len(words)] == words and row["num_words"] == len(book)
        assert row["distance"] == row["seg2_pos"] - row["seg1_pos"] >= row["segment_length"]
        assert row["answer"] == ("A" if row["present_seg1_first"] else "B")
        assert row["choices"]["AB".index(row["answer"])] == row["segment_1"] and row["segment_2"] in row["choices"]
        config = f"e{row['excerpt_length']}_s{row['segment_length']}"
        assert row["id"] == f"{row['book_idx']}-{config}-{row['excerpt_idx']}-{row['distance_bin']}"
        assert row["segment_idx"] == 0 and "*" not in row["segment_1"]
    assert len({row["id"] for row in rows}) == len(rows)
    cells = Counter((row["book_idx"], row["distance_bin"], row["answer"]) for row in rows)
    assert all(cells[book, most, "A"] == cells[book, most, "B"] for book, most, _ in cells)


def test_splits_load_with_published_and_own_columns(folder, books):
    texts = {row["book_idx"]: row["text"] for row in load_dataset(str(folder), "books", split="test")}
    assert texts == {book.index: book.text for book in books}
    default = load_dataset(str(folder))
    assert {split: len(rows) for split, rows in default.items()} == {"test": 64, "validation": 16}
    assert set(default["test"].column_names) == PUBLISHED_COLUMNS | {"id", "distance", "answer", "choices", "canary"}
    for config in ("e250_s20", "e1000_s20"):
        both = [row for split in ("test", "validation") for row in load_dataset(str(folder), config, split=split)]
        check_rows(both, texts)
        there = {0, 1} if config == "e250_s20" else {0}  # the short book is left out
        assert {row["book_idx"] for row in both} == there
    assert {row["excerpt_idx"] for row in default["validation"]} == {8, 9}
    places = [(row["book_idx"], row["excerpt_pos"], row["distance_bin"]) for row in default["test"]]
    assert places == sorted(places)  # the rows of an excerpt are adjacent, in the order of the book


def test_a_config_is_the_same_alone_and_with_others_and_its_hash_is_in_the_manifest(folder, books):
    written = json.loads((folder / "manifest.json").read_text())
    alone = Recipe((1000,), (20,), 8, 2)
    made = json.loads(manifest(books, alone, make_configs(books[:1], alone)))["configs"]
    assert made["e1000_s20"] == written["configs"]["e1000_s20"]
    hashes = [hashlib.sha256(book.text.encode()).hexdigest() for book in books]
    assert [book["sha256"] for book in written["books"]] == hashes
    digest = hashlib.sha256()
    for row in load_dataset(str(folder), "e250_s20", split="validation").remove_columns("canary"):
        row["excerpt_text"] = hashlib.sha256(row["excerpt_text"].encode()).hexdigest()
        digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    assert written["configs"]["e250_s20"]["validation"] == {"rows": 16, "sha256": digest.hexdigest()}
    assert written["recipe"]["seed"] == 0 and "whole_book" not in written["recipe"]
    assert set(written["versions"]) == {"epbench", "datasets", "numpy", "pyarrow"}


def test_the_card_says_what_was_removed_and_what_holds(folder):
    text = (folder / "README.md").read_text("utf-8")
    header = yaml.safe_load(text.split("---")[1])
    assert [config["config_name"] for config in header["configs"]] == ["e250_s20", "e1000_s20", "books"]
    assert [file["split"] for file in header["configs"][0]["data_files"]] == ["test", "validation"]
    sizes = {split["name"]: split["num_examples"] for split in header["dataset_info"][0]["splits"]}
    assert sizes == {"test": 64, "validation": 16}
    assert "By `python make.py --seed 3`." in text
    assert "*b* is shorter than the excerpts of `e1000_s20`" in text
    assert "| `e250_s20` | 2 | test 64, validation 16 | 0.500, 0.500 |" in text
    assert "- *a*: CHAPTER I" in text and "| 0 | a |" in text
    assert "Table 3" not in text and header["license"] == "unknown"


def test_whole_books_are_a_config_of_their_own_that_loads_by_name(tmp_path):
    books = [made_book(43_000), made_book(6000, 1, 1)]
    recipe = Recipe((250,), (20, 50), 4, 2, whole_book=20)
    configs = make_configs(books, recipe)
    card = booksort_card("python make.py", books, recipe, configs)
    write_dataset(tmp_path / "booksort", configs, card, {"manifest.json": manifest(books, recipe, configs)})
    rows = list(load_dataset(str(tmp_path / "booksort"), "book_s50", split="test"))
    held_out = list(load_dataset(str(tmp_path / "booksort"), "book_s50", split="validation"))
    assert len(rows) == 20 * (8 + 4) and len(held_out) == 2 * (8 + 4)
    for row in rows + held_out:
        words = books[row["book_idx"]].words
        assert (row["excerpt_text"], row["excerpt_pos"]) == (None, 0) and row["excerpt_length"] == len(words)
        for number in (1, 2):
            assert words[row[f"seg{number}_pos"] :][:50] == row[f"segment_{number}"].split()
        assert row["distance"] == row["seg2_pos"] - row["seg1_pos"] <= row["distance_bin"]
        assert row["id"] == f"{row['book_idx']}-book_s50-{row['excerpt_idx']}-{row['distance_bin']}"
    cells = Counter((row["book_idx"], row["distance_bin"], row["answer"]) for row in rows)
    assert len({row["id"] for row in rows}) == len(rows) and set(cells.values()) == {10}
    text = card.text
    assert "| `book_s50` | 2 | test 240, validation 24 | 0.500, 0.500 | 400: " in text and "; 40000: 25" in text
    assert "book_s50` are" not in text and "are about a whole book, as Appendix D.5 of the paper: 20 test pairs" in text
    assert "- id: e250_s50" in benchmark_yaml(configs) and "book_s" not in benchmark_yaml(configs)
    with pytest.raises(BadInput, match="whole books: expected one of at least 400 words and a segment, got none"):
        tasks_of([made_book(300)], recipe)


def test_impossible_recipes_are_refused():
    for wrong in ({"excerpts": 0}, {"validation": -1}, {"excerpt_words": (100,)}, {"segment_words": (70,)}):
        with pytest.raises(BadInput, match="expected|must ascend"):
            Recipe(**wrong)


def test_short_books_and_no_validation(books):
    with pytest.raises(BadInput, match=r"^made1\.txt: expected at least 250 words of narrative .*, got \d+; remove"):
        tasks_of([made_book(400), made_book(100, 1, 1)], RECIPE)
    configs = make_configs(books, Recipe((250,), (20,), 4, 0))
    assert [(config.name, config.split) for config in configs] == [("e250_s20", "test"), ("books", "test")]


@pytest.mark.slow
def test_the_published_set_has_its_numbers_of_pairs(nine_set):
    """37,840 pairs: 110 excerpts per book and config, four pairs each; books of 10,000 words and more have all lengths."""
    found = Counter()
    for excerpt in EXCERPT_WORDS:
        for segment in SEGMENT_WORDS:
            for split, n in (("test", 100), ("validation", 10)):
                (path,) = (nine_set / f"e{excerpt}_s{segment}").glob(f"{split}-*.parquet")
                rows = pq.read_table(path, columns=["book_idx", "distance_bin", "answer", "excerpt_idx"]).to_pylist()
                books = set(published_books()) - ({73017} if excerpt >= 10_000 else set())
                bins = [bin_.most for bin_ in distance_bins(excerpt, segment)]
                cells = Counter((row["book_idx"], row["distance_bin"], row["answer"]) for row in rows)
                assert cells == {(book, most, answer): n // 2 for book in books for most in bins for answer in "AB"}
                of_excerpts = Counter((row["book_idx"], row["excerpt_idx"]) for row in rows)
                numbers = range(100) if split == "test" else range(100, 110)
                assert of_excerpts == {(book, number): 4 for book in books for number in numbers}
                found[split] += len(rows)
    assert found == {"test": 34_400, "validation": 3_440} and found.total() == 37_840
    texts = {row["book_idx"]: row["text"] for row in load_dataset(str(nine_set), "books", split="test")}
    check_rows(load_dataset(str(nine_set), "e250_s50", split="validation").to_list(), texts)
    text = (nine_set / "README.md").read_text("utf-8")
    assert yaml.safe_load(text.split("---")[1])["license"] == "cc0-1.0"
    assert "BOOK TWO" in text and "Shuffling." in text and "Table 3" in text
    assert "*Pomona; or, the Future of English* is shorter than the excerpts of `e10000_s20`, `e10000_s50`" in text
