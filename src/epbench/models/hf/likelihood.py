"""How probable a model finds given texts, and what it makes of them. Importing this module imports torch.

Unlike the questions that `shared_prefix` answers, rows have nothing in common and nothing is generated: each is read once.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from epbench.errors import BadInput, RunFailed
from epbench.models.hf.memory import available_memory
from epbench.models.hf.prefix_rows import Forward, fitting_chunk, reads_at_once, release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


log = logging.getLogger(__name__)
T = TypeVar("T")
_MOST_SCORES = 2**27  # 512 MiB in float32; positions are computed in parts that have no more scores than this


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows that are read together."""

    members: Sequence[int]  # the number of each row in the call
    lengths: Sequence[int]  # the number of tokens in each row
    inputs: dict[str, Any]  # for the model's forward call, with `input_ids`, padded on the right


@dataclass(frozen=True, slots=True)
class SpanLikelihood:
    """How probable the tokens of a span are, each after all tokens before it."""

    n_tokens: int
    log_likelihood: float  # the sum of their log-probabilities, in nats


def perplexity(spans: Iterable[SpanLikelihood]) -> float:
    """Return exp(-(sum of log-likelihoods) / (number of tokens)) over all tokens of some spans; `BadInput` without tokens."""
    all_spans = list(spans)
    n = sum(span.n_tokens for span in all_spans)
    if not n:
        raise BadInput(f"perplexity: expected at least one token, got none in {len(all_spans)} spans")
    return math.exp(-sum(span.log_likelihood for span in all_spans) / n)


