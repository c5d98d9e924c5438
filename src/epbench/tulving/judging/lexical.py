"""The embedded judge: compares words, not meanings; it gives the same verdict on every machine, without a model.

A true item scores 1 if it is in the answer (after case, punctuation and dates are normalised), 0.5 if a part of it is
(month and year of a date, a first or last name, half of the words), and 0 otherwise, as in the published judge's examples
(paper: Appendix B.4). A part that belongs to another true item counts only for that item. What the question itself names
is not an item of the answer. An abstention followed by a guess is not an abstention.

The judge of meanings takes the rules for dates, people and abstentions from here. A change of a rule changes the verdicts,
and needs a new version of each judge that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path

from epbench.judges.protocol import Judgement
from epbench.metric_folders import formulas
from epbench.models.estimate import Estimate
from epbench.tulving.events.dates import MONTHS
from epbench.tulving.judging.verdicts import JudgeInput, Verdict
from epbench.tulving.reader import NAME

_ABSTAINS = re.compile(
    r"\b(?:no (?:information|mention|record|evidence|answer|one|such|events?|dates?|locations?|details?)|nobody|nothing|"
    r"none|cannot|can ?not|can['’]t|unable|unknown|unsure|not (?:mentioned|stated|specified|given|sure|know|aware|find|"
    r"found|say|recall|remember|contain|provide|appear|answerable)|(?:don|doesn|didn|isn|wasn)['’]t (?:know|say|mention|"
    r"find|recall|remember|contain|provide|specify|appear|have|mentioned|stated))\b",
    re.IGNORECASE,
)
_GUESSES = re.compile(
    r"\b(?:guess|perhaps|maybe|possibly|probably|likely|might|could (?:have been|be)|may have been|would (?:say|be))\b",
    re.IGNORECASE,
)
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b")
_MYSELF = re.compile(r"I(?:['’]\w+)?")
MARKER = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
# Between two sentences of an answer; `St.` is the only abbreviation that names have.
SENTENCE_GAP = r"(?<=[.!?])(?<!\bSt\.)\s"
_MONTH_ALONE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{4}})\b", re.IGNORECASE)
_MONTH_YEAR = re.compile(r"\b(\d{4} \d{2}) \d{2}\b")
_DATE = re.compile(r"\b\d{4} \d{2}(?: \d{2})?\b")  # normalised, of a day or of a month
SMALL_WORDS = frozenset(["a", "an", "the", "of", "and", "in", "at", "on", "for", "to", "with", "de", "del", "da", "do"])

FULL, PARTIAL = 0.8, 0.3  # share of a chapter's words that a full account must contain for 1, and for 0.5


def judge_account(judge_input: JudgeInput) -> Verdict:
    """A full account is one item; its score depends on how many of the chapter's words it contains."""
    if not judge_input.reference:
        empty = is_abstention(judge_input.answer)
        return Verdict([] if empty else [judge_input.answer], [], [], "nothing happened that could be told")
    chapter = set(normal(judge_input.reference[0]).split()) - SMALL_WORDS
    covered = chapter & set(normal(judge_input.answer).split())
    share = len(covered) / len(chapter) if chapter else 0.0  # nothing can be told of a chapter without words
    score = 1.0 if share >= FULL else 0.5 if share >= PARTIAL else 0.0
    items = [] if score == 0 and is_abstention(judge_input.answer) else ["account"]
    order = list(judge_input.reference) if score else []
    return Verdict(items, [score], order, f"{share:.0%} of the words of the chapter")


def normal(text: str) -> str:
    """Words and dates as the metric compares them, with slashed dates (month first) and months written like its dates."""
    return _MONTH_ALONE.sub(
        lambda match: f"{match[2]} {MONTHS.index(match[1].capitalize()) + 1:02}",
        formulas("episodic_f1").words_of(_SLASHED.sub(r"\3-\1-\2", text)),
    )


def in_a_row(words: str, others: str) -> bool:
    """Whether normalised words stand in a row in others."""
    return f" {words} " in f" {others} "


def is_in(item: str, words: str) -> bool:
    """Whether all words of the item stand in a row in these normalised words."""
    return in_a_row(_normal_item(item), words)


def position(item: str, words: str) -> int:
    """Where the item begins in these normalised words, in characters; -1 if it is not in them."""
    return f" {words} ".find(f" {_normal_item(item)} ")


def is_abstention(answer: str) -> bool:
    """Whether the first sentence says, outside brackets, that there is no answer."""
    outside = re.sub(r"\([^()]*\)", "", answer).strip() or answer.strip()  # the whole answer may be in brackets
    first = re.split(rf"{SENTENCE_GAP}|\n", outside, maxsplit=1)[0]
    return not first or _ABSTAINS.search(first) is not None


