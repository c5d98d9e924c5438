"""How probable a model finds given texts, and what it makes of them. Importing this module imports torch.

Every token is predicted from those before it in its row, so one reading of a row gives the probabilities of all its tokens.
Rows are read in batches as large as memory allows. Unlike the questions that `shared_prefix` answers, they have nothing in
common and nothing is generated: each is read once.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from epbench.errors import BadInput, RunFailed
from epbench.models.hf.prefix_rows import Forward, fitting_chunk, free_bytes, reads_at_once, release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows that are read together."""

    members: Sequence[int]  # the number of each row in the call
    lengths: Sequence[int]  # the number of tokens in each row
    # What the model's forward call takes: `input_ids`, padded on the right, and for rows of different lengths
    # `attention_mask`.
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
        by_row: list[Any] = [None] * len(rows)
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
                        by_row[i] = result
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
        return by_row

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


_MOST_SCORES = 2**27  # 512 MiB in float32; positions are computed in parts that have no more scores than this


@dataclass(frozen=True, slots=True)
class SpanLikelihood:
    """How probable the tokens of a span are, each after all tokens before it.

    Attributes:
        n_tokens: The number of tokens.
        log_likelihood: The sum of their log-probabilities, in nats.
    """

    n_tokens: int
    log_likelihood: float


def perplexity(spans: Iterable[SpanLikelihood]) -> float:
    """Return exp(-(sum of log-likelihoods) / (number of tokens)) over all tokens of some spans; at least 1.

    Raises:
        BadInput: The spans have no tokens.
    """
    all_spans = list(spans)
    n = sum(span.n_tokens for span in all_spans)
    if not n:
        raise BadInput(f"perplexity: expected at least one token, got none in {len(all_spans)} spans")
    return math.exp(-sum(span.log_likelihood for span in all_spans) / n)


class Likelihoods:
    """Log-probabilities of tokens, and hidden states, under one causal language model.

    Its results do not depend on which rows are read together, up to rounding: rows are padded on the right, where no token
    of theirs can see it. The model is not changed.

    Args:
        model: A causal language model of transformers with its weights on a device.
        window: The largest number of tokens in a row; None if there is no limit.
        tokens: The largest number of tokens that are read at one time; see `RowBatches`.
    """

    def __init__(self, model: Any, *, window: int | None = None, tokens: int | None = None) -> None:
        self.batches = RowBatches(model, window=window, tokens=tokens)

    def of_tokens(self, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """Return the log-probability of every token, in nats.

        Returns:
            For each row an array of its length. Its first number is NaN, because nothing comes before the first token.

        Raises:
            BadInput: A row has no token, or more than the window.
            RunFailed: There is no memory even for one row.
        """
        return self._read(rows, [range(1, len(row)) for row in rows])

    def of_spans(
        self, rows: Sequence[Sequence[int]], spans: Sequence[Mapping[str, Sequence[int]]]
    ) -> list[dict[str, SpanLikelihood]]:
        """Return how probable some spans of each row are. Logits are computed for these alone if the model allows it.

        Args:
            rows: The token ids of each row.
            spans: For each row the positions of the tokens of each span, by its name. The first token of a row has the
                position 0 and belongs to no span, because nothing comes before it.

        Raises:
            BadInput: A row has no token or more than the window, or a position is not in its row.
            RunFailed: There is no memory even for one row.
        """
        for number, (row, named) in enumerate(zip(rows, spans, strict=True)):
            for name, span in named.items():
                if outside := [position for position in span if not 1 <= position < len(row)]:
                    raise BadInput(
                        f"text {number}, span {name!r}: expected positions from 1 to {len(row) - 1}, got {outside[0]}"
                    )
        log_likelihoods = self._read(rows, [sorted(set().union(*named.values())) for named in spans])
        return [
            {name: SpanLikelihood(len(span), float(values[list(span)].sum())) for name, span in named.items()}
            for values, named in zip(log_likelihoods, spans, strict=True)
        ]

    def last_states(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the state of the last hidden layer at the last token of each row.

        It is what the head of the model sees, after the final normalization: the next token is predicted from it alone.

        Returns:
            An array of shape (rows, hidden size); (0, hidden size) without rows.

        Raises:
            BadInput: A row has no token, or more than the window.
            RunFailed: There is no memory even for one row.
        """
        import numpy as np

        states = self.batches.read(rows, self._states)
        size = self.batches.model.config.get_text_config().hidden_size
        return np.stack(states) if states else np.empty((0, size), np.float32)

    def _read(self, rows: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """Return the log-probabilities of the wanted tokens of each row; all others are NaN."""
        return self.batches.read(rows, lambda batch: self._log_probabilities(batch, wanted))

    def _log_probabilities(self, batch: Batch, wanted: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        import numpy as np

        by_row = [np.full(length, np.nan) for length in batch.lengths]
        positions = sorted(set().union(*(wanted[i] for i in batch.members)))
        if not positions:
            return by_row
        before = torch.tensor(positions) - 1  # from the logits after a token follow the probabilities of the next one
        logits = self._logits(batch, before)
        tokens = batch.ids[:, positions].to(logits.device)
        step = max(1, _MOST_SCORES // (logits.shape[0] * logits.shape[2]))
        parts = []
        for start in range(0, len(positions), step):
            scores = logits[:, start : start + step].float()
            chosen = scores.gather(-1, tokens[:, start : start + step, None])[..., 0]
            parts.append((chosen - scores.logsumexp(-1)).cpu())
        values = torch.cat(parts, 1).double().numpy()
        place = {position: i for i, position in enumerate(positions)}
        for row, (values_of_row, i) in enumerate(zip(by_row, batch.members, strict=True)):
            columns = list(wanted[i])
            values_of_row[columns] = values[row, [place[position] for position in columns]]
        return by_row

    def _logits(self, batch: Batch, positions: torch.Tensor) -> torch.Tensor:
        """Return the logits at these positions, (rows, positions, vocabulary), in the model's dtype."""
        model = self.batches.model
        if self.batches.keeps_logits:
            logits: torch.Tensor = model(**batch.inputs, logits_to_keep=positions).logits
            return logits
        logits = model(**batch.inputs).logits
        return logits[:, positions]

    def _states(self, batch: Batch) -> list[NDArray[np.float32]]:
        states = self.batches.model.base_model(**batch.inputs).last_hidden_state
        last = torch.tensor(batch.lengths) - 1
        last_states: NDArray[np.float32] = states[torch.arange(len(last)), last].float().cpu().numpy()
        return list(last_states)
