"""The judge of meanings: places and contents match by the similarity of their sentence embeddings.

An item that stands in the answer scores 1, as with the judge of words; so does one that a phrase of the answer is similar
enough to, and 0.5 is for a phrase that is less similar or says a part of the item. A phrase counts for one item, the most
similar. Dates, people, abstentions, guesses and accounts of a chapter follow the rules of the judge of words. What the
answer denies (`not A, but B`) is no item of it: rules look at a negation directly before a name, a verdict directly after
it (`A can be ruled out`), and the clause of a likely mistake before a `but` (`one could take it for A, but …`).

The rules for denials and initials were written by somebody who knew how the calibration set words its answers; the
thresholds were chosen on other paraphrases, by the same author. What counts as a phrase was corrected twice after a look
at verdicts: text around a list (calibration set) and words before a name (published archive) had matched items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.judges.protocol import Judgement
from epbench.models.estimate import Estimate
from epbench.retrieval.dense import batches
from epbench.retrieval.protocol import Embedder
from epbench.tulving.judging.lexical import (
    MARKER,
    SENTENCE_GAP,
    SMALL_WORDS,
    LexicalJudge,
    entries_of,
    guesses,
    in_a_row,
    is_abstention,
    is_in,
    normal,
    position,
)
from epbench.tulving.judging.verdicts import JudgeInput, Verdict
from epbench.tulving.questions.templates import Trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]


# Similarities from which a phrase names an item (1) and from which it names it in part (0.5).
# From `benchmarks/similarity.py`, on paraphrases of items that have none in the calibration set. A description of another
# item of the same universe reaches the first in about 1 of 100 comparisons and the second in 3; the right item reaches them
# in 78 % and 89 % (contents), 59 % and 70 % (places). What is a name itself is mostly another item of the book, which
# reaches them in at most 1 and 2 of 1,000.
DESCRIBED = {"contents": (0.40, 0.35), "spaces": (0.47, 0.42)}
NAMED = {"contents": (0.55, 0.50), "spaces": (0.65, 0.60)}

_INPUTS = 64  # whose texts are embedded together; their verdicts follow


class SimilarityJudge:
    """Judge by sentence embeddings; `load` loads the embedder when the judge's identity or a verdict is first asked for.

    It raises BadInput if the model or a package is missing.
    """

    setup = ""
    rules = "similarity-1"  # a change of a rule or a threshold needs a new version

    def __init__(self, name: str, load: Callable[[], Embedder]) -> None:
        self.name = name
        self._load = load
        self._by_words = LexicalJudge()

    @cached_property
    def _similarities(self) -> Similarities:
        return Similarities(self._load())

    @property
    def prompt_hash(self) -> str:
        """Version of the rules, here and in the judge of words, and of the weights."""
        return f"{self.rules}-{self._by_words.prompt_hash}@{self._similarities.embedder.name.rpartition('@')[2]}"

    def plan(self, inputs: Sequence[JudgeInput]) -> Estimate | None:
        return None

    def judge(self, inputs: Sequence[JudgeInput], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`. Every different text is embedded once."""
        for start in range(0, len(inputs), _INPUTS):
            readings = [_Reading(judge_input) for judge_input in inputs[start : start + _INPUTS]]
            self._similarities.prepare(pair for reading in readings for pair in reading.pairs)
            for reading in readings:
                yield Judgement(reading.judge_input.key(self), self._verdict(reading))

    def _verdict(self, reading: _Reading) -> Verdict:
        if reading.by_words is not None:
            return self._by_words.verdict(reading.by_words)
        judge_input, present = reading.judge_input, reading.found
        if reading.names_nothing:
            return Verdict([], [0.0] * len(judge_input.reference), [], "the answer names nothing")
        matches = self._matches(reading)
        named = [*present, *(match.phrase.words for match in matches)]
        words = [normal(name) for name in named]
        others = [one for one in reading.entries if not any(in_a_row(w, one) or in_a_row(one, w) for w in words)]
        scores = {**dict.fromkeys(present, 1.0), **{match.item: match.score for match in matches}}
        positions = {item: position(item, reading.words) for item in present}
        positions |= {match.item: reading.words.find(match.phrase.words) for match in matches}
        n_full = sum(score == 1.0 for score in scores.values())
        return Verdict(
            [*present, *(match.item if match.score == 1 else match.phrase.words for match in matches), *others],
            [scores.get(item, 0.0) for item in judge_input.reference],
            sorted(positions, key=lambda item: positions[item]),
            f"{n_full} of {len(judge_input.distinct_reference)} true items are in the answer, {n_full - len(present)} of them in "
            f"other words, and {len(scores) - n_full} more in part",
        )

    def _matches(self, reading: _Reading) -> list[_Match]:
        """What the missing items are called in the answer: the best matches, each item and each clause in one of them."""
        possible = [
            match
            for item in reading.missing
            for phrase in reading.phrases
            if (match := self._match(item, phrase, reading.judge_input.trace)) is not None
        ]
        chosen: list[_Match] = []
        for match in sorted(possible, key=lambda match: (match.score, match.similarity), reverse=True):
            if not any(match.item == other.item or match.phrase.overlaps(other.phrase) for other in chosen):
                chosen.append(match)
        return chosen

    def _match(self, item: str, phrase: Phrase, trace: Trace) -> _Match | None:
        if phrase.words in _initials(item):
            return _Match(item, phrase, 1.0, 1.0)
        full, partial = (NAMED if phrase.is_name else DESCRIBED)[trace]
        similarity = self._similarities.between(normal(item), phrase.words)
        if similarity >= full:
            return _Match(item, phrase, 1.0, similarity)
        if similarity >= partial or _is_part(phrase.words, normal(item)):
            return _Match(item, phrase, 0.5, similarity)
        return None


