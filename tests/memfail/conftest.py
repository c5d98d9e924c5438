"""Rows and results in their published form, which may lie beside the checkout; results are made otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from epbench.memfail.dataset.schema import Row
from tests.conftest import SHARED
from tests.memfail.made_results import write_results
from tests.memfail.memfail_samples import SOURCES, rows_in

if TYPE_CHECKING:
    from tests.conftest import Once


@pytest.fixture(scope="session")
def published() -> Path:
    """Folder with the published CSV files of all configs."""
    if "published" not in SOURCES:
        pytest.skip("the published rows are not beside the checkout")
    return SHARED / "memfail"


@pytest.fixture(scope="session")
def published_rows(published: Path) -> dict[str, list[Row]]:
    """The completed published rows, by config."""
    return rows_in(published)


@pytest.fixture(scope="session", params=SOURCES)
def results(request: pytest.FixtureRequest, once: Once) -> Path:
    """Folder with `paper_results.json` and `paper_error_breakdown.json`."""
    return SHARED / "memfail" if request.param == "published" else once("memfail-results", write_results)
