"""Scores against the tokens of unrelated text between what is remembered and the question, of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.reports.figures import drawing, figure_html, new_figure
from epbench.reports.leaderboard import score_of
from epbench.reports.plots import grouped, legend, lines
from epbench.reports.tables import Table, cell

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