class Likelihoods:
    """Log-probabilities of tokens, and hidden states, under one causal language model of transformers.

    Its results do not depend on which rows are read together, up to rounding, and the model is left in the mode in which it was.
    `window` is the largest number of tokens in a row; None if there is no limit. `tokens` are read at one time at most, padding
    included; a longer row is read alone. By default they are as many as fit in memory, at most 8192; the number is halved for
    good whenever memory runs out. All methods raise `BadInput` if a row has no token or more than the window, as nothing is
    cut, and `RunFailed` if there is no memory even for one row.
    """

    def __init__(self, model: Any, *, window: int | None = None, tokens: int | None = None) -> None:
        self.model, self.window, self.tokens = model, window, tokens

    def of_spans(
        self, rows: Sequence[Sequence[int]], spans: Sequence[Mapping[str, Sequence[int]]]
    ) -> list[dict[str, SpanLikelihood]]:
        """Return how probable some spans of each row are. Logits are computed for these alone if the model allows it.

        `spans` has for each row the positions of the tokens of each span, by its name, from 1, as nothing comes before the token
        at 0. `BadInput` if a position is not in its row.
        """
        for number, (row, named) in enumerate(zip(rows, spans, strict=True)):
            for name, span in named.items():
                if outside := [position for position in span if not 1 <= position < len(row)]:
                    raise BadInput(
                        f"text {number}, span {name!r}: expected positions from 1 to {len(row) - 1}, got {outside[0]}"
                    )
        wanted = [sorted(set().union(*named.values())) for named in spans]
        log_likelihoods = self.read(rows, lambda batch: self._log_probabilities(batch, wanted))
        return [
            {name: SpanLikelihood(len(span), float(values[list(span)].sum())) for name, span in named.items()}
            for values, named in zip(log_likelihoods, spans, strict=True)
        ]

    def last_states(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the state of the last hidden layer, normalized, at the last token of each row, as (rows, hidden size)."""
        import numpy as np

        def last(batch: Batch) -> list[NDArray[np.float32]]:
            states = self.model.base_model(**batch.inputs).last_hidden_state
            rows = states[torch.arange(len(batch.lengths)), torch.tensor(batch.lengths) - 1]
            return list(rows.float().cpu().numpy())

        states, size = self.read(rows, last), self.model.config.get_text_config().hidden_size
        return np.stack(states) if states else np.empty((0, size), np.float32)

    def read(self, rows: Sequence[Sequence[int]], compute: Callable[[Batch], Sequence[T]]) -> list[T]:
        """Pass batches of rows to a function, and return what it has made of each row, in the order of the rows."""
        for number, row in enumerate(rows):
            if not row:
                raise BadInput(f"text {number}: expected at least one token, got none")
            if self.window is not None and len(row) > self.window:
                raise BadInput(
                    f"text {number}: expected at most the {self.window:,} tokens of the model's window, got {len(row):,}"
                )
        by_row: list[Any] = [None] * len(rows)
        # With the longest first, memory runs out at once if it does, and neighbours need little padding.
        waiting = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        try:
            while waiting:
                batch = self._next(waiting, rows)
                try:
                    with torch.inference_mode():
                        results = compute(batch)
                except torch.OutOfMemoryError:
                    results = []
                n, longest = len(batch.members), max(batch.lengths)
                if results:
                    for i, result in zip(batch.members, results, strict=True):
                        by_row[i] = result
                    waiting = waiting[n:]
                    continue
                release()
                if n == 1:
                    raise RunFailed(f"no memory to read a text of {longest:,} tokens; use a device with more memory")
                self.tokens = longest * n // 2
                log.info("out of memory with %d texts at a time: at most %d tokens from now on", n, self.tokens)
        finally:
            for module, training in modes:
                module.training = training
        return by_row

    def _next(self, waiting: Sequence[int], rows: Sequence[Sequence[int]]) -> Batch:
        device, longest = self.model.device, len(rows[waiting[0]])
        if self.tokens is None:  # so many that activations fit in an eighth of free memory, and logits in another
            text = self.model.config.get_text_config()
            logits = text.vocab_size * torch.empty((), dtype=self.model.dtype).element_size()
            most = max(256, available_memory(device) // (8 * logits))
            self.tokens = min(fitting_chunk(Forward(self.model), longest), most)
        members = waiting[: max(1, self.tokens // longest)]
        if reads_at_once(self.model.config):  # padding would change how the shorter rows are read
            members = [i for i in members if len(rows[i]) == longest]
        lengths = [len(rows[i]) for i in members]
        padded = [[*rows[i], *[0] * (longest - len(rows[i]))] for i in members]
        inputs = {"input_ids": torch.tensor(padded, device=device)}
        if min(lengths) < longest:
            real = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
            inputs["attention_mask"] = real.long().to(device)
        return Batch(members, lengths, inputs | {"use_cache": False})

    def _log_probabilities(self, batch: Batch, wanted: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """Return the log-probabilities of the wanted tokens of each row; all others are NaN."""
        import numpy as np

        by_row = [np.full(length, np.nan) for length in batch.lengths]
        positions = sorted(set().union(*(wanted[i] for i in batch.members)))
        if not positions:
            return by_row
        before = torch.tensor(positions) - 1  # from the logits after a token follow the probabilities of the next one
        arguments = inspect.signature(self.model.forward).parameters
        keep = {"logits_to_keep": before} if "logits_to_keep" in arguments else {}
        logits = self.model(**batch.inputs, **keep).logits  # (rows, positions, vocabulary)
        logits = logits if keep else logits[:, before]
        tokens = batch.inputs["input_ids"][:, positions].to(logits.device)
        step = max(1, _MOST_SCORES // (logits.shape[0] * logits.shape[2]))
        parts = []
        for part, ids in zip(logits.split(step, 1), tokens.split(step, 1), strict=True):
            scores = part.float()
            parts.append((scores.gather(-1, ids[..., None])[..., 0] - scores.logsumexp(-1)).cpu())
        values = torch.cat(parts, 1).double().numpy()
        for row, of_row, i in zip(by_row, values, batch.members, strict=True):
            row[list(wanted[i])] = of_row[np.searchsorted(positions, wanted[i])]
        return by_row
