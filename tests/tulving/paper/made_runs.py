"""Runs of the lexical reader on short template books of several seeds, really made, and runs of which some questions failed."""

from __future__ import annotations

import json
import shutil
from itertools import chain
from pathlib import Path
from random import Random

from epbench.journals.answers import ANSWERS
from epbench.runs.folder import open_run
from epbench.tulving.dataset.load import load_book
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.paper.inputs import PaperRun, read_runs
from tests.tulving.plain_questions import plain_questions, records_in

EVALUATE = "eval_scripts/tulving.py"


def make_run(script, dataset: Path, memory: str, out: Path, *more: object) -> None:
    done = script(EVALUATE, "--dataset", dataset, "--memory", memory, "--out", out, *more)
    assert done.returncode == 0, done.stderr


def make_inventing_run(script, dataset: Path, out: Path) -> None:
    """A run on answers that name most true items, and true items of another question of the kind beside them."""
    rows = load_book(str(dataset)).rows
    other = {row["trace"]: ", ".join(row["answer"][:2]) for row in rows if row["answer"]}
    invented = [", ".join([*row["answer"][: 1 + number % 2], other[row["trace"]]]) for number, row in enumerate(rows)]
    said = [answer if number % 3 else "I do not know." for number, answer in enumerate(invented)]
    lines = [json.dumps({"id": row["id"], "answer": answer}) for row, answer in zip(rows, said, strict=True)]
    out.mkdir(parents=True)
    (out / "made.jsonl").write_text("\n".join(lines))
    done = script(EVALUATE, "--dataset", dataset, "--answers", out / "made.jsonl", "--out", out / "inventing")
    assert done.returncode == 0, done.stderr


def make_book(script, out: Path, *more: object) -> None:
    done = script("builders/tulving.py", "--book", "short", *more, "--out", out)
    assert done.returncode == 0, done.stderr


def rows_of(run: PaperRun | Path):
    """The rows of the dataset of a run."""
    folder = run if isinstance(run, Path) else run.folder
    return load_book(json.loads((folder / "run.json").read_text())["dataset"]).rows


def plain(run: PaperRun, repeats: int = 1):
    """Each time that a question was asked: its row, and its columns computed anew, or None if it has failed."""
    rows = {row["id"]: row for row in rows_of(run)}
    found = plain_questions(run.folder, rows.values(), repeats)
    return [(rows[id_], question) for (id_, _), question in found.items()]


def without_answers(run: PaperRun, out: Path, lost) -> PaperRun:
    """A copy of a run whose reader has failed on the questions of which `lost` says so, scored again."""
    shutil.copytree(run.folder, out)
    rows = rows_of(out)
    ids = {row["id"] for row in rows if lost(row)}
    assert ids
    records = records_in(out / ANSWERS).values()
    kept = [
        r if r["id"] not in ids else {k: r[k] for k in ("key", "id", "repeat")} | {"failure": "429"} for r in records
    ]
    (out / ANSWERS).write_text("".join(json.dumps(record) + "\n" for record in kept))
    (out / "checksums.json").unlink()  # the records are edited
    with open_run(out, {}, {}) as folder:
        judge_and_score(folder, rows, LexicalJudge(), run.label)
    return read_runs([out])[0]


def mean(values):
    return sum(values) / len(values)


def deviation(values):
    return (
        (sum((value - mean(values)) ** 2 for value in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else None
    )


def plain_interval(values, clusters, draws=1500):
    """The 95 % interval of a mean by drawing clusters, with Python's own random numbers."""
    of = {}
    for value, cluster in zip(values, clusters, strict=True):
        of.setdefault(cluster, []).append(value)
    random, parts = Random(7), list(of.values())
    means = sorted(mean(list(chain(*random.choices(parts, k=len(parts))))) for _ in range(draws))
    return means[round(0.025 * draws)], means[round(0.975 * draws) - 1]
