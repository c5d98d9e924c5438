"""A passport for the screen, as Markdown, and as a page with a figure of the rates and the wrong labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from epbench.memfail.calibration.faults import FAULTS, PlantedCase
from epbench.memfail.calibration.passport import SHARES, Passport
from epbench.memfail.judging.diagnosis import Label
from epbench.reports.figures import COLOURS, drawing, error_bars, figure_html, new_figure
from epbench.reports.page import how_it_was_run, page, pairs
from epbench.reports.tables import Table, cell, interval_cell
from epbench.safe_text import markdown_text

_NUMBERS = ("n", "right", "rate", "low", "high", "noticed", "failed")
_HEAD = ("planted fault", "its label", "n", "right", "rate", "from", "to", "noticed", "failed")
_SHOWN = 3  # wrong labels per fault in the page


def passport_table(passport: Passport) -> str:
    """Return the passport in Markdown: by fault, by config, then as a whole."""
    title = (
        f"Judge {passport['judge']} ({passport['prompt_hash']}), up to {passport['n']} cases of a fault in each config"
    )
    parts = [
        f"{title}, seed {passport['seed']}, {markdown_text(passport['rows'])}\n",
        *(table.markdown() for table in _tables(passport)),
    ]
    return "\n".join(parts)


def passport_screen(passport: Passport) -> Table:
    """The same for a screen, a little narrower."""
    rows = []
    for fault in passport["faults"]:
        interval = None if fault["low"] is None else (fault["low"], fault["high"])
        noticed = f"{fault['noticed']}/{fault['n']}"
        rows.append(
            [fault["fault"], f"{fault['right']}/{fault['n']}", cell(fault["rate"]), interval_cell(interval), noticed]
        )
    for share in SHARES:
        rows.append([share, "", cell(passport[share]), interval_cell(passport[f"{share}_interval"]), ""])
    return Table(["planted fault", "right", "rate", "95 %", "noticed"], rows, sections=[len(passport["faults"]) - 1])


def passport_page(
    run: Mapping[str, Any], passport: Passport, cases: Sequence[PlantedCase], labels: Sequence[Label]
) -> str:
    """Return the passport as one HTML page.

    Args:
        run: Content of run.json.
        passport: Content of passport.json.
        cases: The planted cases.
        labels: The label that the judge's verdicts led to for each of them.
    """
    about: dict[str, Any] = {
        name: passport[name]
        for name in ("judge", "prompt_hash", "setup", "rows", "n", "seed", "planted", "failed")
        if name in passport
    }
    by_fault, by_config, whole = (table.html() for table in _tables(passport))
    wrong = Table(
        ["fault", "question", "expected", "label", "memories that came back", "answer"],
        _wrong(cases, labels),
        text_columns=6,
    )
    return page(
        f"Passport of the judge {passport['judge']} for MemFail",
        f"""{pairs(about)}
{_figure(passport)}
{whole}
<p>Sensitivity: share of the planted faults that get any error. Stage: share of them that get the error of their own stage.
Specificity: share of the faithful cases, labelled “none” below, that are correct. 95 % intervals by Wilson.</p>
<h2>By fault</h2>
{by_fault}
<h2>By config</h2>
{by_config}
<h2>Wrong labels</h2>
<p>The first {_SHOWN} of each fault.</p>
{wrong.html()}
{how_it_was_run(run)}""",
    )


def _tables(passport: Passport) -> list[Table]:
    faults = [[row["fault"], row["expected"].replace("_", " "), *_numbers(row)] for row in passport["faults"]]
    configs = [[row["config"], *_numbers(row)] for row in passport["configs"]]
    whole = [
        [share, *(cell(value) for value in (passport[share], *(passport[f"{share}_interval"] or (None, None))))]
        for share in SHARES
    ]
    return [
        Table(_HEAD, faults, text_columns=2),
        Table(["config: planted faults", *_HEAD[2:]], configs),
        Table(["share", "value", "from", "to"], whole),
    ]


def _numbers(row: Mapping[str, Any]) -> list[str]:
    return [cell(row[name]) for name in _NUMBERS]


def _figure(passport: Passport) -> str:
    """A dot with its interval for every fault, in their order from the top."""
    faults = [fault for fault in passport["faults"] if fault["n"]]
    places, rates = range(len(faults), 0, -1), [fault["rate"] for fault in faults]
    with drawing():
        figure, axes = new_figure(8, 0.8 + 0.28 * len(faults))
        axes.plot(rates, places, "o", color=COLOURS[0])
        error_bars(axes, places, rates, [(fault["low"], fault["high"]) for fault in faults], horizontal=True)
        axes.set_yticks(places, [fault["fault"] for fault in faults])
        axes.set(xlim=(-0.02, 1.02), xlabel="share of right labels")
        axes.grid(axis="x", color="#ddd")
        return figure_html(figure, "Share of right labels for each planted fault, with 95 % intervals.")


def _wrong(cases: Sequence[PlantedCase], labels: Sequence[Label]) -> list[list[str]]:
    rows = []
    for fault in FAULTS:
        wrong = (
            (case, label)
            for case, label in zip(cases, labels, strict=True)
            if case.fault == fault and label not in (case.expected, "failed")
        )
        for case, label in islice(wrong, _SHOWN):
            record = case.record
            names = [name.replace("_", " ") for name in (case.expected, label)]
            rows.append([fault, record.question.text, *names, " / ".join(record.memories), record.answer])
    return rows
