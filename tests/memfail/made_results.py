"""Simulated results in the published form: how often each stage failed, and the resulting rates.

The rates are computed in the simplest way, the intervals by statsmodels.
"""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

from statsmodels.stats.proportion import proportion_confint

SYSTEMS = ("Mem0", "SimpleMem", "A-MEM", "StructMem")
MODELS = ("gpt-4.1-mini", "haiku-4.5", "gpt-5.4-mini", "gemini-3.1")
STAGES = ("storage", "summary", "retrieval", "reasoning")
# By panel of the paper's tables: the figures that it pools, with the number of questions of each, and the published k.
PANELS = {
    "Coexisting-Facts": ({"coexisting": 100}, (5, 10, 15)),
    "Conditional-Facts": ({"conditional": 100}, (5, 10, 15)),
    "Conditional-Facts (Hard)": ({"conditional_hard": 100}, (5, 10, 15)),
    "Persona-Retrieval": (
        {"persona_retrieval_nonmisleading": 143, "persona_retrieval_misleading": 157}, (5, 10, 15)
    ),
    "Long-Hop": ({"long_hop": 92}, (5, 10)),
}  # fmt: skip


def write_results(folder: Path) -> None:
    """Write `paper_error_breakdown.json` and `paper_results.json`."""
    draw = random.Random(0)
    breakdown: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for (panel, (figures, ks)), model, system in product(PANELS.items(), MODELS, SYSTEMS):
        for k in sorted({*ks, 3, 20}):  # the figures have more k than the tables
            cells = [_counts(figure, n, draw) for figure, n in figures.items()]
            about = {"internal_model": model, "system": system, "k": k}
            breakdown += [cell | about for cell in cells]
            if k in ks:
                right, n = (sum(cell[name] for cell in cells) for name in ("correct_or_unanalysed", "n"))
                low, high = proportion_confint(right, n, method="wilson")
                results.append(
                    {"dataset": panel, **about, "success_rate": round(right / n, 3), "n": n,
                     "wilson95_z1.96": [round(low, 4), round(high, 4)]}
                )  # fmt: skip
    (folder / "paper_error_breakdown.json").write_text(json.dumps({"rows": breakdown}), "utf-8")
    (folder / "paper_results.json").write_text(json.dumps({"rows": results}), "utf-8")


def _counts(figure: str, n: int, draw: random.Random) -> dict[str, Any]:
    """Return how many of n questions failed at each stage; some stages of some systems never fail."""
    weights = [draw.choice([0, 1, 5, 20]) for _ in range(5)]
    picked = draw.choices(range(5), weights if any(weights) else None, k=n)
    counts = {stage: picked.count(i) for i, stage in enumerate(STAGES)}
    return {"dataset": figure, "n": n, **counts, "correct_or_unanalysed": picked.count(4)}
