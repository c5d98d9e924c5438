import pytest

from tests.booksort.sort_set import write_set


@pytest.fixture(scope="session")
def datasets(once):
    """A folder with the small Book-SORT set."""
    return once("sort-set", lambda out: write_set(out / "booksort"))
