"""A training text as tokens, and which of them are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from epbench.journals.answers import fingerprint_of

Kind = Literal["text", "summary", "instruction", "question"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One training text.

    Attributes:
        id: Where it comes from, such as `69087/3` for the fourth chunk of a book; unique in a training set.
        kind: What it is: a chunk of a book, a summary, an example of following instructions, or a question with its answer.
        ids: Its token ids, at least two, as they go into the model.
        learned: For each token, whether it is learned, that is, predicted from those before it. The first never is.
    """

    id: str
    kind: Kind
    ids: Sequence[int]
    learned: Sequence[bool]

    @property
    def n_learned(self) -> int:
        """The number of tokens that are learned."""
        return sum(self.learned[1:])


def fingerprint_of_samples(samples: Sequence[Sample]) -> str:
    """Return a short hash of samples, so that a run is continued only on the same ones."""
    return fingerprint_of([[sample.id, list(sample.ids), list(sample.learned)] for sample in samples])
