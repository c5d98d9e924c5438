"""Which questions are asked: five for every template and bin (paper: Appendix B.2.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Literal

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.questions.generate import BINS, Bin, Question
from epbench.tulving.questions.templates import CUE_LETTERS

Selection = Literal["uniform", "alphabetical"]

PER_TEMPLATE_AND_BIN = 5


def select(questions: Sequence[Question], *, rule: Selection = "uniform", seed: int = 0) -> list[Question]:
    """Select five questions for every (template, bin), or all if there are fewer.

    Args:
        questions: All questions of a book.
        rule: `uniform` draws them by seed. `alphabetical` takes the first by the text of the cue, as the released books
            do in spite of the paper's description; it favours dates in April and names that begin with A.
        seed: The seed of the draws. A draw depends neither on the order nor on the number of the other questions.

    Raises:
        BadInput: The rule is unknown.
    """
    if rule not in ("uniform", "alphabetical"):
        raise BadInput(f"selection: expected uniform or alphabetical, found {rule!r}")
    chosen: list[Question] = []
    pools: dict[tuple[int, Bin], list[Question]] = defaultdict(list)
    for question in questions:
        pools[question.template, question.bin].append(question)
    for template, bin_ in sorted(pools, key=lambda key: (key[0], BINS.index(key[1]))):
        pool = sorted(pools[template, bin_], key=attrgetter("id"))
        if rule == "alphabetical":
            picked = sorted(pool, key=completed_cue)[:PER_TEMPLATE_AND_BIN]
        else:
            picked = RandomStream("selection", seed, template, bin_).sample(pool, PER_TEMPLATE_AND_BIN)
        chosen += sorted(picked, key=attrgetter("id"))
    return chosen


def completed_cue(question: Question) -> str:
    """Return the cue as the published tables write it: `(*, {High Line}, {Zoe Brown}, *)`."""
    values = dict(zip(CUE_LETTERS, (question.time, question.space, question.entity, question.content), strict=True))
    return "(" + ", ".join("*" if value is None else f"{{{value}}}" for value in values.values()) + ")"
