"""The check of a judge of MemFail, and its passport: how often it finds a planted fault, and at its stage.

The judge diagnoses planted faults like the records of any run (paper: Section 5.1, phase 3). The paper checks its judge on a
hundred examples by hand; here the truth is certain, because every fault was planted. A passport is kept in the user's cache by
judge and prompts, and is shown beside what this judge says of later runs.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from epbench import __version__
from epbench.errors import BadInput, RunFailed
from epbench.files.cache import cache_folder
from epbench.files.json_files import read_json, write_json
from epbench.files.text import markdown_text
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.files.writing import write_text
from epbench.journals.journal import read_journal
from epbench.judges.model import name_without_weights
from epbench.judges.protocol import (
    JUDGEMENTS,
    JudgeIdentity,
    about_judge,
    failures_of,
    file_name_of,
    identity_of,
    noted_judge,
    people_line,
    with_people,
)
from epbench.memfail.calibration.faults import ALL_FAULTS, NO_FAULT, PlantedCase, faults_of, planted_cases
from epbench.memfail.dataset.load import QuestionRecord, check_config, facts_to_store, load_memfail, questions_of
from epbench.memfail.dataset.schema import complete
from epbench.memfail.judging.diagnosis import Label, diagnose
from epbench.memfail.judging.lexical import Judge, every_check
from epbench.memfail.templates.rows import make_rows
from epbench.progress import Progress
from epbench.reports.figures import COLOURS, drawing, error_bars, figure_html, new_figure
from epbench.reports.page import how_it_was_run, page, pairs
from epbench.reports.plots import grouped_by
from epbench.reports.tables import Table, cell, interval_cell
from epbench.runs.usage import commonest
from epbench.statistics.intervals import wilson

_log = logging.getLogger(__name__)

PASSPORT = "passport.json"
SHARES = ("sensitivity", "stage", "specificity")

_FEWEST = 20  # a rate over fewer cases says little

Passport = dict[str, Any]
Judged = tuple[PlantedCase, Label]

_FAULT: Any = fields({"fault": str, "n": Whole})
_PASSPORT = fields(
    {
        "judge": str,
        "prompt_hash": str,
        "rows": str,
        "faults": list[_FAULT],
        **dict.fromkeys(SHARES, Number),
        **{f"{share}_interval": Interval for share in SHARES},
    },
    {"setup": str},
)
"""Of a passport that can be told in a sentence: something was planted, and something was faithful."""


def planted_set(configs: Sequence[str], n: int, seed: int, *, dataset: str | None, rows: int) -> list[PlantedCase]:
    """Plant every fault into the rows of some configs, n times at most: of a dataset, or without one of rows from templates."""
    if n < _FEWEST:
        raise BadInput(f"planted faults: expected at least {_FEWEST} of each, got {n}")
    cases = []
    for config in configs:
        check_config(config)
        made = (
            complete(config, make_rows(config, rows, seed)) if dataset is None else load_memfail(dataset, config).rows
        )
        cases += planted_cases(config, questions_of(config, made), facts_to_store(config, made), n, seed)
    return cases


def plan_lines(judge: Judge, cases: Sequence[PlantedCase]) -> list[str]:
    """What the check costs at most: every stage of every case, as if the judge found no fault before the last one."""
    checks = list({check.key(judge): check for check in every_check(*_told_apart(cases))}.values())
    kinds, most = len({case.fault for case in cases}), judge.plan(checks)
    who = (
        f"judge {name_without_weights(judge)}: {len(cases):,} cases of {kinds} kinds, at most {len(checks):,} verdicts"
    )
    return [f"{who}, no tokens"] if most is None else [who, *(f"judge: {line}" for line in most.lines())]


def _told_apart(cases: Sequence[PlantedCase]) -> tuple[list[QuestionRecord], dict[str, tuple[str, ...]]]:
    """The records of all cases, each with the name of a store of its own, and these stores."""
    named = {f"case {number}": case for number, case in enumerate(cases)}
    stores = {name: tuple(case.stores[case.record.store]) for name, case in named.items()}
    return [replace(case.record, store=name) for name, case in named.items()], stores


def check_judge_on(
    folder: Path, cases: Sequence[PlantedCase], judge: Judge, progress: Progress, *, n: int, seed: int, rows: str
) -> Passport:
    """Have the planted cases judged, in the journal of an open run, and write passport.json, table.md and report.html.

    The passport is also kept for later runs. For n, seed and rows see `make_passport`.
    """
    records, stores = _told_apart(cases)
    labels = [outcome.label for outcome in diagnose(folder, records, stores, judge, progress)]
    if all(label == "failed" for label in labels):
        reasons = commonest(reason for reason, n in judge_failures(folder, judge).items() for _ in range(n))
        raise RunFailed(f"judge {judge.name} has judged none of the {len(cases)} planted cases{reasons}")
    passport = make_passport(judge, cases, labels, n=n, seed=seed, rows=rows)
    write_json(folder / PASSPORT, passport)
    write_text(folder / "table.md", passport_table(passport))
    write_text(folder / "report.html", passport_page(read_json(folder / "run.json"), passport, cases, labels))
    write_json(passport_path(judge), with_people(passport_path(judge), passport))
    return passport


def judge_failures(folder: Path, judge: Judge) -> dict[str, int]:
    """Why the judge gave no verdict, and how often, the commonest reason first."""
    return failures_of(read_journal(folder / JUDGEMENTS), judge)


def make_passport(
    judge: JudgeIdentity, cases: Sequence[PlantedCase], labels: Sequence[Label], *, n: int, seed: int, rows: str
) -> Passport:
    """Return the content of passport.json, from the label that the judge's verdicts lead to for each case.

    `n` is the largest number of cases of a fault in a config, and `rows` says in words into which rows they were planted.

    Returns:
        judge, prompt_hash, setup (not of rules), seed, n, rows, planted (see `fingerprint_of`), failed (cases without a verdict);
        sensitivity: the share of the planted faults that get any error;
        stage: the share of them that get the error of their own stage;
        specificity: the share of the faithful cases that are correct;
        each with `_interval` (95 %, Wilson; cases taken as independent), None where there is nothing to count;
        faults: for each its name, expected (its label), n, right, rate, low, high, noticed (how many got any error), failed;
        configs: for each config the same over its planted faults; versions.
    """
    pairs = list(zip(cases, labels, strict=True))
    judged = [(case, label) for case, label in pairs if label != "failed"]
    faulty = [(case, label) for case, label in judged if case.fault != NO_FAULT]
    possible = {fault for case in cases for fault in faults_of(case.record.question.config)}
    planted = [pair for pair in pairs if pair[0].fault != NO_FAULT]
    of_config = grouped_by(planted, lambda pair: pair[0].record.question.config)
    return {
        **about_judge(judge, "judge"),
        "seed": seed,
        "n": n,
        "rows": rows,
        "planted": fingerprint_of(cases),
        "failed": len(cases) - len(judged),
        **_share("sensitivity", [label != "correct" for _, label in faulty]),
        **_share("stage", [label == case.expected for case, label in faulty]),
        **_share("specificity", [label == "correct" for case, label in judged if case.fault == NO_FAULT]),
        "faults": [
            {"fault": fault, "expected": expected} | _counted([pair for pair in pairs if pair[0].fault == fault])
            for fault, (_, expected) in ALL_FAULTS.items()
            if fault in possible
        ],
        "configs": [{"config": config} | _counted(config_cases) for config, config_cases in of_config.items()],
        "versions": {"epbench": __version__},
    }


def fingerprint_of(cases: Sequence[PlantedCase]) -> str:
    """Short hash of all cases: passports with the same hash were made with the same ones."""
    digest = hashlib.sha256()
    for case in cases:
        record = case.record
        key = (case.fault, case.expected, record.question.id, record.k, record.memories, record.answer, case.stores)
        digest.update(json.dumps(key).encode())
    return digest.hexdigest()[:16]


def passport_path(judge: JudgeIdentity) -> Path:
    """Where a passport is kept: folder `passports` of `$EPBENCH_CACHE`, or of `~/.cache/epbench`."""
    return cache_folder("passports") / f"memfail-{file_name_of(judge)}.json"


def find_passport(judge: JudgeIdentity) -> Passport | None:
    """The passport of a judge in the user's cache; None if it has none, or, with a warning, if something else is there."""
    path = passport_path(judge)
    if not path.is_file():
        return None
    try:
        passport = read_json(path, _PASSPORT)
        if noted_judge(passport, "judge") != identity_of(judge):
            raise BadInput(f"{path}: expected the passport of {identity_of(judge)}")
    except BadInput as error:
        _log.warning("%s; the passport is ignored until this judge is checked again", error)
        return None
    return dict(passport)


