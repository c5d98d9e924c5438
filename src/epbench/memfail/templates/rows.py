"""MemFail rows without a model: seeded, of any size, and decidable to the letter.

Entities, conditions, names of preferences and anchors stand word for word in the stored texts, so that a judge without
a model can find them. What limits the published rows is absent here by construction: names are unique in a store, whom
a misleading question names has no essay, answers are balanced, Easy and Hard are paired, and no option gives itself away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from epbench.errors import BadInput
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.coexisting import coexisting_rows
from epbench.memfail.templates.conditional import easy_rows, hard_rows
from epbench.memfail.templates.long_hop import long_hop_rows
from epbench.memfail.templates.persona import persona_rows

_MAKERS: Mapping[str, Callable[[int, int], list[Row]]] = {
    "conditional_facts_easy": easy_rows,
    "conditional_facts_hard": hard_rows,
    "coexisting_facts": coexisting_rows,
    "persona_retrieval": persona_rows,
    "long_hop": long_hop_rows,
}


def make_rows(config: str, n: int = 100, seed: int = 0) -> list[Row]:
    """Rows of a config with the published columns.

    Args:
        config: one of `epbench.memfail.dataset.types.CONFIGS`.
        n: number of rows, at least 1 (long_hop: 5); how many are too many the error of the config tells.
        seed: same seed and number, same rows on any machine.

    Raises:
        BadInput: no such number of rows can be made.
    """
    if n < 1:
        raise BadInput(f"--rows {n}: at least 1 expected")
    return _MAKERS[config](n, seed)
