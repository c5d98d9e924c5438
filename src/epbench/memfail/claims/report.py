"""The claims beside what runs and reported numbers say of them: claims.json, and a table for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epbench.memfail.claims.cells import cells_of
from epbench.memfail.claims.claims import CLAIMS
from epbench.memfail.claims.evidence import LEVEL, MARGIN, Case, Evidence
from epbench.reports.tables import Runs, Table

Found = Mapping[str, Evidence]
"""The evidence for each claim, by where it comes from: `your runs`, `reported`."""

RUNS, REPORTED = "your runs", "reported"
_HOW = (
    "A claim about all cases is denied by one case against it and supported by more than half of the cases without one against "
    "it; their intervals are 95 % for all cases together. A claim about most cases takes more than half of them, at 95 % each.",
    "Runs and reported numbers are not mixed, and baselines are left out. All cases with their numbers are in claims.json.",
)


def judge_claims(runs: Runs, reported: Runs) -> dict[str, Found]:
    """What runs and reported numbers say about each claim, by its name.

    Args:
        runs: The scores of runs by label, with `system_model`; baselines may be among them.
        reported: Reported numbers in the same form, with all their k; may be empty.
    """
    sources = {RUNS: cells_of(runs)} | ({REPORTED: cells_of(reported)} if reported else {})
    return {claim.name: {source: claim.of(cells) for source, cells in sources.items()} for claim in CLAIMS}


def as_json(found: Mapping[str, Found]) -> dict[str, Any]:
    """The content of claims.json: for each claim its section and text, and by source the decision and all cases."""
    claims = []
    for claim in CLAIMS:
        sources = {source: _evidence(evidence) for source, evidence in found[claim.name].items()}
        claims.append({"name": claim.name, "section": claim.section, "claim": claim.text, **sources})
    return {"level": LEVEL, "margin": MARGIN, "claims": claims}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    cases = [
        {
            "case": case.name, "value": case.value, "low": case.low, "high": case.high, "side": case.side,
            "counts": [list(count) for count in case.counts],
        }
        for case in evidence.cases
    ]  # fmt: skip
    found: dict[str, Any] = {"decision": evidence.decision, "about": evidence.rule, **evidence.numbers}
    if evidence.missing:
        found["missing"] = evidence.missing
    return found | {"cases": cases}


def claims_table(found: Mapping[str, Found]) -> Table:
    """A row for each claim: what decides it, and by source the decision, the numbers of cases, and the strongest case."""
    sources = list(next(iter(found.values())))
    rows = [[claim.text, claim.section, *(_cell(found[claim.name][source]) for source in sources)] for claim in CLAIMS]
    return Table(["claim of the paper", "section", *sources], rows, notes=_HOW, text_columns=2 + len(sources))


def _cell(evidence: Evidence) -> str:
    if evidence.missing:
        return f"not decided: no {evidence.missing}"
    n = evidence.numbers
    text = f"{evidence.decision}: {n['for']} for, {n['against']} against, {n['neither']} neither"
    strongest = _strongest(evidence)
    return f"{text}; {strongest.name}: {strongest.value:.2f} ({strongest.low:.2f} to {strongest.high:.2f})"


def _strongest(evidence: Evidence) -> Case:
    """The case to show: one on the side of the decision if there is one, with the narrowest interval."""
    side = {"supported": "for", "denied": "against"}.get(evidence.decision, "neither")
    return min(evidence.cases, key=lambda case: (case.side != side, case.high - case.low, case.name))
