"""Several runs beside one another: compared question by question, and by the length of unrelated text before the questions.

The page of a comparison has its tables, and its p-values as figures. A run may have had tokens of unrelated text between what is
remembered and the question; scores are then drawn against their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epbench.reports.figures import INK, drawing, figure_html, heat_map, new_figure
from epbench.reports.leaderboard import score_of
from epbench.reports.page import page
from epbench.reports.plots import grouped, legend, lines
from epbench.reports.tables import Table, cell
from epbench.statistics.paired import Comparison, notes_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PMatrix = Sequence[Sequence[float | None]]
"""A p-value for each row and column; None where there is none, as on the diagonal."""

_LEVEL = 0.05  # smaller p-values are marked
_CELL = (0.62, 0.38)  # inches: a cell holds `0.0012*`
_CHARACTER = 0.075  # inches: about the width of a character of a run's name
_SMALLEST = 0.001  # smaller p-values are shown as "<0.001", and have the darkest colour


def p_matrix(names: Sequence[str], p: PMatrix, title: str) -> str:
    """A heat map of p-values as an HTML figure with its title, which ends with a full stop, below it; see `p_matrix_figure`."""
    with drawing():
        return figure_html(p_matrix_figure(names, p), f"{title} Bold with an asterisk: p < {_LEVEL:g}.")


def p_matrix_figure(names: Sequence[str], p: PMatrix, corrected: PMatrix | None = None) -> Figure:
    """A heat map of p-values, drawn within `epbench.reports.figures.drawing`; readable for up to about fourteen names.

    Each cell shows its p with two significant digits; the darker it is, the smaller its p. Cells whose `corrected` value, by
    default p, is below 0.05 are bold and have an asterisk, so that they are seen without colour too. A cell without a value
    is grey, and has a dash where it is not on the diagonal.
    """
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    judged = p if corrected is None else corrected
    beside = 0.3 + _CHARACTER * max(map(len, names))
    slanted = 0.75 * beside  # how far the names of the columns go upwards, and the last one to the right
    figure, axes = new_figure(beside + _CELL[0] * len(names) + slanted, slanted + _CELL[1] * len(names))
    # White for 1, darker towards 0 on a logarithmic scale, but never too dark for the text.
    shades = ListedColormap(colormaps["Blues"](np.linspace(0.55, 0.0, 64)))
    shown = [[None if value is None else max(value, _SMALLEST) for value in row] for row in p]
    heat_map(axes, shown, shades, "#e8e8e8", norm=LogNorm(_SMALLEST, 1.0))
    for y, row in enumerate(p):
        for x, value in enumerate(row):
            found = judged[y][x]
            below = found is not None and found < _LEVEL
            text = "" if x == y and value is None else f"{_digits(value)}{'*' if below else ''}"
            weight = "bold" if below else "normal"
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color=INK, weight=weight)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="left", rotation_mode="anchor", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.xaxis.tick_top()
    return figure


def _digits(p: float | None) -> str:
    return "–" if p is None else f"<{_SMALLEST:g}" if p < _SMALLEST else f"{p:#.2g}"


Pair = Mapping[str, Any]  # what is known about two runs: one of the pairs of a `Comparison`
Cells = Mapping[str, Callable[[Pair], str]]  # by the title of a column, the text of its cells


def _names(pair: Pair) -> str:
    return " / ".join(pair["runs"])


def _p(value: float | None) -> str:
    return cell(None) if value is None else f"{value:.2g}"


def _difference(pair: Pair) -> str:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return f"{pair['difference']:+.3f}{interval}"


_HOW_TO_READ = """<p>The intervals draw whole clusters of questions with replacement, the tests treat questions as independent:
where the two disagree, trust the interval.</p>"""


def comparison_tables(comparison: Comparison) -> list[Table]:
    """A table with a row for each comparison of two runs, and those of their log ratios and AUCs where there are any.

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
    ratios = "Log ratio of the right answer: the first run minus the second, in nats"
    areas = "AUC: how well the log odds of A tell the answers apart, whatever letter a model prefers"
    return [table, *_beside(found, "log_ratio", ratios, _LOG_RATIO), *_beside(found, "auc", areas, _AUC)]


_LOG_RATIO: Cells = {
    "log ratio, 95 % interval": _difference,
    "p (log ratio), higher / lower": lambda ratio: f"{_p(ratio['p'])} / {_p(ratio['p_less'])}",
    "p (Holm), higher / lower": lambda ratio: f"{_p(ratio['p_holm'])} / {_p(ratio['p_less_holm'])}",
}
_AUC: Cells = {
    "AUC": lambda area: " / ".join(f"{auc:.3f}" for auc in area["means"]),
    "difference, 95 % interval": _difference,
}


def _beside(found: Sequence[Pair], name: str, title: str, cells: Cells) -> list[Table]:
    """The table of what is known beside the score; none where no pair has it."""
    shown = {"n": lambda one: str(one["n"]), **cells}
    rows = [
        [_names(pair), *(show(one) if (one := pair.get(name)) else "–" for show in shown.values())] for pair in found
    ]
    return [Table(["runs", *shown], rows, title)] if any(pair.get(name) for pair in found) else []


