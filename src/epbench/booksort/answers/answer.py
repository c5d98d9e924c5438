"""An answered question, with everything that scores, figures and reports are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from epbench.booksort.answers.pair_ids import is_swapped, pair_id


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One question about a pair of segments, its right answer, and the model's answer (Section 3).

    Attributes:
        id: The id of the dataset's row.
        book_idx: The number of the book.
        excerpt_idx: The number of the excerpt in its book; the questions about one excerpt are not independent.
        distance: Words from the start of the earlier segment to the start of the later one.
        distance_bin: The right edge of the bin of distances, in words.
        excerpt_length: The length of the excerpt in words.
        segment_length: The length of each segment in words.
        seg1_pos: Where the earlier segment starts, in words from the start of the excerpt.
        seg2_pos: Where the later segment starts, in words from the start of the excerpt.
        answer: The segment that comes first in the book: A is the one that is shown first.
        predicted: The model's answer; X if it names neither segment, which counts as wrong.
        p_a: The probability of A as the first token of the answer, over all its spellings; None if it is unknown. An
            endpoint lists only its most probable tokens, and a label that is not among them has 0.
        p_b: The same for B.
        greedy: The text of the answer; for a model in this process, the most probable first token.
        written: The segment that this text names, whatever the probabilities say; X if it names neither.
        correct: Whether predicted equals answer; False if the question failed.
        failed: Whether the request failed or its answer was cut off, so that it is neither right nor wrong.
        retrieved_both: With memory `rag`, whether passages of both segments were found; None with other memories.
        retrieved_order: With memory `rag`, whether both were found, and shown in the order of the book; None with other
            memories.
        failure: Why the question failed; None for an answer.
    """

    id: str
    book_idx: int
    excerpt_idx: int
    distance: int
    distance_bin: int
    excerpt_length: int
    segment_length: int
    seg1_pos: int
    seg2_pos: int
    answer: Literal["A", "B"]
    predicted: Literal["A", "B", "X"]
    p_a: float | None = None
    p_b: float | None = None
    greedy: str = ""
    written: Literal["A", "B", "X"] = "X"
    correct: bool = False
    failed: bool = False
    retrieved_both: bool | None = None
    retrieved_order: bool | None = None
    failure: str | None = None

    @property
    def excerpt(self) -> str:
        """The excerpt that the question is about. Its four questions share one reading, and so their errors."""
        return f"{self.book_idx} {self.excerpt_length} {self.segment_length} {self.excerpt_idx}"

    @property
    def pair(self) -> str:
        """The pair of segments that the question asks about; with both orders, two questions ask about each pair."""
        return pair_id(self.id)

    @property
    def swapped(self) -> bool:
        """Whether this is the second asking of its pair, with the segments swapped."""
        return is_swapped(self.id)

    @property
    def label_mass(self) -> float | None:
        """The probability that the first token of the answer is A or B at all, 0 to 1; None if it is unknown."""
        return None if self.p_a is None or self.p_b is None else self.p_a + self.p_b
