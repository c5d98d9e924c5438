"""How far people agree with a judge, and how that is kept in its passport (MemFail's paper: Section 5.1).

A passport holds it under `people`, by what was decided: the items of Tulving answers, or answers and stages of MemFail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.statistics.intervals import cluster_bootstrap, wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PEOPLE = "people"
"""The field of a passport, and who answered where people did."""


def agreement(decisions: Sequence[tuple[str, str]], clusters: Sequence[object]) -> dict[str, Any]:
    """Compare what a judge and people decided, for each thing that a person decided, of which there is at least one.

    The clusters say what each is about, such as the id of an answer: decisions on one answer are not independent.

    Returns:
        n; agreement, the share of equal decisions, and agreement_interval (95 %, Wilson); kappa (Cohen), the same beyond
        chance, and kappa_interval (95 %, drawing clusters). kappa is None if all decisions are one and the same, and the
        interval also where most draws have no kappa.
    """
    import numpy as np

    judge, person = (np.array(side) for side in zip(*decisions, strict=True))
    equal = judge == person

    def kappa(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = weights / weights.sum(axis=1, keepdims=True)
        chance = sum((shares @ (judge == name)) * (shares @ (person == name)) for name in {*judge, *person})
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(chance < 1 - 1e-9, (shares @ equal - chance) / (1 - chance), np.nan))

    value, n = float(kappa(np.ones((1, len(equal))))[0]), int(equal.sum())
    return {
        "n": len(equal),
        "agreement": n / len(equal),
        "agreement_interval": wilson(n, len(equal)),
        "kappa": None if np.isnan(value) else value,
        "kappa_interval": cluster_bootstrap(kappa, clusters),
    }


def with_people(path: Path, passport: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new passport, with what people said of the judge in the one at this path, which it replaces."""
    try:
        before = read_json(path).get(PEOPLE) if path.is_file() else None
    except BadInput:  # a damaged file is about to be replaced
        before = None
    return dict(passport) | ({PEOPLE: before} if before else {})


def people_line(passport: Mapping[str, Any]) -> str:
    """Return what people said, such as `people agree on 98.0% of 100 items, kappa 0.95`; empty if they said nothing."""
    named = []
    for what, of in (passport.get(PEOPLE) or {}).items():
        kappa = "" if of["kappa"] is None else f", kappa {of['kappa']:.2f}"
        named.append(f"{of['agreement']:.1%} of {of['n']:,} {what}{kappa}")
    return f"people agree on {'; '.join(named)}" if named else ""
