"""Whole texts as rows of tokens, read in batches as large as memory allows. Importing this module imports torch.

Unlike the questions that `shared_prefix` answers, rows have nothing in common and nothing is generated: each is read once.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from epbench.errors import BadInput, RunFailed
from epbench.models.hf.device_memory import fitting_chunk, free_bytes, release
from epbench.models.hf.prefix_rows import Forward
from epbench.models.hf.prefix_strategies import reads_at_once

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows that are read together.

    Attributes:
        members: The number of each row in the call.
        lengths: The number of tokens in each row.
        inputs: What the model's forward call takes: `input_ids`, padded on the right, and for rows of different lengths
            `attention_mask`.
    """

    members: Sequence[int]
    lengths: Sequence[int]
    inputs: dict[str, Any]

    @property
    def ids(self) -> torch.Tensor:
        """The token ids, (rows, longest row)."""
        ids: torch.Tensor = self.inputs["input_ids"]
        return ids


class RowBatches:
    """Reads rows of tokens with one causal language model.

    Args:
        model: A causal language model of transformers with its weights on a device. While rows are read it is in
            evaluation mode; afterwards every module is in the mode that it was in.
        window: The largest number of tokens in a row; None if there is no limit.
        tokens: The largest number of tokens that are read at one time, padding included; a longer row is read alone. By
            default as many as fit in memory, at most 8192. It is halved for good whenever memory runs out.
    """

    def __init__(self, model: Any, *, window: int | None = None, tokens: int | None = None) -> None:
        self.model, self.window, self.tokens = model, window, tokens
        self.keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def read(self, rows: Sequence[Sequence[int]], compute: Callable[[Batch], Sequence[T]]) -> list[T]:
        """Pass batches of rows to a function, and return what it has made of each row, in the order of the rows.

        Args:
            rows: The token ids of each row.
            compute: Calls the model on a batch, and returns something for each of its rows.

        Raises:
            BadInput: A row has no token, or more than the window. Nothing is cut.
            RunFailed: There is no memory even for one row.
        """
        self._check(rows)
        found: list[Any] = [None] * len(rows)
        # With the longest first, memory runs out at once if it does, and neighbours need little padding.
        waiting = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
        with _evaluating(self.model), torch.inference_mode():
            while waiting:
                members = self._next(waiting, rows)
                try:
                    results = compute(self._batch(members, rows))
                except torch.OutOfMemoryError:
                    results = []
                if results:
                    for i, result in zip(members, results, strict=True):
                        found[i] = result
                    waiting = waiting[len(members) :]
                    continue
                release()
                longest = len(rows[members[0]])
                if len(members) == 1:
                    raise RunFailed(f"no memory to read a text of {longest:,} tokens; use a device with more memory")
                self.tokens = longest * len(members) // 2
                log.info(
                    "out of memory with %d texts at a time: at most %d tokens from now on", len(members), self.tokens
                )
        return found

    def _check(self, rows: Sequence[Sequence[int]]) -> None:
        for number, row in enumerate(rows):
            if not row:
                raise BadInput(f"text {number}: expected at least one token, got none")
            if self.window is not None and len(row) > self.window:
                raise BadInput(
                    f"text {number}: expected at most the {self.window:,} tokens of the model's window, got {len(row):,}"
                )

    def _next(self, waiting: Sequence[int], rows: Sequence[Sequence[int]]) -> Sequence[int]:
        longest = len(rows[waiting[0]])
        if self.tokens is None:
            self.tokens = self._fitting(longest)
        members = waiting[: max(1, self.tokens // longest)]
        if reads_at_once(self.model.config):  # padding would change how the shorter rows are read
            members = [i for i in members if len(rows[i]) == longest]
        return members

    def _fitting(self, longest: int) -> int:
        """Return how many tokens have their activations in an eighth of free memory, and their logits in another."""
        text = self.model.config.get_text_config()
        logits: int = text.vocab_size * torch.empty((), dtype=self.model.dtype).element_size()
        return min(fitting_chunk(Forward(self.model), longest), max(256, free_bytes(self.model.device) // (8 * logits)))

    def _batch(self, members: Sequence[int], rows: Sequence[Sequence[int]]) -> Batch:
        lengths = [len(rows[i]) for i in members]
        width = max(lengths)
        padded = [[*rows[i], *[0] * (width - len(rows[i]))] for i in members]
        inputs = {"input_ids": torch.tensor(padded, device=self.model.device)}
        if min(lengths) < width:
            real = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
            inputs["attention_mask"] = real.long().to(self.model.device)
        return Batch(members, lengths, inputs | {"use_cache": False})


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode, and every one of its modules back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