def guesses(judge_input: JudgeInput) -> bool:
    """Whether an answer that begins as an abstention goes on to name something that the question does not."""
    if not _GUESSES.search(judge_input.answer):
        return False
    if judge_input.trace == "times":
        return not set(_DATE.findall(normal(judge_input.answer))) <= set(_DATE.findall(normal(judge_input.question)))
    return any(holds_name(piece, judge_input.question) for piece in pieces_of(judge_input.answer))


def entries_of(judge_input: JudgeInput, missing: Sequence[str]) -> list[str]:
    """What the answer lists, normalised: dates, or else the lines of a list, or the pieces of sentences that hold names.

    A piece that says a part of a missing item counts too, since a first name alone may begin a sentence.
    """
    if judge_input.trace == "times":
        words = normal(judge_input.answer)
        return list(dict.fromkeys(_DATE.findall(words))) or ([words] if words else [])
    listed = [MARKER.sub("", line) for line in judge_input.answer.splitlines() if MARKER.match(line)]
    named = listed or [
        piece
        for piece in dict.fromkeys(pieces_of(judge_input.answer))  # an answer in circles has few different ones
        if holds_name(piece, judge_input.question)
        or any(is_half_in(item, normal(piece), judge_input.trace) for item in missing)
    ]
    return list(dict.fromkeys(filter(None, map(normal, named or [judge_input.answer]))))


def pieces_of(answer: str) -> list[str]:
    """The answer cut at commas, semicolons, `and`, and the ends of sentences and lines."""
    return re.split(rf"[,;\n]|\band\b|{SENTENCE_GAP}", answer)


def holds_name(piece: str, question: str) -> bool:
    """Whether the piece has a name that is not in the question; its first word may be capitalised without being a name."""
    asked = _words_of(question)
    names = [match[0].split()[match.start() == 0 :] for match in NAME.finditer(piece.strip())]
    return any(word.casefold() not in asked for name in names for word in name if not _MYSELF.fullmatch(word))


@lru_cache(maxsize=64)
def _words_of(question: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w'’-]+", question.casefold()))


_normal_item = lru_cache(maxsize=512)(normal)


def is_half_in(item: str, entry: str, trace: str) -> bool:
    """Whether the entry says a part of the item."""
    words = _normal_item(item)
    if trace == "times":
        month = _MONTH_YEAR.match(words)
        return month is not None and in_a_row(month[1], entry)
    if trace in ("entities", "other_entities"):
        return any(word in entry.split() for word in words.split())
    content: Sequence[str] = [word for word in words.split() if word not in SMALL_WORDS]
    return sum(word in entry.split() for word in content) * 2 >= len(content) > 0


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    setup = ""
    prompt_hash = "rules-3"  # a change of a rule needs a new version: the verdicts are then those of another judge

    def plan(self, inputs: Sequence[JudgeInput]) -> Estimate | None:
        return None

    def judge(self, inputs: Sequence[JudgeInput], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        for judge_input in inputs:
            yield Judgement(judge_input.key(self), self.verdict(judge_input))

    def verdict(self, judge_input: JudgeInput) -> Verdict:
        """The verdict on one answer; there always is one."""
        if judge_input.trace == "full_details":
            return judge_account(judge_input)
        reference, answer = judge_input.distinct_reference, judge_input.answer
        words = normal(answer)
        present = sorted((item for item in reference if is_in(item, words)), key=lambda item: position(item, words))
        if not present and is_abstention(answer) and not guesses(judge_input):
            return Verdict([], [0.0] * len(judge_input.reference), [], "the answer says that it does not know")
        missing = [item for item in reference if item not in present]
        listed = entries_of(judge_input, missing)
        entries = [entry for entry in listed if not any(is_in(item, entry) for item in present)]
        halves: dict[str, str] = {}
        for item in missing:
            half = next((entry for entry in entries if is_half_in(item, entry, judge_input.trace)), None)
            if half is not None and half not in halves.values():
                halves[item] = half
        scores = [1.0 if item in present else 0.5 if item in halves else 0.0 for item in judge_input.reference]
        reason = f"{len(present)} of {len(reference)} true items stand in the answer, {len(halves)} in part"
        positions = {item: position(item, words) for item in present}
        positions |= {item: position(half, words) for item, half in halves.items()}
        order = sorted(positions, key=lambda item: positions[item])
        return Verdict([*present, *entries], scores, order, reason)
