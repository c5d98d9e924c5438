"""Are segments lost in the middle of an excerpt? Accuracy by where both stand (Appendix D.6, Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.contexts.accuracies import chance_line, draw_line, legend_below, numbers, shown
from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.paper.results.cells import about, by_columns
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table, interval_cell
from epbench.safe_text import one_line
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "Figure 11"
TITLE = "Accuracy in-context by the third of the excerpt in which both segments begin"
MODEL_NAME = "Figure 11, regression"
MODEL_TITLE = "Odds of a right answer if both segments begin in the middle third, at equal distance"
NEEDS = "in-context runs"
THIRDS = ("first", "middle", "last")
APART = "in two thirds"
_TERMS = ("middle", "middle x length")
_UNUSED = ("p", "needed", "greedy_accuracy", "label_mass")
_MOST_PANELS = 12


def figure_11(runs: Sequence[PaperRun]) -> list[Exhibit | Missing]:
    """The picture, and the regression that takes the distance into account.

    Args:
        runs: Of these, those with memory `in-context` are shown.
    """
    chosen = [run for run in runs if run.memory == "in-context"]
    if not chosen:
        return [Missing(NAME, TITLE, NEEDS), Missing(MODEL_NAME, MODEL_TITLE, NEEDS)]
    return [_picture(chosen), _regression(chosen)]


def thirds_of(questions: pd.DataFrame) -> pd.Series[str]:
    """The third of the excerpt in which both segments begin, or that they begin in two."""
    first, second = (3 * questions[name] // questions["excerpt_length"] for name in ("seg1_pos", "seg2_pos"))
    return first.clip(upper=2).map(dict(enumerate(THIRDS))).where(first == second, APART)


def _picture(chosen: Sequence[PaperRun]) -> Exhibit:
    records: list[dict[str, Value]] = []
    for run in chosen:
        for group, rows in by_columns("excerpt_length")(run.questions):
            thirds = thirds_of(rows)
            for third in (*THIRDS, APART):
                members = rows[thirds == third]
                if len(members):
                    mean = float(members["distance"].mean())
                    found = {name: value for name, value in numbers(members).items() if name not in _UNUSED}
                    records.append({**about(run), **group, "position": third, "mean_distance": mean, **found})
    columns = (*THIRDS, APART)
    cells = {(r["label"], r["excerpt_length"], r["position"]): f"{shown(r)} ({r['n']})" for r in records}
    lines = list(dict.fromkeys((r["label"], r["model"], r["excerpt_length"]) for r in records))
    rows_shown = [
        [str(label), str(model), f"{length:,}", *(cells.get((label, length, column), "–") for column in columns)]
        for label, model, length in lines
    ]
    notes = [
        "In brackets the number of answered pairs. ± is half the width of a 95 % interval that draws excerpts. Pairs within "
        "one third are near one another, and pairs in two thirds farther apart and easier: compare the thirds with one "
        "another, not with the last column.",
    ]
    head = ["run", "model", "excerpt", *columns]
    table = Table(head, rows_shown, notes=notes, text_columns=2)
    return Exhibit(NAME, TITLE, records, table, lambda: _draw(records))


def _regression(chosen: Sequence[PaperRun]) -> Exhibit:
    effects = [(run, middle_effect(run.questions)) for run in chosen]
    corrected = {name: _corrected(effects, name) for name in _TERMS}
    records: list[dict[str, Value]] = []
    shown_rows = []
    for run, effect in effects:
        terms = effect.get("terms", {})
        cells = []
        for name in _TERMS:
            term = terms.get(name)
            p_holm = corrected[name].get(run.label)
            records.append(_term_record(run, effect, name, term, p_holm))
            odds = [None if term is None else term[key] for key in ("low", "high")]
            cells += [
                "–" if term is None else f"{term['odds_ratio']:.2f} ({interval_cell(_exp(odds), digits=2)})",
                "–" if term is None else f"{term['p']:.2g}", "–" if p_holm is None else f"{p_holm:.2g}",
            ]  # fmt: skip
        counts = [str(effect["n"]), str(effect["in_middle"]["n"]), str(effect["n_failed"])]
        shown_rows.append([run.label, run.model, *counts, *cells])
    notes = [
        "A logistic regression of right answers on whether both segments begin in the middle third, on the length of the "
        "excerpt, on both together, and on the distance of the segments, with errors clustered by excerpt; failed questions "
        "are left out. An odds ratio below 1 says that the middle is harder. Wald tests, corrected by Holm for the number of "
        "runs, for each of the two terms.",
        "The paper found an effect of the middle in nine of ten models, and in seven one that depends on the length.",
        *(f"{run.label}: {effect['not_estimable']}." for run, effect in effects if "not_estimable" in effect),
    ]
    head = ["run", "model", "pairs", "in the middle", "failed", "middle", "p", "p (Holm)"]
    table = Table([*head, "middle x length", "p", "p (Holm)"], shown_rows, notes=notes, text_columns=2)
    return Exhibit(MODEL_NAME, MODEL_TITLE, records, table)


def _corrected(effects: Sequence[tuple[PaperRun, dict[str, Any]]], name: str) -> dict[str, float]:
    found = {run.label: effect["terms"][name]["p"] for run, effect in effects if name in effect.get("terms", {})}
    return dict(zip(found, holm(list(found.values())), strict=True))


def _term_record(
    run: PaperRun, effect: dict[str, Any], name: str, term: dict[str, float] | None, p_holm: float | None
) -> dict[str, Value]:
    values = {key: None if term is None else term[key] for key in ("coefficient", "low", "high", "odds_ratio", "p")}
    return {
        "source": run.source, "label": run.label, "model": run.model, "term": name, **values, "p_holm": p_holm,
        "n": effect["n"], "n_failed": effect["n_failed"], "n_in_middle": effect["in_middle"]["n"],
        "accuracy_in_middle": effect["in_middle"]["accuracy"], "accuracy_elsewhere": effect["elsewhere"]["accuracy"],
    }  # fmt: skip


def _exp(ends: Sequence[float | None]) -> list[float] | None:
    import math

    known = [math.exp(end) for end in ends if end is not None]
    return known if len(known) == 2 else None


def _draw(records: Sequence[dict[str, Value]]) -> Figure:
    """A panel for each run, and in it a line for each length of excerpts."""
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(str(record["label"]) for record in records))[:_MOST_PANELS]
    lengths = sorted({int(record["excerpt_length"] or 0) for record in records})
    columns = min(3, len(labels))
    lines = -(-len(labels) // columns)
    figure = Figure(figsize=(0.8 + 2.9 * columns, 0.8 + 2.6 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True).flatten()
    for axes in panels[len(labels) :]:
        axes.set_axis_off()
    for axes, label in zip(panels, labels, strict=False):
        _panel(axes, [record for record in records if record["label"] == label], lengths)
        axes.set_title(one_line(label), fontsize=9)
    for axes in panels[::columns]:
        axes.set_ylabel("accuracy")
    legend_below(figure, panels[: len(labels)])
    return figure


def _panel(axes: Axes, records: Sequence[dict[str, Value]], lengths: Sequence[int]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    for number, length in enumerate(lengths):
        by_third = {r["position"]: r for r in records if r["excerpt_length"] == length}
        known = [(i, by_third[third]) for i, third in enumerate(THIRDS) if third in by_third]
        places = [i + 0.06 * (number - (len(lengths) - 1) / 2) for i, _ in known]
        if known:
            draw_line(axes, number, places, [record for _, record in known], f"{length:,} words")
    chance_line(axes)
    axes.set_xticks(range(3), THIRDS)
    axes.set_xlim(-0.4, 2.4)
    axes.set_xlabel("third of the excerpt")
