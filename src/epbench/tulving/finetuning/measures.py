"""Everything that is measured of one checkpoint, a run on the book without memory and perplexities, and what a training shows.

The measures by epoch become scores, tables, and a page with one figure. Paper: Section 5.1 (Table 3) and Appendix B.2.5.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import NothingToScore
from epbench.finetuning.curves import Series, curves, perplexity_table, training_page, training_summary
from epbench.finetuning.launching import Ranks
from epbench.finetuning.run import ask_together, text_perplexity
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS, retire_others
from epbench.journals.journal import read_journal
from epbench.judges.replies import with_failures
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.reports.tables import Table
from epbench.runs.benchmark import read_questions
from epbench.runs.folder import check_judge, judge_of_scores, open_run
from epbench.runs.usage import token_usage
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.calibration.passport import judge_scores
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.finetuning.material import MEMORY, TulvingPlan
from epbench.tulving.judging.verdicts import judge_failures, lost_questions
from epbench.tulving.questions.generate import BINS
from epbench.tulving.scores.run_files import COLUMNS, read_scores
from epbench.tulving.scores.scoring import mean, scores_or_bounds
from epbench.tulving.scores.tables import judge_lines, n_in_bin, narrow_cell

if TYPE_CHECKING:
    import pandas as pd

    from epbench.models.hf.model import TransformersModel


def measure(
    model: TransformersModel,
    folder: Path,
    plan: TulvingPlan,
    ranks: Ranks,
    about: Mapping[str, Any],
    progress: Progress = no_progress,
) -> dict[str, Any] | None:
    """Measure a checkpoint; called in every process that works together, with the same plan.

    `folder/tulving` becomes the folder of a run like any other, so that a measurement that was killed goes on where it
    was. Perplexities are computed anew. `about` is what else its run.json says; a `label` in it names the checkpoint in tables.

    Returns in the other processes None, in the main one: tulving, see `summary_of`; perplexity, of the learned tokens of each
    text of the plan, by its name, None for a text without any; and seconds, how long both took, under the same names. BadInput
    if the folder holds something else, or what is to be measured does not fit the model (see `TulvingPlan.check`); RunFailed if
    memory does not suffice for a single text.
    """
    plan.check(model)
    started = time.monotonic()
    _run(model, folder / RUN, plan, ranks, about, progress if ranks.main else no_progress)
    asked = time.monotonic()
    perplexities = {name: text_perplexity(model, samples, ranks) for name, samples in plan.texts.items()}
    if not ranks.main:
        return None
    seconds = {RUN: round(asked - started, 3), "perplexity": round(time.monotonic() - asked, 3)}
    return {RUN: summary_of(folder / RUN, plan), "perplexity": perplexities, "seconds": seconds}


def _run(
    model: Model, folder: Path, plan: TulvingPlan, ranks: Ranks, about: Mapping[str, Any], progress: Progress
) -> None:
    requests = plan.requests
    label = f"{MEMORY}, {about.get('label', model.name)}"
    with ExitStack() as opened:
        if ranks.main:
            noted = {**about, "dataset": plan.data.name, "book": Path(plan.data.name).name, "label": label}
            opened.enter_context(open_run(folder, plan.reading.run_identity(plan.data, model), noted))
            retire_others(folder / ANSWERS, requests, model)
        ask_together(folder, requests, model, ranks, attrgetter("id"), progress)
        if not ranks.main:
            return
        judge = plan.judge()
        check_judge(folder, judge)
        with suppress(NothingToScore):  # a model that was never trained may not end any answer
            chapters = plan.data.book.chapters
            judge_and_score(folder, plan.rows, judge, label, limit=plan.limit, progress=progress, chapters=chapters)


RUN = "tulving"
"""The folder of the run among the measurements of a checkpoint."""

TRAINED, NOT_TRAINED, EMPTY = GROUPS = ("trained", "not_trained", "empty")
"""Questions that are trained word for word, others that the book answers, and those about what never happened."""


def summary_of(folder: Path, plan: TulvingPlan) -> dict[str, Any]:
    """Return the scores of a run as they are now, so that a judge that came later counts too.

    They are the content of scores.json; without it, because no answer was judged, the bounds of all scores. And `groups`, by
    each of `GROUPS` that has questions: their number n and n_failed; the mean f1 of all of them, whatever they ask for, with
    its 95 % interval by drawing cues, or None if some have failed; and then `bounds`, from all of these wrong to all right,
    else None. And `failures`: why there is no answer or no verdict, and how often.
    """
    import pandas as pd

    judge = judge_of_scores(folder)
    if judge:
        scores, table = read_scores(folder), read_questions(folder, COLUMNS)
    else:
        lost = lost_questions(plan.rows, (), 1)
        scores = scores_or_bounds((), lost) | judge_scores(plan.judge(), None)
        table = pd.DataFrame([{"id": row["id"], "n_chapters": row["n_chapters"], "f1": math.nan} for row in plan.rows])
    trained = plan.trained_ids
    asked = zip(table["id"], table["n_chapters"], strict=True)
    groups = [TRAINED if id_ in trained else NOT_TRAINED if n else EMPTY for id_, n in asked]
    parts = {group: table[[one == group for one in groups]] for group in GROUPS}
    by_group = {group: _group(part) for group, part in parts.items() if len(part)}
    failures: dict[str, int] = token_usage(with_failures(read_journal(folder / ANSWERS).values()))["failed"]
    failures |= judge_failures(folder, judge) if judge else {}
    return {**scores, "groups": by_group, "failures": failures}


def _group(questions: pd.DataFrame) -> dict[str, Any]:
    f1 = questions["f1"].dropna()
    n_failed = len(questions) - len(f1)
    about: dict[str, Any] = {"n": len(questions), "n_failed": n_failed}
    if n_failed:
        bounds = [mean([*f1, *[value] * n_failed]) for value in (0.0, 1.0)]
        return {**about, "f1": None, "interval": None, "bounds": bounds}
    cues = questions[["time", "space", "entity", "content"]].fillna("").itertuples(index=False, name=None)
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, f1.to_numpy()), list(cues))
    return {**about, "f1": mean(f1.tolist()), "interval": list(interval) if interval else None, "bounds": None}


Record = Mapping[str, Any]

_GROUPS = {TRAINED: "trained", NOT_TRAINED: "not trained", EMPTY: "never happened"}
_GROUPS_NOTE = (
    "Mean F1 of all questions that were asked, whatever they ask for: those that were trained word for word, others that the "
    "book answers, and those about what never happened."
)
_PERPLEXITY_NOTE = "Of the answers that were trained, and of a text that never was: it shows what the model forgets."


def scores_of(measures: Sequence[Record], steps: Sequence[Record], plan: TulvingPlan, method: str) -> dict[str, Any]:
    """Put together the content of scores.json, from the measures by `epoch` and the records of training.jsonl."""
    ids = plan.trained_ids
    asked = _by_bin(plan.rows)
    trained = _by_bin([row for row in plan.rows if row["id"] in ids])
    return {
        "method": method,
        "n_trained": len(plan.trained),
        "asked_by_bin": asked,
        "trained_by_bin": trained,
        "epochs": [dict(record) for record in measures],
        "training": training_summary(steps),
        "warnings": _warnings(asked, trained),
    }


def _by_bin(rows: Sequence[Row]) -> dict[str, int]:
    counts = Counter(row["bin"] for row in rows)
    return {bin_: counts[bin_] for bin_ in BINS if counts[bin_]}


def _warnings(asked: Mapping[str, int], trained: Mapping[str, int]) -> list[str]:
    if trained.get("1", 0) == asked.get("1", 0):
        return []
    return [
        f"of {asked['1']} questions of bin 1, {trained.get('1', 0)} are trained word for word; the others ask for facts that "
        "were trained in other words, as those of a published book do, so scores differ from those of the paper"
    ]


def what_was_trained(scores: Record) -> list[str]:
    """Say which bins were trained, and so what each of them shows."""
    asked, trained = scores["asked_by_bin"], scores["trained_by_bin"]
    lines = [f"{scores['n_trained']:,} questions about one chapter each were trained, with their answers."]
    if asked.get("1") and trained.get("1") == asked["1"]:
        lines.append(
            "All questions of bin 1 are among them, so this bin shows what was memorised word for word, and not "
            "what is remembered."
        )
    if others := [bin_ for bin_ in asked if bin_ not in ("0", "1") and not trained.get(bin_)]:
        lines.append(
            f"No question of bins {', '.join(others)} was trained: they show whether the model can put together facts that "
            "it was trained on one by one."
        )
    if asked.get("0") and not trained.get("0"):
        lines.append(
            "Bin 0 asks for what never happened, and nothing of it was trained: it shows whether the model confabulates."
        )
    return lines


def tables(scores: Record) -> list[Table]:
    """F1 by bin, trained questions and others, and perplexities: a row for each measured epoch, and what they mean."""
    epochs = scores["epochs"]
    runs = {str(record["epoch"]): record[RUN] for record in epochs}
    bins = [bin_ for bin_ in BINS if any(bin_ in run["n_by_bin"] for run in runs.values())]
    names = [*(f"f1_by_bin.{bin_}" for bin_ in bins), "simple_recall_score", "latest"]
    head = [*(f"{bin_} ({n_in_bin(runs, bin_)})" for bin_ in bins), "simple recall", "latest"]
    rows = [[epoch, *(narrow_cell(run, name) for name in names)] for epoch, run in runs.items()]
    method = f"Method: {scores['method']}. Epoch 0 is the model before training."
    notes = [method, *what_was_trained(scores), *_notes(runs)]
    return [
        Table(["epoch", *head], rows, "F1 by matching chapters", notes),
        _groups_table(runs),
        perplexity_table(epochs, [_PERPLEXITY_NOTE], episodic=False),
    ]


def _notes(runs: Mapping[str, Record]) -> list[str]:
    """What is missing after which epoch and why, and who judged."""
    lines = []
    for epoch, run in runs.items():
        if run["n_failed"]:
            reasons = "; ".join(f"{n} times {reason}" for reason, n in run["failures"].items())
            lines.append(
                f"Epoch {epoch}: {run['n_failed']} of {run['n_questions']} questions have no answer or verdict ({reasons})."
            )
    if lines:
        lines.append("* A range, from all questions without an answer or verdict wrong to all of them right.")
    return [*lines, *judge_lines({f"epoch {epoch}": run for epoch, run in runs.items()})]


def _groups_table(runs: Mapping[str, Record]) -> Table:
    counts = {group: part["n"] for run in runs.values() for group, part in run["groups"].items()}
    groups = [group for group in _GROUPS if group in counts]
    cells = {epoch: [_group_cell(run["groups"][group]) for group in groups] for epoch, run in runs.items()}
    rows = [[epoch, *cells[epoch], str(run["n_failed"])] for epoch, run in runs.items()]
    head = ["epoch", *(f"{_GROUPS[group]} ({counts[group]})" for group in groups), "failed"]
    return Table(head, rows, "Trained questions and others", [_GROUPS_NOTE])


def _group_cell(group: Record) -> str:
    if group["bounds"]:
        low, high = group["bounds"]
        return f"{low:.3f}– {high:.3f}*"
    interval = group["interval"]
    return f"{group['f1']:.3f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else "")


def html_report(title: str, run: Record, scores: Record) -> str:
    """The page of a run, from the contents of run.json and scores.json."""
    return training_page(title, run, scores, figure(scores) + "".join(table.html() for table in tables(scores)))


def figure(scores: Record) -> str:
    """Draw F1 by bin and perplexities, by epoch. A bin in which questions have failed has no value at that epoch."""
    records = scores["epochs"]
    runs = [record[RUN] for record in records]
    bins = [bin_ for bin_ in BINS if any(bin_ in run["n_by_bin"] for run in runs)]
    remembered = []
    for bin_ in bins:
        name = f"bin {bin_}{', trained' if scores['trained_by_bin'].get(bin_) else ''}"
        intervals = [run["intervals"].get(f"f1_by_bin.{bin_}") for run in runs]
        remembered.append(Series(name, [run["f1_by_bin"].get(bin_) for run in runs], intervals))
    perplexities = [record["perplexity"] for record in records]
    return curves([record["epoch"] for record in records], remembered, perplexities, episodic=False)
