"""A passport for a screen, as Markdown, and as a page with a picture of the rates and the answers that went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from epbench.reports.page import COLOURS, cell, drawing, how_it_was_run, markdown, page, pairs, picture, table
from epbench.tulving.calibration.answers import MadeAnswer
from epbench.tulving.calibration.passport import SHARES, Passport, is_right
from epbench.tulving.judging.protocol import Verdict

if TYPE_CHECKING:
    from rich.table import Table

_HEAD = ("kind of made answer", "n", "right", "rate", "from", "to", "sensitivity", "specificity", "failed")
_SHOWN = 3  # wrong verdicts per kind in the page


def passport_table(passport: Passport) -> str:
    """The passport in Markdown: by kind, then as a whole."""
    whole = [[share, cell(passport[share]), *_ends(passport[f"{share}_interval"])] for share in SHARES]
    title = f"Judge {passport['judge']} ({passport['prompt_hash']}), {passport['n']} made answers per kind"
    parts = [f"{title}, seed {passport['seed']}\n", markdown(_HEAD, _kinds(passport))]
    return "\n".join([*parts, markdown(["share", "value", "from", "to"], whole)])


def passport_screen(passport: Passport) -> Table:
    """The same for a screen, a little narrower."""
    from rich.table import Table

    shown = Table("kind of made answer")
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
    run: Mapping[str, Any], passport: Passport, made: Sequence[MadeAnswer], verdicts: Mapping[str, Verdict]
) -> str:
    """The passport as one HTML file.

    Args:
        run: content of run.json.
        passport: content of passport.json.
        made: the made answers.
        verdicts: on them, by the id of the case.
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
{_picture(passport)}
{table(["over all kinds", "value", "from", "to"], [*shares, *f1])}
<p>Sensitivity: share of what the answers name in full that the judge credits. Specificity: share of what they do not
name that it does not credit; where nothing true exists, what may be credited is the abstention. Order: share of the
complete answers, credited as such, that it reads in their order. 95 % intervals by Wilson.</p>
<h2>By kind</h2>
{table(_HEAD, _kinds(passport))}
<h2>Wrong verdicts</h2>
<p>The first {_SHOWN} of each kind.</p>
{table(["kind", "question", "true items: due → given", "answer", "items listed"], _wrong(made, verdicts))}
{how_it_was_run(run)}""",
    )


def _kinds(passport: Passport) -> list[list[str]]:
    columns = ("kind", "n", "right", "rate", "low", "high", "sensitivity", "specificity", "failed")
    return [[cell(kind[column]) for column in columns] for kind in passport["kinds"]]


def _ends(interval: Sequence[float] | None) -> list[str]:
    return [cell(end) for end in interval or (None, None)]


def _picture(passport: Passport) -> str:
    """A dot with its interval for every kind, in the order of the kinds from the top."""
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
        return picture(figure, "Share of the made answers of each kind that the judge gets right, with 95 % intervals.")


def _wrong(made: Sequence[MadeAnswer], verdicts: Mapping[str, Verdict]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(answer.kind for answer in made):
        wrong = (
            (answer, verdict)
            for answer in made
            if answer.kind == kind and (verdict := verdicts.get(answer.case.id)) and not is_right(answer, verdict)
        )
        for answer, verdict in islice(wrong, _SHOWN):
            scores = zip(answer.case.truth, answer.scores, verdict.scores, strict=True)
            due = "; ".join(f"{item}: {true:g} → {given:g}" for item, true, given in scores)
            given = ", ".join(verdict.items)
            rows.append([kind, answer.case.question, due or "nothing true", answer.case.answer, given or "none"])
    return rows