@dataclass(frozen=True, slots=True)
class _Match:
    item: str
    phrase: Phrase
    score: float
    similarity: float


class _Reading:
    """What can be said of an answer before anything is embedded."""

    def __init__(self, judge_input: JudgeInput) -> None:
        self.judge_input = judge_input
        self.by_words: JudgeInput | None = judge_input  # for the judge of words; None for places and contents
        self.names_nothing = False  # whether the answer abstains, or denies all that it names
        self.missing = list[str]()  # the true items that do not stand in the answer
        self.phrases = list[Phrase]()  # what in the answer may name these
        if judge_input.trace == "full_details":
            return
        asserted = replace(judge_input, answer=without_denials(judge_input.answer))
        self.words = normal(asserted.answer)  # without what it denies
        if asserted != judge_input and set(self.words.split()) <= _NOTHING_LEFT:
            asserted = replace(asserted, answer="")
        self.by_words = asserted
        if judge_input.trace not in DESCRIBED:
            return
        self.by_words = None
        reference = judge_input.distinct_reference
        present = (item for item in reference if is_in(item, self.words))
        self.found = sorted(present, key=lambda item: position(item, self.words))
        self.missing = [item for item in reference if item not in self.found]
        self.names_nothing = not asserted.answer or (
            not self.found and is_abstention(judge_input.answer) and not guesses(asserted)
        )
        if not self.names_nothing:
            self.entries = entries_of(asserted, self.missing)
            if self.missing:
                phrases = phrases_of(asserted.answer, asserted.question)
                self.phrases = [one for one in phrases if not any(is_in(item, one.words) for item in self.found)]

    @property
    def pairs(self) -> Iterable[tuple[str, str]]:
        """All that is compared, normalised."""
        return ((item, phrase.words) for item in map(normal, self.missing) for phrase in self.phrases)


_NOTHING_LEFT = SMALL_WORDS | {"it", "was", "is", "they", "were", "are", "this", "he", "she", "answer", "as", "by"}


def _is_part(words: str, item: str) -> bool:
    """Whether these words are a part of the item, at least half of it, and nothing else."""
    part, whole = (set(text.split()) - SMALL_WORDS for text in (words, item))
    return part < whole and len(part) * 2 >= len(whole)


def _initials(item: str) -> set[str]:
    """`moma` and `mma` for `Museum of Modern Art`; nothing for less than three words."""
    words = normal(item).split()
    both = words, [word for word in words if word not in SMALL_WORDS]
    return {initials for chosen in both if len(initials := "".join(word[0] for word in chosen)) >= 3}