def comparison_page(title: str, comparison: Comparison) -> str:
    """The page of a comparison."""
    return page(title, comparison_html(comparison))


def comparison_html(comparison: Comparison) -> str:
    """A comparison as HTML: the tables, what they leave out, and the p-values of any two runs as figures.

    Where runs are compared in several settings, such as several configs, there are no figures.
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
    shown = f"<h2>Does the {score} differ?</h2>" + _matrix(found, found, ("p", "p"), f"{what} {test}.")
    if chi_square:
        by = "by chi-square with continuity correction"
        published = _matrix(found, found, ("p_corrected",) * 2, f"{what} McNemar's test {by}.")
        shown += _folded(f"The same {by}", published)
    corrected = _matrix(found, found, ("p_holm", "p_holm"), f"{what} {test}, corrected by Holm.")
    return shown + _folded("The same, corrected for the number of comparisons", corrected)


def _of_log_ratios(found: Sequence[Pair]) -> str:
    """The one-sided tests of the log ratio, in both directions."""
    if not any(pair.get("log_ratio") for pair in found):
        return ""
    what = "p-values of whether the run of the row has a higher log ratio than that of the column, by a paired t-test"
    ratios = [pair["log_ratio"] or {} for pair in found]
    plain = _matrix(found, ratios, ("p", "p_less"), f"{what}.")
    corrected = _matrix(found, ratios, ("p_holm", "p_less_holm"), f"{what}, corrected by Holm for all cells.")
    folded = _folded("The same, corrected for the number of comparisons", corrected)
    return f"<h2>Is the log ratio of the right answer higher?</h2>{plain}{folded}"


def _matrix(found: Sequence[Pair], tests: Sequence[Pair], p: tuple[str, str], title: str) -> str:
    shown = [(*pair["runs"], *map(test.get, p)) for pair, test in zip(found, tests, strict=True)]
    return p_matrix(*square(shown), title)


def square(tests: Sequence[tuple[str, str, float | None, float | None]]) -> tuple[list[str], PMatrix]:
    """The names of two runs of each test, and its p-values: one in the row of the first, the other in that of the second."""
    names = list(dict.fromkeys(name for test in tests for name in test[:2]))
    cells = {(one, other): p for one, other, p, _ in tests} | {(other, one): p for one, other, _, p in tests}
    return names, [[cells.get((row, column)) for column in names] for row in names]


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


Point = Mapping[str, Any]
"""A run: its tokens between (`between`), the `line` that it belongs to, and the columns of its score."""


def after_tokens(n_tokens: int) -> str:
    """What the label of a run says of unrelated text: its tokens, or nothing without any."""
    return f", after {n_tokens:,} tokens" if n_tokens else ""


def memory_of(identity: Mapping[str, Any], *, delayed: bool = True) -> str:
    """What remembers in a run, in the words of tables: a run after unrelated text has another memory than one without.

    `delayed` is whether the tokens of unrelated text are named.
    """
    name = str(identity.get("system") or identity.get("memory", ""))
    books = " (whole books)" if identity.get("stored") == "book" else ""
    return name + books + (after_tokens(identity.get("between", 0)) if delayed else "")


def point(
    identity: Mapping[str, Any],
    value: float | None,
    interval: Sequence[float] | None = None,
    bounds: Sequence[float] | None = None,
    more: str = "",
) -> Point:
    """A score of a run, 0 to 1, or None if questions failed, with its interval or its bounds.

    `more` is what else tells its line from others, such as a config.
    """
    names = (memory_of(identity, delayed=False), identity.get("model"), more)
    columns = score_of(value, interval, bounds).columns("mean", "low", "high", "lowest", "highest")
    return {"between": identity.get("between", 0), "line": ", ".join(filter(None, names)), **columns}


def between_parts(points: Sequence[Point], score: str) -> tuple[str, str]:
    """A curve for each line, with its numbers: as HTML, and the numbers in Markdown; empty unless runs differ in tokens."""
    places = sorted({one["between"] for one in points})
    if len(places) < 2:
        return "", ""
    body = [
        [line, *(next((_shown(one) for one in of_line if one["between"] == place), "–") for place in places)]
        for line, of_line in grouped(points, "line").items()
    ]
    table = Table([f"{score}, tokens between", *(f"{place:,}" for place in places)], body)
    with drawing():
        figure, axes = new_figure(8, 3.5)
        lines(axes, points, "between", "line", starred=False)
        words = "tokens of unrelated text between what is remembered and the question"
        axes.set(ylim=(0, 1.05), xlabel=words, ylabel=score)
        legend(figure)
        curve = figure_html(figure, f"{score} by the length of unrelated text, with 95 % intervals.")
    return f"<h2>After unrelated text</h2>\n{curve}\n{table.html()}", f"\n{table.markdown()}"


def _shown(one: Point) -> str:
    return cell(one["mean"]) if one["lowest"] is None else f"{cell(one['lowest'])}–{cell(one['highest'])} (incomplete)"
