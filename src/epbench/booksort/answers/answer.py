"""What is kept of one answered question: all that scores, curves and reports are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from epbench.booksort.context.orders import is_swapped, pair_id


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One question, its key and the model's answer (Section 3).

    Attributes:
        id: of the dataset's row.
        book_idx: number of the book.
        excerpt_idx: number of the excerpt in its book; the questions of one excerpt are not independent.
        distance: words from the start of the earlier segment to that of the later one.
        distance_bin: right edge of the bin of distances, in words.
        excerpt_length: in words.
        segment_length: in words.
        seg1_pos: of the earlier segment in the excerpt, in words from its start.
        seg2_pos: of the later segment.
        answer: the segment that comes first in the book: A is the one shown first.
        predicted: the model's answer; X where it gave none that can be read, which counts as wrong.
        p_a: probability of A as the answer's first token, over all its spellings; None where the model gave none. An
            endpoint lists only its most probable tokens, and a label that is not among them counts as 0.
        p_b: the same of B.
        greedy: the text of the answer as generated; of a model in this process the most probable first token.
        written: the segment that this text names, whatever the probabilities say; X where it names neither.
        correct: whether predicted equals answer; False where the request failed.
        failed: whether the request failed, or its answer was cut off: neither right nor wrong.
        retrieved_both: with memory `rag`, whether passages of both segments were found; None with other memories.
        retrieved_order: whether both were found and stood in the prompt in the order of the book; None as above.
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

    @property
    def excerpt(self) -> str:
        """The excerpt that the question is about: its four questions share one reading, and so their errors."""
        return f"{self.book_idx} {self.excerpt_length} {self.segment_length} {self.excerpt_idx}"

    @property
    def pair(self) -> str:
        """The pair of segments that is asked about: with `--both-orders` two askings have the same one."""
        return pair_id(self.id)

    @property
    def swapped(self) -> bool:
        """Whether this is the second asking of its pair, with the segments the other way round."""
        return is_swapped(self.id)

    @property
    def label_mass(self) -> float | None:
        """Probability that the answer's first token is A or B at all, 0 to 1; None where the model gave none."""
        return None if self.p_a is None or self.p_b is None else self.p_a + self.p_b
