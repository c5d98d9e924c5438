"""What a layer can read out of a model's hidden states, tested on a group of questions that it has not seen.

A model may know an answer and yet not say it. A linear layer that is trained on its hidden states for the questions of all
books but one, and tested on that book, finds such knowledge if it has the same form in every book (Appendix F, Figure 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.statistics.intervals import wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STRENGTH = 0.1
"""The inverse strength C of the L2 penalty. Hidden states have more dimensions than a book has questions, so that the layer
is held back more than by scikit-learn's default of 1. It is fixed, as choosing it would need books of its own, and nothing
hangs on it: with made features, from 0.01 to 1 the accuracy changes by less than two points."""

_ITERATIONS = 10_000  # of lbfgs; on standardised features it needs tens to hundreds


@dataclass(frozen=True, slots=True)
class Readout:
    """How often a layer reads out the right answer in groups that it was not trained on."""

    n: int  # the number of questions; each is predicted once, by the layer that was trained without its group
    accuracy: float  # the share of right predictions, 0 to 1
    # The 95 % Wilson interval of the accuracy, which takes the predictions for independent. Predictions by one layer are
    # not quite that: with features that say nothing, about 90 % of these intervals hold 0.5. Drawing whole groups would be
    # worse (82 % with nine groups, 74 % with three), as groups are few.
    interval: tuple[float, float]
    by_group: dict[int, float]  # the accuracy in each group, in rising order of the groups


def cross_validated_readout(features: NDArray[np.floating], labels: Sequence[str], groups: Sequence[int]) -> Readout:
    """Train a layer on all groups, such as books, but one and test it on that one, for each group in turn.

    The layer is a logistic regression with L2 penalty on standardised features of shape (questions, dimensions). Means
    and standard deviations are those of the training groups alone. The same input gives the same result: nothing is
    drawn. BadInput with fewer than two groups, or if without one of them all labels are the same.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if (n := len(set(groups))) < 2:
        raise BadInput(f"a read-out is trained on some books and tested on another: found {n}, expected two")
    for group in sorted(set(groups)):
        seen = {label for label, other_group in zip(labels, groups, strict=True) if other_group != group}
        if len(seen) < 2:
            raise BadInput(
                f"without group {group} all right answers are {min(seen)}; expected A and B to train a read-out"
            )
    layer = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=_ITERATIONS))
    predicted = cross_val_predict(layer, features, list(labels), groups=list(groups), cv=LeaveOneGroupOut())
    right = predicted == np.array(labels)
    by_group = {group: float(right[np.array(groups) == group].mean()) for group in sorted(set(groups))}
    interval = wilson(int(right.sum()), len(right)) or (0.0, 1.0)
    return Readout(len(right), float(right.mean()), interval, by_group)
