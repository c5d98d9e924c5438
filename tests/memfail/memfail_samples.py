"""Questions from the published numbers of rows, and outcomes made by hand."""

from __future__ import annotations

from pathlib import Path

from epbench.memfail.dataset.load import CONFIGS, Question, questions_of
from epbench.memfail.dataset.released import file_of, read_config
from epbench.memfail.dataset.schema import Row, complete
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.templates.rows import make_rows
from tests.conftest import SHARED

SOURCES = ["made", *(["published"] if (SHARED / "memfail").is_dir() else [])]


def rows_in(folder: Path) -> dict[str, list[Row]]:
    """Return the completed rows of a folder of published files, by config."""
    return {config: complete(config, read_config(file_of(folder, config), config)) for config in CONFIGS}


def questions_from(source: str, config: str) -> list[Question]:
    """Return the questions of one of `SOURCES`, from template rows or from published rows."""
    if source == "published":
        return questions_of(config, rows_in(SHARED / "memfail")[config])
    return questions_of(config, complete(config, make_rows(config)))


def outcome(
    label="correct", k=5, *, right=True, kind="", group="", vacuous=False, facts=("correct",), n=2, words=10, i=0
):
    return Outcome(f"q{i}", "r", kind, group, k, label, vacuous, right, facts, n, words)
