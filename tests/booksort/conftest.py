"""The small Book-SORT set, written once for all tests of the benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from epbench.booksort.dataset.load import Pair, load_pairs
from tests.booksort.sort_set import write_set

if TYPE_CHECKING:
    from tests.conftest import Once


@pytest.fixture(scope="session")
def dataset(once: Once) -> str:
    """Folder of two made-up books with short excerpts, in both splits."""
    return str(once("small-sort-set", lambda folder: write_set(folder / "booksort")) / "booksort")


@pytest.fixture(scope="session")
def pairs(dataset: str) -> list[Pair]:
    """The pairs of all its configs."""
    return load_pairs(dataset, ["all"])
