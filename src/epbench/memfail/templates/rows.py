"""MemFail rows from templates, without a model: seeded, of any size, and decidable by exact rules.

Entities, conditions, preferences and anchors appear word for word in the stored texts, so that a judge without a model can
find them. The limits of the published rows are absent by construction: names are unique in a store, people named in
misleading questions have no essay, answers are balanced, Easy and Hard are paired, and no option gives itself away. The
harder rows have these properties too, but their questions cannot be answered by comparing words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from epbench.errors import BadInput
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.coexisting import coexisting_rows
from epbench.memfail.templates.conditional import easy_rows, hard_rows
from epbench.memfail.templates.long_hop import long_hop_rows
from epbench.memfail.templates.persona import persona_rows

_MAKERS: Mapping[str, Callable[[int, int, bool], list[Row]]] = {
    "conditional_facts_easy": easy_rows,
    "conditional_facts_hard": hard_rows,
    "coexisting_facts": coexisting_rows,
    "persona_retrieval": persona_rows,
    "long_hop": long_hop_rows,
}


def make_rows(config: str, n: int = 100, seed: int = 0, harder: bool = False) -> list[Row]:
    """Return rows of a config with the published columns.

    Args:
        config: One of `epbench.memfail.dataset.types.CONFIGS`.
        n: Number of rows, at least 1 (5 for long_hop). The most that is possible depends on the config.
        seed: Seed of all draws. The same seed and number give the same rows on any machine.
        harder: Whether questions have to be answered by inference, not by comparing words.

    Raises:
        BadInput: That number of rows cannot be made.
    """
    if n < 1:
        raise BadInput(f"rows: expected at least 1, got {n}")
    return _MAKERS[config](n, seed, harder)
