"""How often the earlier of two segments is recognised, as an `evaluate` metric."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .formulas import check_column, sort_accuracy

_DESCRIPTION = """
How often an answer names the segment that came first in the text, with an interval that takes into account that
questions about one excerpt are not independent, a test against chance, and the share of answers that name A. With a score
for each question, also how well the scores tell the two answers apart, whatever letter the reader prefers.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str): the answers, "A" or "B"; anything else is counted as invalid, and wrong.
    references (list of str): the segment that came first, "A" or "B".
    groups (list of str, optional): the group of each question, such as the distance between its segments.
    clusters (list of str, optional): the excerpt of each question. The bootstrap draws clusters; without them, every
        question is a cluster of its own.
    scores (list of float, optional): a number for each question that is larger the more the reader holds A for the answer,
        such as p(A), or better log p(A) - log p(B), which has no ties. It may be infinite, but not NaN.

Returns:
    accuracy (float): the share of right answers, in [0, 1].
    ci_low, ci_high (float): its 95 % percentile interval from 2,000 bootstrap samples, the same on every call; the
        exact one where all answers are right, or all wrong; None with a single cluster.
    share_a (float): the share of A among the valid answers; None if there are none. Values far from 0.5 show a bias.
    n, n_invalid (int): the number of questions, and of answers that are neither A nor B.
    p_value (float): one-sided binomial test: the probability of at least as many right answers by guessing.
    auc (float): only with scores, as the next three: the probability that a question whose answer is A has a higher score
        than one whose answer is B, ties counting half; 0.5 for a reader that knows nothing, whatever letter it prefers.
        None if all answers are A, or all are B.
    auc_low, auc_high (float): its 95 % interval (Obuchowski 1997: questions of one cluster may depend on one another; taken
        on the scale of log odds). None with a single cluster, and where all questions are told apart, or none.
    auc_p_value (float): one-sided test against 0.5 by 2,000 draws that exchange the answers of whole clusters (A for B and
        B for A), whatever the questions of one cluster share. None with a single cluster.
    calibrated_accuracy (float): the accuracy if A is read from a score above a threshold, which is the median of the scores of
        all other clusters, never of the question's own; equality counts half. It supposes that A and B are right equally
        often, as in Book-SORT. None with a single cluster.
    by_group (dict): the same values for each group; only with groups.

Examples:
    >>> import evaluate
    >>> metric = evaluate.load("sort_accuracy")
    >>> result = metric.compute(predictions=["A", "B", "B", "?"], references=["A", "B", "A", "A"])
    >>> result["accuracy"], result["n_invalid"], round(result["share_a"], 3), round(result["p_value"], 4)
    (0.5, 1, 0.333, 0.6875)
    >>> grouped = metric.compute(predictions=["A", "B"], references=["A", "A"], groups=["near", "far"])["by_group"]
    >>> grouped["near"]["accuracy"], grouped["far"]["accuracy"]
    (1.0, 0.0)

    A reader that prefers A, but is surer of it where it is right:

    >>> biased = metric.compute(predictions=["A"] * 4, references=["A", "A", "B", "B"], scores=[0.99, 0.9, 0.7, 0.6])
    >>> biased["accuracy"], biased["auc"], biased["calibrated_accuracy"]
    (0.5, 1.0, 1.0)
"""

_CITATION = """
@article{pink2024sort,
  title = {Assessing Episodic Memory in {LLMs} with Sequence Order Recall Tasks},
  author = {Pink, Mathis and Vo, Vy A. and Wu, Qinyuan and Mu, Jianing and Turek, Javier S. and Hasson, Uri and
            Norman, Kenneth A. and Michelmann, Sebastian and Huth, Alexander and Toneva, Mariya},
  journal = {arXiv preprint arXiv:2410.08133},
  year = {2024}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SortAccuracy(evaluate.Metric):
    _columns = ("predictions", "references", "groups", "clusters", "scores")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Json passes every value through unchanged, so that bad ones cause the errors below and not Arrow's.
            features=datasets.Features({"predictions": datasets.Json(), "references": datasets.Json()}),
            reference_urls=["https://arxiv.org/abs/2410.08133", "https://github.com/bridge-ai-neuro/SORT"],
        )

    def compute(self, **columns: Any) -> dict[str, Any] | None:
        """Compute the metric; its description says what it takes and returns.

        Raises:
            ValueError: A column is not a list, or has a wrong length or a wrong value.
        """
        added_before = self.writer is not None and all(columns.get(name) is None for name in self.features)
        for name in self._columns:
            if columns.get(name) is not None or (name in self.features and not added_before):
                check_column(name, columns.get(name))
        result: dict[str, Any] | None = super().compute(**columns)
        return result

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        groups: Sequence[Any] | None = None,
        clusters: Sequence[Any] | None = None,
        scores: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        return sort_accuracy(predictions, references, groups, clusters, scores)