# Where a clause ends. The comma in `May 07, 2024` and the stops in `St. John` and `Mar. 5` do not end one.
_GAP = re.compile(
    r"([;:()\n]|,?\s{0,3}\b(?:but|and|while|whereas)\b|,(?!\s*\d{4})|(?<!\bSt)[.!?](?=\s+\D|\s*$))", re.IGNORECASE
)
_SMALL = r"(?:(?i:at|in|on|by|with|for|to|of|from|during|that|it|is|was|be|been)\s+)"
# A name, a date, or something with an article follows the negation: `not only`, `not until` and `not sure` deny nothing.
_NEGATED = re.compile(
    r"(?:\b(?i:not|never|neither|nor|unlike|excluding)|n['’]t)\s+"
    rf"(?={_SMALL}{{0,3}}(?:(?i:the|an?)\s|[\"“*]*[A-Z\d])).*",
    re.DOTALL,
)
_REPLACED = re.compile(r"\b(?:rather than|instead of|as opposed to|in place of)\s.*", re.IGNORECASE | re.DOTALL)
_RULED_OUT = re.compile(
    r"\b(?:(?:can|could|may|must|should) be (?:ruled out|excluded|dismissed)|"
    r"(?:is|are|was|were) (?:ruled out|excluded|wrong|incorrect)|"
    r"(?:(?:is|are|was|were) not|(?:is|are|was|were)n['’]t) (?:there|present|involved|it|the (?:one|answer)|right|correct)|"
    r"(?:did not|didn['’]t) (?:attend|take part|participate|appear|come))\b",
    re.IGNORECASE,
)
_MISTAKEN = re.compile(
    r"\b(?:(?:one|you|someone|somebody|people|readers?|many) (?:could|might|may|would)|"
    r"(?:could|might|may) (?:easily )?be (?:mistaken|taken|confused))\b",
    re.IGNORECASE,
)


def without_denials(answer: str) -> str:
    """The answer without what it says is not so; the rest stays as it is."""
    parts = _GAP.split(answer)  # clause, gap, clause, …
    for i in range(0, len(parts), 2):
        clause, gap = parts[i], parts[i + 1] if i + 1 < len(parts) else ""
        if _RULED_OUT.search(clause) or (_MISTAKEN.search(clause) and gap.lower().endswith("but")):
            parts[i] = ""
        else:
            parts[i] = _REPLACED.sub("", _NEGATED.sub("", clause))
    return "".join(parts)


# What in an answer could name an item in other words: its clauses, a few clauses in a row, and their last parts

MOST_CLAUSES = 4  # in one phrase: a description may hold commas and `and`
MOST_WORDS = 20  # longer phrases tell a story rather than name an item
_NEAR_START = 8  # words within which what leads to an item may stand: `The text puts it at …`

_CLAUSE_GAP = re.compile(r"[,;:()]|\band\b|\s[–—-]\s", re.IGNORECASE)
_SENTENCES = re.compile(SENTENCE_GAP)
_LEADS = frozenset(
    """
    is are was were be been at in on of to by as give gives name names say says describe describes called
    remember recall mention mentions
""".split()
)
_FILLERS = _LEADS | frozenset(
    """
    it this that these those there they he she i we one what which all some the a an and but so then also here
    would could might may must did has had have been took take takes taken place happened happens occurred held
    went believe think guess know answer answers text book story novel chapter chapters narrator tells told puts
    dates definitely probably clearly certainly location locations event events following
""".split()
)
_ARTICLES = frozenset(["the", "a", "an"])
_EDGES = " .!?*_\"'“”"
_SOURCE = re.compile(r"\s(?:in|from|according to) the (?:book|text|story|novel|chapters?|passages?)\b", re.IGNORECASE)
_LINKS = SMALL_WORDS | {"from", "by", "into", "over", "under", "around", "near", "between", "that", "which", "who"}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of an answer."""

    text: str  # the part, as the answer words it
    words: str  # the same, normalised
    line: int  # number of its line
    start: int  # where in the line the clauses begin that it is taken from, in characters
    end: int  # where they end

    @property
    def is_name(self) -> bool:
        """Whether it is a name, such as `Dog Show` or `dog show`; `a show of dogs` describes something."""
        words = self.text.split()
        return _is_titled(words) or not any(word.casefold() in _LINKS for word in words)

    def overlaps(self, other: Phrase) -> bool:
        """Whether both are taken from one clause."""
        return self.line == other.line and self.start < other.end and other.start < self.end


def phrases_of(answer: str, question: str) -> list[Phrase]:
    """All phrases of an answer, each with what may lead to it (`It took place at …`) and without it.

    Of an answer that is a list only the lines of the list are taken, as in `lexical.entries_of`. A phrase whose words all
    stand in the question is left out.
    """
    lines = answer.splitlines()
    listed = any(MARKER.match(line) for line in lines)
    asked = set(normal(question).split()) | SMALL_WORDS
    phrases = []
    for number, line in enumerate(lines):
        marker = MARKER.match(line)
        if listed and not marker:
            continue
        for start, end in _split(_SENTENCES, line, marker.end() if marker else 0, len(line)):
            clauses = _split(_CLAUSE_GAP, line, start, end)
            named = [any(map(_is_titled, map(str.split, _without_leads(line[slice(*clause)])))) for clause in clauses]
            for first in range(len(clauses)):
                for last in range(first, min(first + MOST_CLAUSES, len(clauses))):
                    if last > first and any(named[first : last + 1]):
                        break  # a list of names rather than one description
                    span = clauses[first][0], clauses[last][1]
                    for text in _without_leads(line[slice(*span)]):
                        words = normal(text)
                        if not set(words.split()) <= asked:
                            phrases.append(Phrase(text, words, number, *span))
    return phrases


def _split(gap: re.Pattern[str], line: str, start: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of the parts that are not blank."""
    gaps = [(match.start(), match.end()) for match in gap.finditer(line, start, end)]
    begins, ends = [start, *(after for _, after in gaps)], [*(before for before, _ in gaps), end]
    return [(begin, stop) for begin, stop in zip(begins, ends, strict=True) if line[begin:stop].strip(" .*_\"'“”")]


