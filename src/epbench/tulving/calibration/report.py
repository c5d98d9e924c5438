"""A passport for the screen, as Markdown, and as a page with a figure of the rates and the wrong verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from epbench.reports.page import COLOURS, cell, drawing, how_it_was_run, markdown, page, pairs, picture, table
from epbench.tulving.calibration.answers import CalibrationAnswer
from epbench.tulving.calibration.passport import SHARES, Passport, is_right
from epbench.tulving.judging.protocol import Verdict

if TYPE_CHECKING:
    from rich.table import Table

_HEAD = ("kind of answer", "n", "right", "rate", "from", "to", "sensitivity", "specificity", "failed")
_SHOWN = 3  # wrong verdicts per kind in the page


def passport_table(passport: Passport) -> str:
    """Return the passport in Markdown: by kind, then as a whole."""
    whole = [[share, cell(passport[share]), *_ends(passport[f"{share}_interval"])] for share in SHARES]
    title = f"Judge {passport['judge']} ({passport['prompt_hash']}), {passport['n']} calibration answers per kind"
    parts = [f"{title}, seed {passport['seed']}\n", markdown(_HEAD, _kinds(passport))]
    return "\n".join([*parts, markdown(["share", "value", "from", "to"], whole)])


def passport_screen(passport: Passport) -> Table:
    """Return the same for the screen, a little narrower."""
    from rich.table import Table

    shown = Table("kind of answer")
    for title in ("right", "rate", "95 %", "sensitivity", "specificity"):
        shown.add_column(title, justify="right")
    for kind in passport["kinds"]:
        interval = None if kind["low"] is None else (kind["low"], kind["high"])
        right, shares = f"{kind['right']}/{kind['n']}", (kind["sensitivity"], kind["specificity"])
        shown.add_row(kind["kind"], right, cell(kind["rate"]), _interval(interval), *map(cell, shares))
    shown.add_section()
    for share in SHARES:
        shown.add_row(share, "", cell(passport[share]), _interval(passport[f"{share}_interval"]))
    return shown


def _interval(interval: Sequence[float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"


def passport_page(
    run: Mapping[str, Any],
    passport: Passport,
    calibration_set: Sequence[CalibrationAnswer],
    verdicts: Mapping[str, Verdict],
) -> str:
    """Return the passport as one HTML page.

    Args:
        run: Content of run.json.
        passport: Content of passport.json.
        calibration_set: The calibration set.
        verdicts: The verdicts on it, by the id of the input.
    """
    about = {name: passport[name] for name in ("judge", "prompt_hash", "n", "seed", "made_answers", "failed")}
    shares = [[share, cell(passport[share]), *_ends(passport[f"{share}_interval"])] for share in SHARES]
    f1 = [
        [f"F1 of {sort} answers where {where.replace('_', ' is ')}", cell(value), "", ""]
        for sort in ("right", "wrong")
        for where, value in passport[f"f1_when_{sort}"].items()
    ]
    return page(
        f"Passport of the judge {passport['judge']}",
        f"""{pairs(about)}
{_figure(passport)}
{table(["over all kinds", "value", "from", "to"], [*shares, *f1])}
<p>Sensitivity: share of the items named in full that the judge credits. Specificity: share of the items not named that it
does not credit; where nothing true exists, the abstention takes the place of an item. Order: share of the complete
answers, with all items credited, that it reads in their order. 95 % intervals by Wilson.</p>
<h2>By kind</h2>
{table(_HEAD, _kinds(passport))}
<h2>Wrong verdicts</h2>
<p>The first {_SHOWN} of each kind.</p>
{table(["kind", "question", "true items: right → given score", "answer", "items listed"], _wrong(calibration_set, verdicts))}
{how_it_was_run(run)}""",
    )


def _kinds(passport: Passport) -> list[list[str]]:
    columns = ("kind", "n", "right", "rate", "low", "high", "sensitivity", "specificity", "failed")
    return [[cell(kind[column]) for column in columns] for kind in passport["kinds"]]


def _ends(interval: Sequence[float] | None) -> list[str]:
    return [cell(end) for end in interval or (None, None)]


def _figure(passport: Passport) -> str:
    """A dot with its interval for every kind, from the top in the order of the kinds."""
    from matplotlib.figure import Figure

    kinds = [kind for kind in passport["kinds"] if kind["n"]]
    places = range(len(kinds), 0, -1)
    with drawing():
        figure = Figure(figsize=(8, 0.8 + 0.28 * len(kinds)), layout="constrained")
        axes = figure.add_subplot()
        rates = [kind["rate"] for kind in kinds]
        errors = [
            [max(0.0, kind["rate"] - kind["low"]) for kind in kinds],
            [max(0.0, kind["high"] - kind["rate"]) for kind in kinds],
        ]
        axes.errorbar(rates, places, xerr=errors, fmt="o", color=COLOURS[0], ecolor="#222", capsize=3)
        axes.set_yticks(places, [kind["kind"] for kind in kinds])
        axes.set(xlim=(-0.02, 1.02), xlabel="share of right verdicts")
        axes.grid(axis="x", color="#ddd")
        axes.spines[["top", "right"]].set_visible(False)
        return picture(figure, "Share of right verdicts on each kind of calibration answer, with 95 % intervals.")


def _wrong(calibration_set: Sequence[CalibrationAnswer], verdicts: Mapping[str, Verdict]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(answer.kind for answer in calibration_set):
        wrong = (
            (answer, verdict)
            for answer in calibration_set
            if answer.kind == kind
            and (verdict := verdicts.get(answer.judge_input.id))
            and not is_right(answer, verdict)
        )
        for answer, verdict in islice(wrong, _SHOWN):
            given = answer.judge_input
            scores = zip(given.reference, answer.scores, verdict.scores, strict=True)
            shown = "; ".join(f"{item}: {right:g} → {score:g}" for item, right, score in scores)
            items = ", ".join(verdict.items)
            rows.append([kind, given.question, shown or "nothing true", given.answer, items or "none"])
    return rows
