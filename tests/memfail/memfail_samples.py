"""Published questions where they lie beside the checkout, and outcomes made by hand."""

from __future__ import annotations

import pytest

from epbench.memfail.cases import Question
from epbench.memfail.dataset import complete
from epbench.memfail.diagnosis import Outcome
from epbench.memfail.released import read_config
from epbench.memfail.sources import file_of, open_source
from epbench.memfail.units import questions_of
from tests.conftest import SHARED


def released(config: str) -> list[Question]:
    """Questions of the published rows, or a skip with the reason."""
    if not (SHARED / "memfail").is_dir():
        pytest.skip("the published rows do not lie beside this checkout")
    source = open_source(str(SHARED / "memfail"))
    return questions_of(config, complete(config, read_config(file_of(source, config), config)))


def outcome(
    label="correct", k=5, *, right=True, kind="", group="", vacuous=False, facts=("correct",), n=2, words=10, i=0
):
    return Outcome(f"q{i}", "r", kind, group, k, label, vacuous, right, facts, n, words)
