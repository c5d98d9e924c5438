"""The runs that the tests of the paper's tables share."""

from dataclasses import replace

import pytest

from epbench.files.packaged import packaged
from epbench.reports.reported import read_reported
from epbench.tulving.paper import books
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.make import exhibits
from tests.tulving.paper import given_runs
from tests.tulving.paper.given_books import built, written

RATINGS = {
    number: ("Realistic", "Somewhat realistic", "Impossible", "Moderately realistic")[number % 4]
    for number in range(1, 20)
}


@pytest.fixture(scope="session")
def given(tmp_path_factory, short_book):
    return given_runs.given(tmp_path_factory.mktemp("given"), short_book)


@pytest.fixture(scope="session")
def lines(given):
    return lines_of(given.inputs)


@pytest.fixture(scope="session")
def world(given):
    """The runs as if they were on other books too, with the numbers of the paper beside them."""
    runs = list(given.inputs.runs)
    for book, fingerprint in (("long", "d" * 16), ("short-ordered", "e" * 16), ("news-short", "c" * 16)):
        runs += [
            replace(run, book=book, fingerprint=fingerprint, label=f"{run.label} {book}")
            for run in given.inputs.runs[:2]
        ]
    return Inputs(runs, read_reported(packaged("epbench.tulving") / "reported.json", "tulving"))


@pytest.fixture(scope="session")
def made(world):
    """All exhibits of these runs, by name."""
    ratings = {given_runs.FINGERPRINT: RATINGS, "another": {1: "Realistic"}}
    found = exhibits(world, [], realism=ratings, by=["trace", "get"])
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


@pytest.fixture(scope="module", autouse=True)
def words():
    """No test looks for the encoding of tokens in a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(books, "length_counter", lambda: (lambda text: len(text.split()), "words"))
        yield


@pytest.fixture(scope="session")
def folders(once, short_book):
    """Four datasets: by templates, by a model, reordered by date, and from another universe."""
    scifi = built(once, "paper-scifi", "--book", "short", "--universe", "scifi", "--events", 8, "--universe-size", 30)
    ordered = built(once, "paper-ordered", "--book", "short", "--order", "chronological")
    return [short_book, written(once), ordered, scifi]
