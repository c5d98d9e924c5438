"""The tables of runs that are compared question by question, and the page with their p-values as figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from epbench.reports.matrices import PMatrix, p_matrix
from epbench.reports.page import page
from epbench.reports.tables import Table, cell
from epbench.statistics.comparison import Comparison, notes_on

Pair = Mapping[str, Any]
"""What is known about two runs: one of the pairs of a `Comparison`."""


_HOW_TO_READ = """<p>The intervals draw whole clusters of questions with replacement, the tests treat questions as independent:
where the two disagree, trust the interval.</p>"""


def comparison_tables(comparison: Comparison) -> list[Table]:
    """A table with a row for each comparison of two runs, and one of their log ratios where there are any.

    Columns that would be empty are left out.
    """
    found = comparison.pairs
    columns = {
        "runs": [_names(pair) for pair in found],
        "config, k": [f"{pair['config']}, {pair['k']}" for pair in found if "config" in pair],
        "n": [str(pair["n"]) for pair in found],
        comparison.score: [" / ".join(f"{value:.3f}" for value in pair["means"]) for pair in found],
        **{
            name: [" / ".join(map(cell, pair["beside"][name])) for pair in found]
            for name in (found[0].get("beside", {}) if found else {})
        },
        "difference, 95 % interval": [_difference(pair) for pair in found],
        "better / equal / worse": [" / ".join(str(pair[key]) for key in ("wins", "ties", "losses")) for pair in found],
        "p": [_p(pair["p"]) for pair in found],
        "p (Holm)": [_p(pair["p_holm"]) for pair in found if len(found) > 1],
        "p (chi-square)": [_p(p) for pair in found if (p := pair["p_corrected"]) is not None],
    }
    shown = {title: cells for title, cells in columns.items() if cells}
    rows = list(zip(*shown.values(), strict=True))
    table = Table(list(shown), rows, text_columns=2 if "config, k" in shown else 1)
    return [table, _log_ratios(found)] if any(pair.get("log_ratio") for pair in found) else [table]


def _log_ratios(found: Sequence[Pair]) -> Table:
    head = ["runs", "n", "log ratio, 95 % interval", "p (log ratio), higher / lower", "p (Holm), higher / lower"]
    rows = []
    for pair in found:
        ratio = pair["log_ratio"]
        cells = ["–"] * 4
        if ratio:
            p, corrected = (
                " / ".join(_p(ratio[name]) for name in names) for names in (("p", "p_less"), ("p_holm", "p_less_holm"))
            )
            cells = [str(ratio["n"]), _difference(ratio), p, corrected]
        rows.append([_names(pair), *cells])
    return Table(head, rows, "Log ratio of the right answer: the first run minus the second, in nats")


def comparison_page(title: str, comparison: Comparison) -> str:
    """The page of a comparison.

    Args:
        title: The title of the page, as text.
        comparison: At least one comparison of two runs.
    """
    return page(title, comparison_html(comparison))


def comparison_html(comparison: Comparison) -> str:
    """A comparison as HTML: the tables, what they leave out, and the p-values of any two runs as figures.

    Where runs are compared in several settings, such as several configs, there are no figures.

    Args:
        comparison: At least one comparison of two runs.
    """
    first, *others = comparison_tables(comparison)
    tables = [replace(first, notes=notes_on(comparison)), *others]
    shown = "".join(table.html() for table in tables) + _HOW_TO_READ
    if len({(pair.get("config"), pair.get("k")) for pair in comparison.pairs}) > 1:
        return shown
    return f"{shown}\n{_of_score(comparison)}\n{_of_log_ratios(comparison.pairs)}"


def _of_score(comparison: Comparison) -> str:
    """The test of the score that is compared; with McNemar's test, also the one that has been published."""
    found, score = comparison.pairs, comparison.score
    chi_square = found[0]["p_corrected"] is not None
    test = "McNemar's exact test" if chi_square else "Wilcoxon's signed-rank test"
    what = f"p-values of whether the run of the row and that of the column differ in {score}, by"
    shown = f"<h2>Does the {score} differ?</h2>" + _matrix(found, lambda p: (p["p"],) * 2, f"{what} {test}.")
    if chi_square:
        shown += _folded(
            "The same by chi-square with continuity correction",
            _matrix(
                found,
                lambda p: (p["p_corrected"],) * 2,
                f"{what} McNemar's test by chi-square with continuity correction.",
            ),
        )
    return shown + _folded(
        "The same, corrected for the number of comparisons",
        _matrix(found, lambda p: (p["p_holm"],) * 2, f"{what} {test}, corrected by Holm."),
    )


def _of_log_ratios(found: Sequence[Pair]) -> str:
    """The one-sided tests of the log ratio, in both directions."""
    if not any(pair.get("log_ratio") for pair in found):
        return ""
    what = "p-values of whether the run of the row has a higher log ratio than that of the column, by a paired t-test"

    def both(first: str, second: str) -> Callable[[Pair], tuple[float | None, float | None]]:
        return lambda pair: (pair["log_ratio"][first], pair["log_ratio"][second]) if pair["log_ratio"] else (None, None)

    plain = _matrix(found, both("p", "p_less"), f"{what}.")
    corrected = _matrix(found, both("p_holm", "p_less_holm"), f"{what}, corrected by Holm for all cells.")
    folded = _folded("The same, corrected for the number of comparisons", corrected)
    return f"<h2>Is the log ratio of the right answer higher?</h2>{plain}{folded}"


def _matrix(found: Sequence[Pair], values: Callable[[Pair], tuple[float | None, float | None]], title: str) -> str:
    """A figure of the p-values of each comparison: in the row of its first run, and in that of its second."""
    names = list(dict.fromkeys(name for pair in found for name in pair["runs"]))
    by_place: dict[tuple[str, str], float | None] = {}
    for pair in found:
        one, other = pair["runs"]
        by_place[one, other], by_place[other, one] = values(pair)
    matrix: PMatrix = [[by_place.get((row, column)) for column in names] for row in names]
    return p_matrix(names, matrix, title)


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


def _names(pair: Pair) -> str:
    return " / ".join(pair["runs"])


def _p(value: float | None) -> str:
    return cell(None) if value is None else f"{value:.2g}"


def _difference(pair: Pair) -> str:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return f"{pair['difference']:+.3f}{interval}"
