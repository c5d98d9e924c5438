"""Check a judge: have it judge the calibration set like the answers of any run, and write its passport and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.writing import write_text
from epbench.hub.rows import Row
from epbench.progress import Progress
from epbench.reports.figures import COLOURS, drawing, error_bars, figure_html, new_figure
from epbench.reports.page import how_it_was_run, page, pairs
from epbench.reports.tables import Table, cell, interval_cell
from epbench.runs.usage import commonest
from epbench.tulving.calibration.answers import CalibrationAnswer
from epbench.tulving.calibration.passport import PASSPORT, SHARES, Passport, is_right, make_passport, store_passport
from epbench.tulving.judging.own_answers import record_answers
from epbench.tulving.judging.verdicts import Judge, Verdict, judge_answers, judge_failures
from epbench.tulving.questions.generate import bin_of

_SOURCE = "made answers"  # the keys of the answers in stored journals depend on it


def check_judge_on(
    folder: Path, calibration_set: Sequence[CalibrationAnswer], seed: int, judge: Judge, progress: Progress
) -> Passport:
    """Have the calibration set made with this seed judged, in the journals of an open run, and write the results.

    These are passport.json, which is also kept for later runs, table.md and report.html. RunFailed if there is no verdict.
    """
    inputs = [answer.judge_input for answer in calibration_set]
    record_answers(folder, {judge_input.id: judge_input.answer for judge_input in inputs}, _SOURCE)
    judged = judge_answers(folder, [_row(answer) for answer in calibration_set], judge, progress)
    if not judged:
        reasons = commonest(reason for reason, n in judge_failures(folder, judge).items() for _ in range(n))
        n = len(calibration_set)
        raise RunFailed(f"judge {judge.name} has judged none of the {n} calibration answers{reasons}")
    verdicts = {row.id: Verdict(row.items, row.scores, row.order, "") for row in judged}
    passport = make_passport(judge, calibration_set, verdicts, seed)
    write_json(folder / PASSPORT, passport)
    write_text(folder / "table.md", passport_table(passport))
    run = read_json(folder / "run.json")
    write_text(folder / "report.html", passport_page(run, passport, calibration_set, verdicts))
    store_passport(judge, passport)
    return passport


def _row(answer: CalibrationAnswer) -> Row:
    input_, n = answer.judge_input, len(answer.decisions)
    row: dict[str, Any] = {"id": input_.id, "question": input_.question, "trace": input_.trace, "get": input_.get}
    row |= {"answer": list(input_.reference), "n_chapters": n, "bin": bin_of(n)}
    return row | dict.fromkeys(["time", "space", "entity", "content"])


_COLUMNS = ("kind", "n", "right", "rate", "low", "high", "sensitivity", "specificity", "failed")
_HEAD = ("kind of answer", *_COLUMNS[1:4], "from", "to", *_COLUMNS[6:])
_WRONG = ("kind", "question", "true items: right → given score", "answer", "items listed")
_SHOWN = 3  # wrong verdicts per kind in the page


def passport_table(passport: Passport) -> str:
    """Return the passport in Markdown: by kind, then as a whole."""
    title = f"Judge {passport['judge']} ({passport['prompt_hash']}), {passport['n']} calibration answers per kind"
    parts = [f"{title}, seed {passport['seed']}\n", Table(_HEAD, _kinds(passport)).markdown()]
    return "\n".join([*parts, Table(["share", "value", "from", "to"], _shares(passport)).markdown()])


def passport_screen(passport: Passport) -> Table:
    """The same for a screen, a little narrower."""
    rows = []
    for kind in passport["kinds"]:
        interval = None if kind["low"] is None else (kind["low"], kind["high"])
        right, shares = f"{kind['right']}/{kind['n']}", (kind["sensitivity"], kind["specificity"])
        rows.append([kind["kind"], right, cell(kind["rate"]), interval_cell(interval), *map(cell, shares)])
    for share in SHARES:
        rows.append([share, "", cell(passport[share]), interval_cell(passport[f"{share}_interval"]), "", ""])
    head = ["kind of answer", "right", "rate", "95 %", "sensitivity", "specificity"]
    return Table(head, rows, sections=[len(passport["kinds"]) - 1])


def passport_page(
    run: Mapping[str, Any],
    passport: Passport,
    calibration_set: Sequence[CalibrationAnswer],
    verdicts: Mapping[str, Verdict],
) -> str:
    """Return the passport as one HTML page, from run.json, passport.json, and the verdicts by the id of the input."""
    names = ("judge", "prompt_hash", "setup", "n", "seed", "made_answers", "failed")
    about: dict[str, Any] = {name: passport[name] for name in names if name in passport}
    f1 = [
        [f"F1 of {sort} answers where {where.replace('_', ' is ')}", cell(value), "", ""]
        for sort in ("right", "wrong")
        for where, value in passport[f"f1_when_{sort}"].items()
    ]
    return page(
        f"Passport of the judge {passport['judge']}",
        f"""{pairs(about)}
{_figure(passport)}
{Table(["over all kinds", "value", "from", "to"], [*_shares(passport), *f1]).html()}
<p>Sensitivity: share of what the answers name in full that the judge credits. Specificity: share of what they do not
name that it does not credit; where nothing true exists, what may be credited is the abstention. Order: share of the
complete answers, credited as such, that it reads in their order. 95 % intervals by Wilson.</p>
<h2>By kind</h2>
{Table(_HEAD, _kinds(passport)).html()}
<h2>Wrong verdicts</h2>
<p>The first {_SHOWN} of each kind.</p>
{Table(_WRONG, _wrong(calibration_set, verdicts), text_columns=len(_WRONG)).html()}
{how_it_was_run(run)}""",
    )


def _kinds(passport: Passport) -> list[list[str]]:
    return [[cell(kind[column]) for column in _COLUMNS] for kind in passport["kinds"]]


def _shares(passport: Passport) -> list[list[str]]:
    ends = {share: passport[f"{share}_interval"] or (None, None) for share in SHARES}
    return [[share, *map(cell, (passport[share], *ends[share]))] for share in SHARES]


def _figure(passport: Passport) -> str:
    """A dot with its interval for every kind, in the order of the kinds from the top."""
    kinds = [kind for kind in passport["kinds"] if kind["n"]]
    places, rates = range(len(kinds), 0, -1), [kind["rate"] for kind in kinds]
    with drawing():
        figure, axes = new_figure(8, 0.8 + 0.28 * len(kinds))
        axes.plot(rates, places, "o", color=COLOURS[0])
        error_bars(axes, places, rates, [(kind["low"], kind["high"]) for kind in kinds], horizontal=True)
        axes.set_yticks(places, [kind["kind"] for kind in kinds])
        axes.set(xlim=(-0.02, 1.02), xlabel="share of right verdicts")
        axes.grid(axis="x", color="#ddd")
        caption = "Share of right verdicts on each kind of calibration answer, with 95 % intervals."
        return figure_html(figure, caption)


def _wrong(calibration_set: Sequence[CalibrationAnswer], verdicts: Mapping[str, Verdict]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(answer.kind for answer in calibration_set):
        of_kind = ((one, verdicts.get(one.judge_input.id)) for one in calibration_set if one.kind == kind)
        wrong = ((one, verdict) for one, verdict in of_kind if verdict and not is_right(one, verdict))
        for answer, verdict in islice(wrong, _SHOWN):
            judge_input = answer.judge_input
            scores = zip(judge_input.reference, answer.scores, verdict.scores, strict=True)
            shown = "; ".join(f"{item}: {right:g} → {score:g}" for item, right, score in scores)
            items = ", ".join(verdict.items)
            rows.append([kind, judge_input.question, shown or "nothing true", judge_input.answer, items or "none"])
    return rows
