"""A tiny book and a tiny model, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tulving.finetuning.tiny_book import write_tiny_book, write_tiny_model

if TYPE_CHECKING:
    from tests.conftest import Once


@pytest.fixture(scope="session")
def book(once: Once) -> Path:
    """The dataset of the tiny book."""
    return once("tiny-book", lambda folder: write_tiny_book(folder / "tiny")) / "tiny"


@pytest.fixture(scope="session")
def tiny(once: Once) -> Path:
    """The folder of the tiny model."""
    return once("tiny-book-model", write_tiny_model)
