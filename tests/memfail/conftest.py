"""Rows and results in their published form: made-up ones, and the real ones if they are next to the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from epbench.memfail.dataset.schema import Row
from tests.conftest import SHARED
from tests.memfail.made_results import write_results
from tests.memfail.made_rows import limited_rows
from tests.memfail.memfail_samples import SOURCES, rows_in
from tests.memfail.published_csv import write_published

if TYPE_CHECKING:
    from tests.conftest import Once


@pytest.fixture(scope="session", params=SOURCES)
def published(request: pytest.FixtureRequest, once: Once) -> Path:
    """Folder with the CSV files of all configs."""
    if request.param == "published":
        return SHARED / "memfail"
    return once("memfail-rows", lambda folder: write_published(folder, limited_rows()))


@pytest.fixture(scope="session")
def published_rows(published: Path) -> dict[str, list[Row]]:
    """The completed rows of that folder, by config."""
    return rows_in(published)


@pytest.fixture(scope="session", params=SOURCES)
def results(request: pytest.FixtureRequest, once: Once) -> Path:
    """Folder with `paper_results.json` and `paper_error_breakdown.json`."""
    return SHARED / "memfail" if request.param == "published" else once("memfail-results", write_results)
