"""The runs and books that the tests of the paper's tables share."""

from dataclasses import replace

import pytest

from epbench.files.packaged import packaged
from epbench.reports.reported import read_reported
from epbench.tulving.paper import books
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.make import exhibits
from tests.published_data import OURS
from tests.tulving.paper import given_runs, plain_books


@pytest.fixture(scope="session", autouse=True)
def words():
    """No test looks for the encoding of tokens in a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(books, "length_counter", lambda: (lambda text: len(text.split()), "words"))
        yield


@pytest.fixture(scope="session")
def given(tmp_path_factory, short_book):
    return given_runs.given(tmp_path_factory.mktemp("given"), short_book)


@pytest.fixture(scope="session")
def lines(given):
    return lines_of(given.inputs)


@pytest.fixture(scope="session")
def world(given):
    """The runs as if they were on other books too, with all numbers of the paper beside them."""
    runs = list(given.inputs.runs)
    for book, fingerprint in (("long", "d" * 16), ("short-ordered", "e" * 16), ("news-short", "c" * 16)):
        runs += [
            replace(run, book=book, fingerprint=fingerprint, label=f"{run.label} {book}")
            for run in given.inputs.runs[: 2 if book == "long" else 1]
        ]
    files = [packaged("epbench.tulving") / name for name in ("reported.json", "reported_books.json")]
    return Inputs(runs, [row for file in files for row in read_reported(file, "tulving")])


@pytest.fixture(scope="session")
def folders(once, short_book):
    """Four datasets: by templates, by a model, reordered by date, and from another universe."""
    ordered, scifi = plain_books.ordered(once), plain_books.scifi(once)
    return [short_book, plain_books.written(once), ordered, scifi]


@pytest.fixture(scope="session")
def all_books(folders, words):
    """The books of these datasets, and that of the archive."""
    return books.read_books(list(map(str, folders)), OURS)


@pytest.fixture(scope="session")
def made(world, all_books):
    """All exhibits of these runs and books, by name."""
    ratings = dict.fromkeys((given_runs.FINGERPRINT, "d" * 16), given_runs.RATINGS) | {"another": {1: "Realistic"}}
    found = exhibits(world, all_books, realism=ratings, by=["trace", "get"])
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}
