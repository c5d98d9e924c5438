"""A fine-tuning run: its journals, and what is measured once for every epoch, by several processes together.

`training.jsonl` has a record for each step and `measures.jsonl` one for each measured epoch, where epoch 0 is the model
before training. Both grow as the work is done, and the results are computed from them alone. What is asked of a checkpoint,
and what the answers are worth, is the business of the benchmarks.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.finetuning.launching import Ranks, whole_models
from epbench.finetuning.packing import Sample, Schedule
from epbench.finetuning.recipe import Recipe
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import JOURNALS, Journal, read_journal
from epbench.models.protocol import Model, Request
from epbench.progress import Progress, no_progress
from epbench.runs import several

if TYPE_CHECKING:
    from epbench.models.hf.model import TransformersModel

TRAINING = "training.jsonl"
MEASURES = "measures.jsonl"

Record = dict[str, Any]
Measure = Callable[[str, Path], "Record | None"]
"""Measures the model in a folder, or of a name, and may leave files in another folder. Every process calls it; the main
one gets the record."""


class TuningRun:
    """The journals of one run."""

    def __init__(self, out: Path, ranks: Ranks, base: str, measure: Measure) -> None:
        self._out, self._ranks, self._base, self._measure = out, ranks, base, measure
        self._training = Journal(out / TRAINING) if ranks.main else None

    def train(
        self,
        recipe: Recipe,
        tokenizer: Any,
        samples: Sequence[Sample],
        schedule: Schedule,
        progress: Callable[[int, int], None],
    ) -> None:
        """Train the model, journal every step, and measure every checkpoint; see `epbench.finetuning.trainer.train`.

        Steps since the last checkpoint are journaled again after a restart. `progress` is called on the main process with the
        number of steps that are done, and of the tokens of the last one.
        """
        from epbench.finetuning.trainer import Training, train

        def after_step(record: Record) -> None:
            assert self._training is not None
            step = with_speed(record, self._base, self._ranks, lora=recipe.lora_r > 0)
            self._training.add(str(step["step"]), **step)
            progress(step["step"], step["tokens"])

        train(
            Training(
                base=self._base,
                tokenizer=tokenizer,
                samples=samples,
                schedule=schedule,
                recipe=recipe,
                out=self._out,
                ranks=self._ranks,
                after_step=after_step,
                after_epoch=self.measure,
            )
        )

    def measure(self, epoch: int, checkpoint: Path | None = None) -> None:
        """Measure a checkpoint, unless that has been done; without a checkpoint, measure the model before training."""
        self._ranks.wait()
        if str(epoch) not in read_journal(self._out / MEASURES):
            if checkpoint is not None and not (checkpoint / "config.json").is_file():
                raise BadInput(
                    f"{checkpoint}: the checkpoint of epoch {epoch} is gone, but not its training state; put it back, or "
                    f"remove {self._out} and train again"
                )
            folder = measured_folder(self._out, epoch)
            _release()  # what training has left of the memory of its last step
            with whole_models():
                record = self._measure(self._base if checkpoint is None else str(checkpoint), folder)
            if self._ranks.main:
                assert record is not None
                journal = Journal(self._out / MEASURES)
                journal.add(str(epoch), epoch=epoch, **record)
                journal.close()
            _release()
        self._ranks.wait()

    def measures(self) -> list[Record]:
        """Return the records of all measured epochs, by epoch and without their keys."""
        return _in_order(read_journal(self._out / MEASURES), "epoch")

    def steps(self) -> list[Record]:
        """Return the records of all steps, by step and without their keys."""
        return _in_order(read_journal(self._out / TRAINING), "step")


def measured_folder(out: Path, epoch: int) -> Path:
    """Return where the runs lie that measure an epoch; each is an ordinary run of its benchmark."""
    return out / several.MEASURES / f"epoch-{epoch}"


def _in_order(records: Mapping[str, Mapping[str, Any]], name: str) -> list[Record]:
    plain = [{field: value for field, value in record.items() if field != "key"} for record in records.values()]
    return sorted(plain, key=lambda record: record[name])


def _release() -> None:
    """Give back the memory that no tensor uses any more."""
    from epbench.models.hf.prefix_rows import release

    gc.collect()
    release()


def with_speed(record: Mapping[str, Any], base: str, ranks: Ranks, *, lora: bool = False) -> dict[str, Any]:
    """Return the record of a step as it is journaled: without lengths, with tokens_per_second of all processes together.

    On CUDA devices whose peak is known it has `cost.utilization`, as mfu and mfu_causal, unless only LoRA is trained.
    """
    import torch

    step = {name: value for name, value in record.items() if name != "lengths"}
    step["tokens_per_second"] = round(record["tokens"] / record["seconds"], 1)
    if torch.cuda.is_available() and not lora:
        from epbench.finetuning.cost import utilization

        device = torch.cuda.get_device_name()
        if measured := utilization(_config(base), record["lengths"], record["seconds"], device, ranks.n):
            step |= {"mfu": measured.mfu, "mfu_causal": measured.causal}
    return step


@cache
def _config(base: str) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(base, trust_remote_code=False).get_text_config()


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
    its own. The main process moves what is in these into the run's journal: in the end, and at the start what a killed one left.
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
    window = model.window() or math.inf
    for name, samples in texts.items():
        for sample in samples:
            if len(sample.ids) > window:
                raise BadInput(
                    f"text {name!r}, sample {sample.id}: expected at most the {window:,} tokens of the window of "
                    f"{model.name}, got {len(sample.ids):,}"
                )


def text_perplexity(model: TransformersModel, samples: Sequence[Sample], ranks: Ranks) -> float | None:
    """Return the perplexity of the tokens of some samples that are learned; called in every process, and the same in all.

    None if no token is learned, or if they are so improbable that no number is large enough. It raises what `Likelihoods` does.
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
