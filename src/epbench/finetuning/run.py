"""A fine-tuning run: its journals, and what is done once for every epoch.

`training.jsonl` has a record for each step and `measures.jsonl` one for each measured epoch, where epoch 0 is the model
before training. Both grow as the work is done, and the results are computed from them alone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.finetuning.packing import Sample, Schedule
from epbench.finetuning.ranks import Ranks, whole_models
from epbench.finetuning.recipe import Recipe
from epbench.journals.journal import Journal, read_journal
from epbench.runs import several

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

        After a restart, the steps since the last checkpoint are journaled again. `progress` is called on the main process
        with the number of steps that are done, and of the tokens of the last one.
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
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def with_speed(record: Mapping[str, Any], base: str, ranks: Ranks, *, lora: bool = False) -> dict[str, Any]:
    """Return the record of a step as it is journaled: without lengths, with tokens_per_second of all processes together.

    On CUDA devices whose peak is known, all of one kind, it has the model FLOPs utilization mfu, and mfu_causal with half
    of attention, if all weights are trained; what LoRA computes is not counted.
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
