"""The runs that the tests of the paper's tables share."""

import pytest

from epbench.tulving.paper import books
from epbench.tulving.paper.lines import lines_of
from tests.tulving.paper import given_runs
from tests.tulving.paper.given_books import built, written


@pytest.fixture(scope="session")
def given(tmp_path_factory, short_book):
    return given_runs.given(tmp_path_factory.mktemp("given"), short_book)


@pytest.fixture(scope="session")
def lines(given):
    return lines_of(given.inputs)


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
