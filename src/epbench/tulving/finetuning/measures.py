"""Everything that is measured of one checkpoint: a run on the book without memory, and perplexities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import NothingToScore
from epbench.finetuning.measuring.asking import ask_together
from epbench.finetuning.measuring.perplexity import text_perplexity
from epbench.finetuning.ranks import Ranks
from epbench.journals.answers import ANSWERS, retire_others
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.runs.folder import open_run
from epbench.runs.judge import check_judge
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.finetuning.material import MEMORY
from epbench.tulving.finetuning.plan import TulvingPlan
from epbench.tulving.finetuning.summary import RUN, summary_of

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
