"""How much of a model's answer is A or B at all.

Accuracy compares the probabilities of A and B, however small both are, so a model that would never write either still gets
an accuracy. Two numbers beside it show what it is worth: the greedy accuracy counts what the model would have written, and
the label mass is the probability that its first token is A or B.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LOW_MASS = 0.5
"""Below this label mass, something else is more probable than A and B together."""


def label_scores(answered: pd.DataFrame) -> dict[str, Any]:
    """What the answers show beyond which label is more probable.

    Args:
        answered: The questions that did not fail, with the columns of questions.parquet.

    Returns:
        greedy_accuracy: the share of questions whose written answer names the right segment. greedy_invalid: the share of
        those whose written answer names neither, which is wrong. Both are None without questions.
        label_mass: the mean probability of A and B together as the first token, over the n_label_mass questions whose
        probabilities are known. low_mass: the share of these below `LOW_MASS`. Both are None if no probabilities are
        known. Endpoints list only their most probable tokens, so their label mass is a lower bound.
    """
    n = len(answered)
    masses = [float(mass) for mass in answered["label_mass"].dropna()]
    return {
        "greedy_accuracy": int((answered["written"] == answered["answer"]).sum()) / n if n else None,
        "greedy_invalid": int((answered["written"] == "X").sum()) / n if n else None,
        "label_mass": sum(masses) / len(masses) if masses else None,
        "n_label_mass": len(masses),
        "low_mass": sum(mass < LOW_MASS for mass in masses) / len(masses) if masses else None,
    }


def mass_warnings(scores: Mapping[str, Any]) -> list[str]:
    """What a reader of the accuracy must know, in full sentences; nothing if the label mass is high or unknown.

    Args:
        scores: Scores with label_mass, greedy_accuracy, greedy_invalid and n_failed.
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
