"""What benchmarks share when several processes measure one checkpoint, of which each has a copy.

Their questions are answered in one journal, and it is said how well the checkpoint predicts given texts. What is asked, and
what the answers are worth, is the business of the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.finetuning.packing import Sample
from epbench.finetuning.ranks import Ranks
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import Journal, read_journal
from epbench.journals.records import JOURNALS
from epbench.models.protocol import Model, Request
from epbench.progress import Progress, no_progress

if TYPE_CHECKING:
    from epbench.models.hf.model import TransformersModel


def ask_together(
    folder: Path,
    requests: Sequence[Request],
    model: Model,
    ranks: Ranks,
    group_of: Callable[[Request], str],
    progress: Progress = no_progress,
) -> None:
    """Put the answers to all requests into the journal of a run; called in every process.

    Each of several processes asks about its share of the groups, whose requests may share a context, into a journal of
    its own. In the end the main process moves what is in these into the run's journal. What a killed start has left in
    them is moved at the next start, whatever number of processes it has.
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
    label = f"answers of process {ranks.index + 1} of {ranks.n}"
    ask(folder / f"answers-{ranks.index}-of-{ranks.n}.jsonl", share, model, progress, label)
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


def check_texts(texts: Mapping[str, Sequence[Sample]], model: Model) -> None:
    """Refuse texts with a sample that is longer than a model's window. No weights are needed."""
    window = model.window()
    for name, samples in texts.items():
        for sample in samples:
            if window is not None and len(sample.ids) > window:
                raise BadInput(
                    f"text {name!r}, sample {sample.id}: expected at most the {window:,} tokens of the window of "
                    f"{model.name}, got {len(sample.ids):,}"
                )


def text_perplexity(model: TransformersModel, samples: Sequence[Sample], ranks: Ranks) -> float | None:
    """Return the perplexity of the tokens of some samples that are learned; called in every process, and the same in all.

    None if no token is learned, or if a model finds them so improbable that no number is large enough.

    Raises:
        BadInput: A sample is longer than the model's window.
        RunFailed: There is no memory even for one sample.
    """
    from epbench.models.hf.likelihood import perplexity

    share = ranks.share(samples)
    learned = [[i for i, yes in enumerate(sample.learned) if yes] for sample in share]
    likelihoods = model.likelihoods.of_spans([one.ids for one in share], [{"learned": places} for places in learned])
    spans = [span for part in ranks.gather([likelihood["learned"] for likelihood in likelihoods]) for span in part]
    try:
        return perplexity(spans) if any(span.n_tokens for span in spans) else None
    except OverflowError:
        return None