def _without_leads(text: str) -> list[str]:
    """The phrase without what says nothing about an item, and what follows words near its start that may lead to a name."""
    words = [bare for word in _SOURCE.sub("", text).split() if (bare := word.strip(_EDGES))]
    words = words[_n_fillers(words) :]
    head = [word.casefold() for word in words[:_NEAR_START]]
    rests = [words[i + 1 :] for i, word in enumerate(head) if word in _LEADS]
    named = [rest for rest in rests if _is_titled(rest)]
    only_named = named and not _ARTICLES & set(head[: len(words) - len(named[0])])
    candidates = named if only_named else [words, *rests]
    return list(dict.fromkeys(" ".join(phrase) for phrase in candidates if 0 < len(phrase) <= MOST_WORDS))


def _is_titled(words: list[str]) -> bool:
    """Whether all words, links aside, have a capital: `Museum of Modern Art`."""
    main = [word for word in words if word.casefold() not in _LINKS]
    return bool(main) and not any(word[0].islower() for word in main)


def _n_fillers(words: list[str]) -> int:
    """How many words at the start say nothing; the article of what follows is none of them."""
    fillers = [word.casefold() in _FILLERS for word in words]
    n = fillers.index(False) if False in fillers else len(words)
    return n - 1 if 0 < n < len(words) and words[n - 1].casefold() in _ARTICLES else n


# How similar two texts are


class Similarities:
    """Similarities of normalised texts; their vectors are kept as long as this object."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors: dict[str, Vector] = {}

    def prepare(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Embed what pairs of a normalised item and phrase need and what has no vector yet."""
        import numpy as np

        texts = dict.fromkeys(text for pair in pairs for text in (*pair, *_without_shared(*pair)) if text)
        fresh = [text for text in texts if text not in self._vectors]
        for batch in batches(fresh, self.embedder.batch_bytes):
            vectors = np.asarray(self.embedder.embed(batch, query=False), dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            self._vectors |= zip(batch, vectors / np.maximum(lengths, np.finfo(np.float32).tiny), strict=True)

    def between(self, item: str, phrase: str) -> float:
        """Return the similarity of a pair that was prepared, in [-1, 1].

        It is the mean of two cosines: that of the whole texts, and that of what is left of them without the words they
        share. Whole texts that share `Park` or `Workshop` are alike, whatever else they say.
        """
        whole, rests = self._cosine(item, phrase), _without_shared(item, phrase)
        if not rests[0]:  # every word of the item stands in the phrase
            return (whole + 1) / 2
        return (whole + (self._cosine(*rests) if rests[1] else 0.0)) / 2

    def _cosine(self, first: str, second: str) -> float:
        return float(self._vectors[first] @ self._vectors[second])


def _without_shared(left: str, right: str) -> tuple[str, str]:
    """Both texts without the words they share, small words aside; empty where only small words are left."""
    shared = (set(left.split()) & set(right.split())) - SMALL_WORDS
    if not shared:
        return left, right
    rests = [[word for word in text.split() if word not in shared] for text in (left, right)]
    first, second = ("" if set(rest) <= SMALL_WORDS else " ".join(rest) for rest in rests)
    return first, second