def passport_in_words(judge: JudgeIdentity) -> str | None:
    """The judge with its two rates, such as `lexical, sensitivity 0.97, specificity 1.00`; None without a passport."""
    if (passport := find_passport(judge)) is None:
        return None
    said = f", {line}" if (line := people_line(passport)) else ""
    return f"{judge.name}, sensitivity {passport['sensitivity']:.2f}, specificity {passport['specificity']:.2f}{said}"


def passport_note(judge: JudgeIdentity) -> str | None:
    """What the passport of a judge says, in a sentence to be shown beside its scores; None if it has no passport."""
    if (passport := find_passport(judge)) is None:
        return None
    of_cases = sum(row["n"] for row in passport["faults"])
    sensitivity, at_stage, passed = (_percent(passport, share) for share in SHARES)
    return (
        f"judge {identity_of(judge)}: of planted faults it finds {sensitivity}, {at_stage} at their stage; of faithful "
        f"cases it passes {passed} ({of_cases:,} cases, {passport['rows']})"
        + (f"; {line}" if (line := people_line(passport)) else "")
    )


def _percent(passport: Passport, share: str) -> str:
    low, high = passport[f"{share}_interval"]
    return f"{passport[share]:.1%} ({low:.1%} to {high:.1%})"


def _counted(pairs: Sequence[Judged]) -> dict[str, Any]:
    judged = [(case, label) for case, label in pairs if label != "failed"]
    right = sum(label == case.expected for case, label in judged)
    low, high = wilson(right, len(judged)) or (None, None)
    return {
        "n": len(judged),
        "right": right,
        "rate": right / len(judged) if judged else None,
        "low": low,
        "high": high,
        "noticed": sum(label != "correct" for _, label in judged),
        "failed": len(pairs) - len(judged),
    }


