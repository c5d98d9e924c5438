"""How much of a model's answer is A or B at all.

Accuracy compares the probabilities of A and B, however small both are: a model that would never write either still gets
an accuracy. Two numbers beside it say what that is worth. The greedy accuracy counts what the model would have written,
and the label mass is the probability that its first token is A or B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.answers.answer import ScoredPair

LOW_MASS = 0.5
"""With less, something else is a more probable answer than A and B together."""


def label_scores(answered: Sequence[ScoredPair]) -> dict[str, Any]:
    """What the answers say, beside which label is more probable.

    Args:
        answered: questions that did not fail.

    Returns:
        greedy_accuracy: share of questions whose written answer names the right segment; greedy_invalid: share of those
        whose written answer names neither, which is wrong. Both are None without a question. label_mass: mean
        probability of A and B together as the first token, over the n_label_mass questions whose probabilities are
        known; low_mass: share of these below `LOW_MASS`. Both are None where no probabilities are known. Of an endpoint,
        which lists its most probable tokens only, the mass is a lower bound.
    """
    n = len(answered)
    masses = [row.label_mass for row in answered if row.label_mass is not None]
    return {
        "greedy_accuracy": sum(row.written == row.answer for row in answered) / n if n else None,
        "greedy_invalid": sum(row.written == "X" for row in answered) / n if n else None,
        "label_mass": sum(masses) / len(masses) if masses else None,
        "n_label_mass": len(masses),
        "low_mass": sum(mass < LOW_MASS for mass in masses) / len(masses) if masses else None,
    }


def mass_warnings(scores: Mapping[str, Any]) -> list[str]:
    """What a reader of the accuracy has to know, in full sentences; nothing where the mass is high or unknown.

    Args:
        scores: with label_mass, greedy_accuracy, greedy_invalid and n_failed.
    """
    mass = scores["label_mass"]
    if mass is None or mass >= LOW_MASS:
        return []
    text = (
        f"A and B together have only {mass:.2g} of the probability of the answer's first token (label_mass). The accuracy "
        "is read from this small rest: it says which label the model holds for the more probable one, not what it "
        f"would answer. {scores['greedy_invalid']:.0%} of its most probable answers name neither segment"
    )
    if scores["greedy_accuracy"] is not None:
        text += f"; counted by these, its accuracy is {scores['greedy_accuracy']:.3f} (greedy_accuracy)"
    return [f"{text}. Check the prompt and the model's chat template."]
