"""What a reply is worth: A or B read off it, and the question with its answer judged.

Endpoints cannot be made to begin their answers with "Answer: Segment", so the text of an answer may have to be read.
Paper: Section 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from epbench.booksort.dataset.load import Pair

Label = Literal["A", "B"]

_BEFORE = r"[\s*_\"'“”‘’`(\[]*"  # what may stand between "Segment" and its label
_CLOSED = r"(?= [\s*_\"'”’`)\].,;:!?]* $ | [*_\"'”’`)\].,;:!?/] )"
_VERB = (
    r"(?:is|was|came|comes|appear(?:s|ed)?|occur(?:s|red)?|happen(?:s|ed)?|stands?|stood|preced(?:es|ed)|goes|went|"
    r"first|earlier|before|after|because|since|as|and|or|nor|would|should|must)\b"
)
_NAMED = re.compile(
    rf""" \b (?i:segments?) {_BEFORE} ([AB]) (?!\w)
        | \b (?i:segment) {_BEFORE} ([ab]) (?: {_CLOSED} | (?= \s+ {_VERB} ) )
        | (?<![\w'’]) (B) (?![\w'’])
        | (?<![\w'’]) (A) (?: {_CLOSED} | (?= \s+ {_VERB} ) )""",
    re.VERBOSE,
)
_ALONE = re.compile(r"[\W_]*(?:segment[\W_]+)?([ab])[\W_]*", re.IGNORECASE)
_DENIED = re.compile(rf"\b(?:not|rather than|instead of)\s+(?:segment\s+)?{_BEFORE}[AB](?!\w)", re.IGNORECASE)
_CUT_OFF = re.compile(r"\0[AB]\W*(?:and|or)?\W*(?:\0[AB])?\W*(?:and|or)\W*$", re.IGNORECASE)
_ORDER = re.compile(
    r"""\0(?P<one>[AB]) \W+ (?:\w+\s+){0,3}? (?:(?P<early>first|earlier|before|preced(?:es|ed))|later|second|last|after)\b
      | \b(?:first|earlier)\b (?:\s+\w+){0,2}? \s* (?:is|was|:) \W*? \0(?P<two>[AB])""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_answer(text: str) -> Label | None:
    """The segment that comes first according to a text.

    A label counts if it stands alone in either case (`b`, `(b)`, `**B**`), after "Segment", or as a capital between words;
    the article of "A segment …" does not count. If a text begins with a label and a full stop or a new line, that is its
    answer. If a text names both labels, the one that it says comes first is the answer.

    Returns:
        The label; None if the text names neither segment, or both without a decision.
    """
    if alone := _ALONE.fullmatch(text):
        return _label(alone[1])
    first, *rest = re.split(r"\.\s|\n", text.strip(), maxsplit=1)
    if rest and (alone := _ALONE.fullmatch(first)) and not re.search(r"^[\W_]*[AB]\.", rest[0], re.MULTILINE):
        return _label(alone[1])  # unless that is the first item of a list
    marked = _NAMED.sub(_mark, _DENIED.sub(" ", text.replace("\0", " ")))
    if _CUT_OFF.search(marked):
        return None
    named = set(re.findall(r"\0([AB])", marked))
    if len(named) > 1:
        named = {_first(match) for match in _ORDER.finditer(marked)}
    return _label(named.pop()) if len(named) == 1 else None


def _mark(match: re.Match[str]) -> str:
    """Put a mark before a label that no text contains."""
    return f" \0{_label(match[match.lastindex or 0])} "


def _first(match: re.Match[str]) -> Label:
    """The label that a phrase puts first."""
    if match["two"]:
        return _label(match["two"])
    label = _label(match["one"])
    return label if match["early"] else "B" if label == "A" else "A"


def _label(letter: str) -> Label:
    return "A" if letter in "Aa" else "B"


Record = Mapping[str, Any]

CUT_OFF = "the answer was cut off before it named a segment"


def predicted(record: Record) -> Literal["A", "B", "X"]:
    """The answer in a record of answers.jsonl: the label with the higher probability, over all its spellings (Section 3.1).

    An answer without probabilities is read as a text, and so is one of several words, as endpoints give it: its first
    token may be the article of "A closer look says B". X stands for an answer that names neither segment.
    """
    parsed = parse_answer(record["answer"])
    a, b = probabilities_of(record)
    if a is None or b is None or a == b or (parsed and len(record["answer"].split()) > 1):
        return parsed or "X"
    return "A" if a > b else "B"


def failure_of(record: Record) -> str | None:
    """Why a record of answers.jsonl is neither right nor wrong: its request failed, or its text was cut off too early.

    None for an answer that can be read, and for one that ended by itself and names no segment, which is wrong.
    """
    if record.get("failure") is not None:
        return str(record["failure"])
    # A model in this process is asked for one token, whose probabilities decide, so nothing of its answer is missing.
    by_text = record.get("probabilities") is None or len(record["answer"].split()) > 1
    cut_off = record.get("ended") == "length" and by_text and parse_answer(record["answer"]) is None
    return CUT_OFF if cut_off else None


def probabilities_of(record: Record) -> tuple[float | None, float | None]:
    """The probabilities of A and B as the first token of the answer, 0 to 1; None where they are unknown."""
    known = record.get("probabilities") or {}
    return known.get("A"), known.get("B")


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
        retrieved_both: With memory `rag` or a memory system, whether both segments were found; None with other memories,
            and where retrieval failed.
        retrieved_order: Likewise, whether both were found, and shown in the order of the book.
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
    def label_mass(self) -> float | None:
        """The probability that the first token of the answer is A or B at all, 0 to 1; None if it is unknown."""
        return None if self.p_a is None or self.p_b is None else self.p_a + self.p_b


def scored_pair(pair: Pair, record: Record, found: Record | None = None) -> ScoredPair:
    """Judge the answer to a pair by its record of answers.jsonl, and by what was found of its segments, if anything was."""
    failure = failure_of(record)
    failed = failure is not None
    answer: Literal["A", "B", "X"] = "X" if failed else predicted(record)
    p_a, p_b = probabilities_of(record)
    lengths = pair.distance, pair.distance_bin, pair.excerpt_length, pair.segment_length
    about = pair.id, pair.book_idx, pair.excerpt_idx, *lengths, *pair.positions
    return ScoredPair(
        *about,
        answer=pair.answer,
        predicted=answer,
        p_a=p_a,
        p_b=p_b,
        greedy=record.get("answer", ""),
        written="X" if failed else parse_answer(record["answer"]) or "X",
        correct=answer == pair.answer,
        failed=failed,
        retrieved_both=found["both"] if found else None,
        retrieved_order=found["in_order"] if found else None,
        failure=failure,
    )
