"""Training texts as tokens, which of them a step of the optimizer sees, and in which rows they lie.

A step sees a fixed number of samples, as in the paper (192, so 3,616 samples make 19 steps). Its samples are packed into
rows, one after the other, without padding; a row is what one process reads at one time. Packing never crosses a step, so
it changes only how fast a step is (trl's `pack_dataset` packs a dataset as a whole, and steps have varying numbers of samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from epbench.draws import RandomStream
from epbench.errors import BadInput

Row = tuple[int, ...]
"""Positions of the samples that lie in one row; an empty row lets a process keep step with the others."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the optimizer sees."""

    samples: Sequence[int]  # positions of its samples in the training set, in the order of the epoch
    # For each process its rows; all processes have the same number, because they exchange weights in every row.
    rows: Sequence[Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which samples each epoch sees."""

    always: Sequence[int]  # positions of the samples that every epoch sees, such as the chunks of the books
    # Positions of the samples of which every epoch sees its own part, so that each is seen once. They may be empty.
    once: Sequence[int]
    epochs: int  # the number of epochs, at least 1; it divides the number of samples in `once`
    seed: int  # of the order of the samples, which is another one in every epoch

    def __post_init__(self) -> None:
        if len(self.once) % self.epochs:
            raise BadInput(
                f"samples that are seen once: expected a number that {self.epochs} epochs can share equally, got "
                f"{len(self.once):,}"
            )

    def order(self, epoch: int) -> list[int]:
        """Return the samples of an epoch, counted from 0, in the order in which they are seen."""
        part = len(self.once) // self.epochs
        chosen = [*self.always, *self.once[epoch * part : (epoch + 1) * part]]
        return RandomStream("order of training", self.seed, epoch).sample(chosen, len(chosen))

    def steps(self, epoch: int, lengths: Sequence[int], batch_size: int, row_tokens: int, n_ranks: int) -> list[Step]:
        """Return the steps of an epoch, counted from 0; the last one has the samples that are left.

        `lengths` are the tokens of each sample; a row has at most `row_tokens`, at least those of the longest sample.
        """
        order = self.order(epoch)
        groups = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        return [Step(group, _deal(_pack(group, lengths, row_tokens), lengths, n_ranks)) for group in groups]


def _pack(samples: Sequence[int], lengths: Sequence[int], row_tokens: int) -> list[Row]:
    """Put samples into few rows: the longest first, each into the first row that has room for it."""
    rows: list[list[int]] = []
    room: list[int] = []
    for sample in sorted(samples, key=lambda i: -lengths[i]):
        n = lengths[sample]
        if n > row_tokens:
            raise BadInput(f"a sample of {n:,} tokens does not fit in a row of {row_tokens:,} tokens")
        chosen = next((i for i, free in enumerate(room) if free >= n), len(rows))
        if chosen == len(rows):
            rows.append([])
            room.append(row_tokens)
        rows[chosen].append(sample)
        room[chosen] -= n
    return [tuple(row) for row in rows]


def _deal(rows: Sequence[Row], lengths: Sequence[int], n_ranks: int) -> list[list[Row]]:
    """Share rows among processes so that all have equally many, and about the same number of tokens."""
    most = -(-len(rows) // n_ranks)
    shares: list[list[Row]] = [[] for _ in range(n_ranks)]
    tokens = [0] * n_ranks
    for row in sorted(rows, key=lambda row: -sum(lengths[i] for i in row)):
        rank = min((i for i in range(n_ranks) if len(shares[i]) < most), key=lambda i: tokens[i])
        shares[rank].append(row)
        tokens[rank] += sum(lengths[i] for i in row)
    return [[*share, *[()] * (most - len(share))] for share in shares]


Kind = Literal["text", "summary", "instruction", "question"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One training text."""

    id: str  # where it comes from, such as `69087/3` for the fourth chunk of a book; unique in a training set
    # What it is: a chunk of a book, a summary, an example of following instructions, or a question with its answer.
    kind: Kind
    ids: Sequence[int]  # its token ids, at least two, as they go into the model
    # For each token, whether it is learned, that is, predicted from those before it. The first never is.
    learned: Sequence[bool]

    @property
    def n_learned(self) -> int:
        """The number of tokens that are learned."""
        return sum(self.learned[1:])


def fingerprint_of_samples(samples: Sequence[Sample]) -> str:
    """Return a short hash of samples, so that a run is continued only on the same ones."""
    # Imported here, so that a benchmark can train where only transformers and what it needs is installed.
    from epbench.journals.answers import fingerprint_of

    return fingerprint_of([[sample.id, list(sample.ids), list(sample.learned)] for sample in samples])
