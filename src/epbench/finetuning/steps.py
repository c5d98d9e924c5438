"""One step of the optimizer: rows of packed samples as tensors, and the gradients of their mean loss.

The loss of a step is the mean over its learned tokens, on all processes together. (The reference implementation averages
the means of its micro-batches, so that a token of a short sample counts more.) The trainer of transformers has this mean for a
fixed number of micro-batches; ours varies with the rows of a step. Importing this module imports torch and transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from transformers import DataCollatorWithFlattening

from epbench.finetuning.packing import Row, Sample, Schedule

_IGNORED = -100
# The first token of a sample has no label, since nothing comes before it.
_FLATTENED: Any = DataCollatorWithFlattening(return_tensors="pt", separator_id=_IGNORED)  # type: ignore[no-untyped-call]


class StepLoader:
    """The steps of an epoch, in place of a data loader of torch.

    A step is `{"rows": tensors of this process, "n_learned": tokens that are learned on all processes, "n_tokens": …,
    "lengths": of its samples}`.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        schedule: Schedule,
        *,
        batch_size: int,
        row_tokens: int,
        rank: int = 0,
        n_ranks: int = 1,
    ) -> None:
        self.dataset = samples
        self._schedule, self._batch_size, self._rank = schedule, batch_size, rank
        self._shape = batch_size, row_tokens, n_ranks
        self._lengths = [len(sample.ids) for sample in samples]
        self._learned = [sample.n_learned for sample in samples]
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration goes over, counted from 0."""
        self._epoch = epoch

    def __len__(self) -> int:
        return -(-len(self._schedule.order(0)) // self._batch_size)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for step in self._schedule.steps(self._epoch, self._lengths, *self._shape):
            yield {
                "rows": [row_tensors(self.dataset, row) for row in step.rows[self._rank]],
                "n_learned": sum(self._learned[i] for i in step.samples),
                "n_tokens": sum(self._lengths[i] for i in step.samples),
                "lengths": [self._lengths[i] for i in step.samples],
            }


def row_tensors(samples: Sequence[Sample], row: Row) -> dict[str, torch.Tensor]:
    """Lay samples one after the other, as input_ids, position_ids and labels of shape (1, tokens), without attention mask.

    Positions start anew in every sample, which is how transformers recognises packed texts, so that no sample sees another
    one. A token that is not learned has the label -100; labels are not shifted. In an empty row none of two tokens is learned.
    """
    chosen = [samples[i] for i in row] or [Sample("", "text", [0, 0], [False, False])]
    features = []
    for one in chosen:
        labels = [id_ if learned else _IGNORED for id_, learned in zip(one.ids, one.learned, strict=True)]
        features.append({"input_ids": list(one.ids), "labels": labels})
    tensors: dict[str, torch.Tensor] = _FLATTENED(features)
    return tensors


def accumulate(
    model: Any,
    rows: Sequence[dict[str, torch.Tensor]],
    n_learned: int,
    backward: Callable[[torch.Tensor, bool], None],
    waiting: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> torch.Tensor:
    """Read the rows of a step one by one, add up the gradients of its loss, and return this process's part of it.

    The parts of all processes add up to the loss, in nats a token; `n_learned` is over all processes. `backward` gets the loss,
    and whether this is the last row. All others are read in `waiting`, in which processes do not exchange gradients yet.
    """
    total = torch.zeros((), device=rows[0]["input_ids"].device)
    for i, row in enumerate(rows):
        last = i == len(rows) - 1
        with nullcontext() if last else waiting():
            loss = _summed_loss(model, row) / n_learned
            backward(loss, last)
        total += loss.detach()
    return total


def _summed_loss(model: Any, row: dict[str, torch.Tensor]) -> torch.Tensor:
    """The loss of a row, summed over its learned tokens. Nothing here keeps the logits until the backward pass."""
    logits = model(input_ids=row["input_ids"], position_ids=row["position_ids"], use_cache=False).logits
    targets = row["labels"][0, 1:]
    return torch.nn.functional.cross_entropy(logits[0, :-1].float(), targets, ignore_index=_IGNORED, reduction="sum")
