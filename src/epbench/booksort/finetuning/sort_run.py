"""An ordinary run of SORT, asked by several processes that each have a copy of the model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from epbench.booksort.dataset.load import group_of
from epbench.booksort.finetuning.plan import SortPlan
from epbench.booksort.scores.comparison import read_outcomes
from epbench.booksort.scores.results import finish
from epbench.finetuning.measuring.asking import ask_together
from epbench.finetuning.ranks import Ranks
from epbench.models.protocol import Model
from epbench.runs.answers import Progress, no_progress
from epbench.runs.folder import open_run
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean


def sort_run(
    model: Model,
    folder: Path,
    plan: SortPlan,
    memory: str,
    ranks: Ranks,
    about: Mapping[str, Any],
    progress: Progress = no_progress,
) -> dict[str, Any] | None:
    """Ask a model the questions of a plan, and score its answers; called in every process.

    The folder becomes that of a run like any other. What was answered is not asked again, whatever number of processes
    asked it.

    Args:
        model: The model; each process has its own copy.
        folder: The run's folder, the same for all processes.
        plan: The questions.
        memory: `none` or `in-context`.
        ranks: This process among those that work together.
        about: What else run.json says. A `label`, if there is one, names the checkpoint in tables; else its name does.
        progress: Shows a progress bar.

    Returns:
        In the main process what `summary_of` returns, in the others None.

    Raises:
        BadInput: The folder holds another run or other files, or another process is at work in it. Only the main process
            finds this out; whoever has started the others has to end them.
        RunFailed: There is no answer.
    """
    requests = plan.requests(memory)
    label = f"{memory}, {about.get('label', model.name)}"
    with ExitStack() as opened:
        if ranks.main:
            noted = {**about, "dataset": plan.dataset, "label": label, "limit": plan.limit}
            opened.enter_context(open_run(folder, plan.identity(memory, model), noted))
        excerpts = {pair.id: group_of(pair) for pair in plan.pairs}
        ask_together(folder, requests, model, ranks, lambda request: excerpts[request.id], progress)
        if not ranks.main:
            return None
        scores = finish(folder, plan.pairs, {request.id: request.key(model.identity) for request in requests}, label)
        return summary_of(folder, scores)


def summary_of(folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is followed from checkpoint to checkpoint.

    Args:
        folder: The folder of a run that has ended.
        scores: Its scores.

    Returns:
        accuracy, with its 95 % interval by drawing excerpts; greedy_accuracy; label_mass; log_ratio, the mean of
        log(p(right) / (p(A) + p(B))) in nats, with log_ratio_interval likewise; and the numbers n of answered and n_failed
        of failed questions. What is unknown is None: the accuracies, if questions have failed.
    """
    import numpy as np

    known = [(one.log_ratio, one.excerpt) for one in read_outcomes(folder) if one.log_ratio is not None]
    ratios = np.array([ratio for ratio, _ in known])
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, ratios), [excerpt for _, excerpt in known])
    return {
        "accuracy": scores["accuracy"],
        "interval": scores["intervals"].get("accuracy"),
        "greedy_accuracy": scores["greedy_accuracy"],
        "label_mass": scores["label_mass"],
        "log_ratio": float(ratios.mean()) if known else None,
        "log_ratio_interval": list(interval) if interval else None,
        "n": scores["n_questions"],
        "n_failed": scores["n_failed"],
    }
