"""Check a judge: have it diagnose planted faults like the records of any run, and write its passport and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epbench.errors import BadInput, RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.writing import write_text
from epbench.journals.journal import read_journal
from epbench.judges.model import name_without_weights
from epbench.judges.people import with_people
from epbench.judges.protocol import JUDGEMENTS, failures_of
from epbench.memfail.calibration.faults import PlantedCase, planted_cases
from epbench.memfail.calibration.passport import (
    PASSPORT,
    Passport,
    make_passport,
    passport_page,
    passport_path,
    passport_table,
)
from epbench.memfail.dataset.load import QuestionRecord, check_config, facts_to_store, load_memfail, questions_of
from epbench.memfail.dataset.schema import complete
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import Judge, every_check
from epbench.memfail.templates.rows import make_rows
from epbench.progress import Progress
from epbench.runs.usage import commonest

FEWEST = 20  # a rate over fewer cases says little


def planted_set(configs: Sequence[str], n: int, seed: int, *, dataset: str | None, rows: int) -> list[PlantedCase]:
    """Plant every fault into the rows of some configs.

    Args:
        configs: Names of configs, each once.
        n: The largest number of cases of each fault in each config, at least 20.
        seed: The seed of the cases, and of rows from templates.
        dataset: Name on the Hub, or a folder; None makes rows from templates.
        rows: How many rows are made of each config.

    Raises:
        BadInput: n is below 20, or rows cannot be read or made.
    """
    if n < FEWEST:
        raise BadInput(f"planted faults: expected at least {FEWEST} of each, got {n}")
    cases = []
    for config in configs:
        check_config(config)
        if dataset is None:
            generated = complete(config, make_rows(config, rows, seed))
            questions, facts = questions_of(config, generated), facts_to_store(config, generated)
        else:
            loaded = load_memfail(dataset, config)
            questions, facts = loaded.questions, loaded.facts
        cases += planted_cases(config, questions, facts, n, seed)
    return cases


def plan_lines(judge: Judge, cases: Sequence[PlantedCase]) -> list[str]:
    """What the check costs at most: every stage of every case, as if the judge found no fault before the last one.

    Raises:
        BadInput: A check does not fit the judge's window.
    """
    checks = list({check.key(judge): check for check in every_check(*_told_apart(cases))}.values())
    kinds = len({case.fault for case in cases})
    who = f"judge {name_without_weights(judge)}: {len(cases):,} cases of {kinds} kinds"
    who, most = f"{who}, at most {len(checks):,} verdicts", judge.plan(checks)
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

    Raises:
        RunFailed: There is no verdict at all.
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