def _share(name: str, right: Sequence[bool]) -> dict[str, Any]:
    interval = wilson(sum(right), len(right))
    return {name: sum(right) / len(right) if right else None, f"{name}_interval": list(interval) if interval else None}


_NUMBERS = ("n", "right", "rate", "low", "high", "noticed", "failed")
_HEAD = ("planted fault", "its label", "n", "right", "rate", "from", "to", "noticed", "failed")
_SHOWN = 3  # wrong labels per fault in the page


def passport_table(passport: Passport) -> str:
    """Return the passport in Markdown: by fault, by config, then as a whole."""
    title = f"Judge {passport['judge']} ({passport['prompt_hash']}), up to {passport['n']} cases of a fault in each"
    title = f"{title} config, seed {passport['seed']}, {markdown_text(passport['rows'])}\n"
    return "\n".join([title, *(table.markdown() for table in _tables(passport))])


def passport_screen(passport: Passport) -> Table:
    """The same for a screen, a little narrower."""
    rows = []
    for fault in passport["faults"]:
        interval = interval_cell(None if fault["low"] is None else (fault["low"], fault["high"]))
        right, noticed = (f"{fault[name]}/{fault['n']}" for name in ("right", "noticed"))
        rows.append([fault["fault"], right, cell(fault["rate"]), interval, noticed])
    rows += [[share, "", cell(passport[share]), interval_cell(passport[f"{share}_interval"]), ""] for share in SHARES]
    return Table(["planted fault", "right", "rate", "95 %", "noticed"], rows, sections=[len(passport["faults"]) - 1])


def passport_page(
    run: Mapping[str, Any], passport: Passport, cases: Sequence[PlantedCase], labels: Sequence[Label]
) -> str:
    """Return the passport as one HTML page, with the content of run.json, and the label of each planted case."""
    names = ("judge", "prompt_hash", "setup", "rows", "n", "seed", "planted", "failed")
    about: dict[str, Any] = {name: passport[name] for name in names if name in passport}
    by_fault, by_config, whole = (table.html() for table in _tables(passport))
    head = ["fault", "question", "expected", "label", "memories that came back", "answer"]
    wrong = Table(head, _wrong(cases, labels), text_columns=6)
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
    faults = [[row["fault"], row["expected"].replace("_", " ")] for row in passport["faults"]]
    configs = [[row["config"]] for row in passport["configs"]]
    for line, row in zip([*faults, *configs], [*passport["faults"], *passport["configs"]], strict=True):
        line += [cell(row[name]) for name in _NUMBERS]
    shares = {share: (passport[share], *(passport[f"{share}_interval"] or (None, None))) for share in SHARES}
    return [
        Table(_HEAD, faults, text_columns=2),
        Table(["config: planted faults", *_HEAD[2:]], configs),
        Table(["share", "value", "from", "to"], [[share, *map(cell, values)] for share, values in shares.items()]),
    ]


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
    pairs = list(zip(cases, labels, strict=True))
    for fault in ALL_FAULTS:
        wrong = (pair for pair in pairs if pair[0].fault == fault and pair[1] not in (pair[0].expected, "failed"))
        for case, label in islice(wrong, _SHOWN):
            record = case.record
            names = [name.replace("_", " ") for name in (case.expected, label)]
            rows.append([fault, record.question.text, *names, " / ".join(record.memories), record.answer])
    return rows
