"""The questions of one run, asked by several processes that each have a copy of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from epbench.finetuning.ranks import Ranks
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import Journal, read_journal
from epbench.journals.records import JOURNALS
from epbench.models.protocol import Model, Request
from epbench.progress import Progress, no_progress


def ask_together(
    folder: Path,
    requests: Sequence[Request],
    model: Model,
    ranks: Ranks,
    group_of: Callable[[Request], str],
    progress: Progress = no_progress,
) -> None:
    """Put the answers to all requests into the journal of a run; called in every process.

    Each of several processes asks about its share of the groups, into a journal of its own. In the end the main process
    moves what is in these into the run's journal. What a killed start has left in them is moved at the next start, whatever
    number of processes it has.

    Args:
        folder: The run's folder, which the main process has opened.
        requests: The requests, the same in all processes.
        model: The model that answers.
        ranks: This process among those that work together.
        group_of: The name of a request's group. Requests of one group, which may share a context, are asked by one process.
        progress: Shows a progress bar.
    """
    if ranks.main:
        _join(folder)
    ranks.wait()
    if ranks.n == 1:
        ask(folder / ANSWERS, requests, model, progress)
        return
    answers = read_journal(folder / ANSWERS)
    waiting: dict[str, list[Request]] = {}
    for request in requests:
        record = answers.get(request.key(model.identity))
        if record is None or record.get("failure") is not None:
            waiting.setdefault(group_of(request), []).append(request)
    share = [request for group in ranks.share(list(waiting.values())) for request in group]
    what = f"answers of process {ranks.index + 1} of {ranks.n}"
    ask(folder / f"answers-{ranks.index}-of-{ranks.n}.jsonl", share, model, progress, what)
    ranks.wait()
    if ranks.main:
        _join(folder)


def _join(folder: Path) -> None:
    """Move the records of the processes' journals into the run's; a question that any of them answered is answered."""
    parts = sorted(folder.glob("answers-*-of-*.jsonl"))
    if parts:
        answers = Journal(folder / ANSWERS)
        for part in parts:
            for record in read_journal(part, JOURNALS[ANSWERS]).values():
                if not answers.done(record["key"]):
                    answers.add(**record)
        answers.close()
    for part in parts:
        part.unlink()
