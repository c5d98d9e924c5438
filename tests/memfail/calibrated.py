"""How often a judge gives planted cases the label that they deserve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epbench.memfail.calibration.faults import PlantedCase
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import Judge
from epbench.progress import no_progress


def agreement(folder: Path, cases: Sequence[PlantedCase], judge: Judge) -> dict[str, tuple[int, int]]:
    """Return by fault the number of right labels and of cases; each case has a store of its own."""
    records = [replace(case.record, store=f"{i}") for i, case in enumerate(cases)]
    outcomes = diagnose(folder, records, {f"{i}": case.stores[""] for i, case in enumerate(cases)}, judge, no_progress)
    n = Counter(case.fault for case in cases)
    right = Counter(case.fault for case, out in zip(cases, outcomes, strict=True) if out.label == case.expected)
    return {fault: (right[fault], n[fault]) for fault in n}
