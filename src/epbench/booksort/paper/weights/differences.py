"""Whether checkpoints differ in what they remember: in accuracy (Figure 18) and in their log ratios (Figure 19)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.scores.comparison import compare_runs, pair_differences
from epbench.booksort.scores.question_files import read_questions
from epbench.exhibits.exhibit import Exhibit, Value
from epbench.reports.comparison import p_matrix_figure
from epbench.reports.tables import Table, cell
from epbench.statistics.paired import Comparison, notes_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pair = Mapping[str, Any]
_ACCURACY = (
    "Test: McNemar's exact test, two-sided, in which the two askings of a pair count once. Bold with an asterisk in the "
    "figure: p < 0.05 after Holm's correction for the number of comparisons; the numbers there are without it. p "
    "(chi-square): the test with continuity correction, as in the paper."
)
_RATIO = (
    "Test: paired t-tests of whether the checkpoint of the row has a higher log ratio than that of the column, one-sided, in "
    "both directions. Bold with an asterisk in the figure: p < 0.05 after Holm's correction for all cells; the numbers "
    "there are without it."
)
_SMALLEST = (
    "smallest: the smallest mean difference, two-sided at 0.05 without correction, that so many questions show in 80 % of "
    "cases, if they vary as these do. Intervals draw excerpts, tests take pairs for independent."
)


def compared(runs: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Compare any two checkpoints, question by question, with the smallest differences that could be seen.

    Args:
        runs: The runs of at least two checkpoints on the same questions, by the name of the checkpoint.

    Returns:
        What `epbench.booksort.scores.comparison.compare_runs` returns, each with `smallest`, and `log_ratio` with `smallest`.

    Raises:
        RunFailed: Two runs have no answered question in common.
    """
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    tables = {name: read_questions(folder) for name, folder in runs.items()}

    def smallest(names: Sequence[str], column: str) -> float | None:
        first, second = (tables[name] for name in names)
        differences = pair_differences(first, second, column)["difference"].tolist()
        return smallest_difference_of_means(differences, paired=True)

    found = compare_runs(tables)
    for pair in found:
        pair["smallest"] = smallest(pair["runs"], "right")
        if pair["log_ratio"]:
            pair["log_ratio"]["smallest"] = smallest(pair["runs"], "log_ratio")
    return found


def figure_18(name: str, base: str, found: Sequence[dict[str, Any]], context: str = "without context") -> Exhibit:
    """McNemar's tests of all checkpoints of one model.

    Args:
        name: Of the exhibit.
        base: The model before training.
        found: What `compared` returns.
        context: How they were asked, for the title.
    """
    records = [_accuracy_record(base, pair) for pair in found]
    rows = [
        [
            " / ".join(pair["runs"]), str(pair["n"]), " / ".join(f"{mean:.3f}" for mean in pair["means"]),
            _difference(pair), " / ".join(str(pair[key]) for key in ("wins", "ties", "losses")),
            *(_p(pair[key]) for key in ("p", "p_holm", "p_corrected")), cell(pair["smallest"]),
        ]
        for pair in found
    ]  # fmt: skip
    head = ["checkpoints", "n", "accuracy", "difference, 95 %", "better / equal / worse", "p", "p (Holm)"]
    notes = [_ACCURACY, _SMALLEST, *notes_on(Comparison("accuracy", list(found)))]
    table = Table([*head, "p (chi-square)", "smallest"], rows, notes=notes)
    title = f"Do the checkpoints of {base} differ in accuracy {context}? p-values of any two"
    return Exhibit(name, title, records, table, lambda: _draw(found, _same("p"), _same("p_holm")))


def figure_19(name: str, base: str, found: Sequence[Pair]) -> Exhibit | None:
    """Paired t-tests of the log ratios of all checkpoints of one model; None if no probabilities are known."""
    with_ratio = [pair for pair in found if pair["log_ratio"]]
    if not with_ratio:
        return None
    records = [_ratio_record(base, pair["runs"], pair["log_ratio"]) for pair in with_ratio]
    rows = [
        [
            " / ".join(pair["runs"]), str(ratio["n"]), _difference(ratio),
            *(_p(ratio[key]) for key in ("p", "p_less", "p_holm", "p_less_holm")), cell(ratio["smallest"]),
        ]
        for pair in with_ratio
        for ratio in [pair["log_ratio"]]
    ]  # fmt: skip
    head = ["checkpoints", "n", "difference in nats, 95 %", "p (higher)", "p (lower)", "p (higher, Holm)"]
    table = Table([*head, "p (lower, Holm)", "smallest"], rows, notes=[_RATIO, _SMALLEST])
    title = f"Do the checkpoints of {base} give the right segment a larger share of p(A) + p(B)? p-values of any two"
    plain, corrected = _ratios("p", "p_less"), _ratios("p_holm", "p_less_holm")
    return Exhibit(name, title, records, table, lambda: _draw(with_ratio, plain, corrected))


def _accuracy_record(base: str, pair: Pair) -> dict[str, Value]:
    low, high = pair["interval"] or (None, None)
    return {
        "source": "own", "model": base, "first": pair["runs"][0], "second": pair["runs"][1], "n": pair["n"],
        "first_accuracy": pair["means"][0], "second_accuracy": pair["means"][1], "difference": pair["difference"],
        "low": low, "high": high, "wins": pair["wins"], "ties": pair["ties"], "losses": pair["losses"],
        "p": pair["p"], "p_holm": pair["p_holm"], "p_chi_square": pair["p_corrected"],
        "smallest_difference": pair["smallest"],
    }  # fmt: skip


def _ratio_record(base: str, runs: Sequence[str], ratio: Pair) -> dict[str, Value]:
    low, high = ratio["interval"] or (None, None)
    return {
        "source": "own", "model": base, "first": runs[0], "second": runs[1], "n": ratio["n"],
        "difference": ratio["difference"], "low": low, "high": high,
        **{f"p_{way}": ratio[key] for way, key in (("higher", "p"), ("lower", "p_less"))},
        **{f"p_{way}_holm": ratio[key] for way, key in (("higher", "p_holm"), ("lower", "p_less_holm"))},
        "smallest_difference": ratio["smallest"],
    }  # fmt: skip


Values = Callable[[Pair], tuple[float | None, float | None]]
"""The p-values of a comparison: in the row of its first checkpoint, and in that of its second."""


def _same(name: str) -> Values:
    return lambda pair: (pair[name], pair[name])


def _ratios(first: str, second: str) -> Values:
    return lambda pair: (pair["log_ratio"][first], pair["log_ratio"][second])


def _draw(found: Sequence[Pair], plain: Values, corrected: Values) -> Figure:
    names = list(dict.fromkeys(itertools.chain.from_iterable(pair["runs"] for pair in found)))

    def matrix(values: Values) -> list[list[float | None]]:
        cells: dict[tuple[str, str], float | None] = {}
        for pair in found:
            one, other = pair["runs"]
            cells[one, other], cells[other, one] = values(pair)
        return [[cells.get((row, column)) for column in names] for row in names]

    return p_matrix_figure(names, matrix(plain), corrected=matrix(corrected))


def _difference(pair: Pair) -> str:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return f"{pair['difference']:+.3f}{interval}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"
