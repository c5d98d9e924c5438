"""Everything that is measured of one checkpoint: a run on the book without memory, and perplexities."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import NothingToScore
from epbench.finetuning.measuring import ask_together, text_perplexity
from epbench.finetuning.ranks import Ranks
from epbench.journals.answers import ANSWERS, retire_others
from epbench.journals.journal import read_journal
from epbench.judges.protocol import PastJudge
from epbench.judges.replies import with_failures
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.runs.folder import open_run
from epbench.runs.judge import check_judge, judge_of_scores
from epbench.runs.question_table import read_questions
from epbench.runs.usage import token_usage
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.calibration.passport import judge_scores
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.finetuning.material import MEMORY, TulvingPlan
from epbench.tulving.judging.verdicts import judge_failures, lost_questions
from epbench.tulving.scores.run_files import COLUMNS, read_scores
from epbench.tulving.scores.scoring import mean, scores_or_bounds

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
    was. Perplexities are computed anew.

    Args:
        model: The checkpoint. Each process has a copy, on a device of its own.
        about: What else run.json of the run says. A `label`, if there is one, names the checkpoint in tables; else its
            name does.
        progress: Shows a progress bar; only the main process does.

    Returns:
        In the other processes None, in the main one:
        tulving: see `summary_of`.
        perplexity: of the learned tokens of each text of the plan, by its name; None for a text without any.
        seconds: how long both took, under the same names.

    Raises:
        BadInput: The folder holds something else, or what is to be measured does not fit the model; see `TulvingPlan.check`.
        RunFailed: Memory does not suffice for a single text.
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
    """Ask a model the questions of a plan, and have its answers judged and scored if there are any."""
    requests = plan.requests
    label = f"{MEMORY}, {about.get('label', model.name)}"
    with ExitStack() as opened:
        if ranks.main:
            noted = {**about, "dataset": plan.data.name, "book": Path(plan.data.name).name, "label": label}
            opened.enter_context(open_run(folder, plan.identity(model), noted))
            retire_others(folder / ANSWERS, requests, model)
        ask_together(folder, requests, model, ranks, attrgetter("id"), progress)
        if not ranks.main:
            return
        judge = plan.judge()
        check_judge(folder, judge)
        try:
            chapters = plan.data.book.chapters
            judge_and_score(folder, plan.rows, judge, label, limit=plan.limit, progress=progress, chapters=chapters)
        except NothingToScore:  # a model that was never trained may not end any answer
            return


RUN = "tulving"
"""The folder of the run among the measurements of a checkpoint."""

TRAINED, NOT_TRAINED, EMPTY = GROUPS = ("trained", "not_trained", "empty")
"""Questions that are trained word for word, others that the book answers, and those about what never happened."""


def summary_of(folder: Path, plan: TulvingPlan) -> dict[str, Any]:
    """Return the scores of a run as they are now, so that a judge that came later counts too.

    Returns:
        The content of scores.json; without it, because no answer was judged, the bounds of all scores. And `groups`, by
        each of `GROUPS` that has questions: their number n and n_failed; the mean f1 of all of them, whatever they ask for,
        with its 95 % interval by drawing cues, or None if some have failed; and then `bounds`, from all of these wrong to all
        right, else None. And `failures`: why there is no answer or no verdict, and how often.
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
    return {**scores, "groups": by_group, "failures": _failures(folder, judge)}


def _failures(folder: Path, judge: PastJudge | None) -> dict[str, int]:
    answers: dict[str, int] = token_usage(with_failures(read_journal(folder / ANSWERS).values()))["failed"]
    return answers | (judge_failures(folder, judge) if judge else {})


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
