"""Everything that is measured of one checkpoint: a run on the book without memory, and perplexities."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import NothingToScore
from epbench.finetuning.measuring import ask_together, text_perplexity
from epbench.finetuning.ranks import Ranks
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS, retire_others
from epbench.journals.journal import read_journal
from epbench.judges.protocol import PastJudge
from epbench.judges.replies import with_failures
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.runs.folder import open_run
from epbench.runs.judge import check_judge, judge_of_scores
from epbench.runs.usage import token_usage
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.finetuning.material import MEMORY, TulvingPlan
from epbench.tulving.judging.protocol import QuestionToScore, ScoredAnswer
from epbench.tulving.judging.verdicts import judge_failures, lost_questions, read_verdicts
from epbench.tulving.scores.correction import judge_scores
from epbench.tulving.scores.run_files import read_scores
from epbench.tulving.scores.scoring import mean, question_f1, scores_or_bounds

if TYPE_CHECKING:
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

    `folder/tulving` becomes the folder of a run like any other, so that a measurement that was killed goes on where it was.
    Perplexities are computed anew.

    Args:
        model: The checkpoint. Each process has a copy, on a device of its own.
        folder: The folder of this checkpoint's measurements.
        plan: The questions and texts.
        ranks: This process among those that work together.
        about: What else run.json of the run says. A `label`, if there is one, names the checkpoint in tables; else its name
            does.
        progress: Shows a progress bar; only the main process does.

    Returns:
        In the other processes None, in the main one:
        tulving: see `summary_of`.
        perplexity: of the learned tokens of each text of the plan, by its name; None for a text without any.
        seconds: how long both took, under the same names.

    Raises:
        BadInput: The folder holds something else, or what is to be measured does not fit the model; see
            `TulvingPlan.check`.
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


def group_of(row: Row, trained: frozenset[str]) -> str:
    """Return which of `GROUPS` a question belongs to.

    Args:
        row: A row of the config `qa`.
        trained: The ids of the rows that are trained.
    """
    return TRAINED if row["id"] in trained else NOT_TRAINED if row["n_chapters"] else EMPTY


def summary_of(folder: Path, plan: TulvingPlan) -> dict[str, Any]:
    """Return the scores of a run as they are now, so that a judge that came later counts too.

    Args:
        folder: The folder of a run that has asked the questions of the plan.
        plan: The plan.

    Returns:
        The content of scores.json; without it, because no answer was judged, the bounds of all scores. And `groups`, by
        each of `GROUPS` that has questions: their number n and n_failed; the mean f1 of all of them, whatever they ask for,
        with its 95 % interval by drawing cues, or None if some have failed; and then `bounds`, from all of these wrong to all
        right, else None. And `failures`: why there is no answer or no verdict, and how often.
    """
    judge = judge_of_scores(folder)
    verdicts = read_verdicts(folder, plan.rows, judge) if judge else []
    lost = lost_questions(plan.rows, verdicts, 1)
    scores = read_scores(folder) if judge else scores_or_bounds([], lost) | judge_scores(plan.judge(), None)
    return {**scores, "groups": _groups(plan, verdicts, lost), "failures": _failures(folder, judge)}


def _failures(folder: Path, judge: PastJudge | None) -> dict[str, int]:
    answers: dict[str, int] = token_usage(with_failures(read_journal(folder / ANSWERS).values()))["failed"]
    return answers | (judge_failures(folder, judge) if judge else {})


def _groups(
    plan: TulvingPlan, verdicts: Sequence[ScoredAnswer], lost: Sequence[QuestionToScore]
) -> dict[str, dict[str, Any]]:
    trained = plan.trained_ids
    groups = {row["id"]: group_of(row, trained) for row in plan.rows}
    found = {}
    for group in GROUPS:
        judged = [one for one in verdicts if groups[one.id] == group]
        n_failed = sum(groups[one.id] == group for one in lost)
        if judged or n_failed:
            found[group] = _group(judged, n_failed)
    return found


def _group(judged: Sequence[ScoredAnswer], n_failed: int) -> dict[str, Any]:
    import numpy as np

    f1 = question_f1(judged) if judged else []
    about: dict[str, Any] = {"n": len(f1) + n_failed, "n_failed": n_failed}
    if n_failed:
        bounds = [mean([*f1, *[value] * n_failed]) for value in (0.0, 1.0)]
        return {**about, "f1": None, "interval": None, "bounds": bounds}
    values = np.array(f1)
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, values), [one.cue for one in judged])
    return {**about, "f1": mean(f1), "interval": list(interval) if interval else None, "bounds": None}
