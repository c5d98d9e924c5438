"""The embedded judge: compares words, not meanings; the same verdict on every machine, without a model.

1 for a true item that stands in the answer (after normalisation of case, punctuation and dates), 0.5 for a part of
it (month and year of a date, first or last name, half of the words), else 0, as in the published judge's examples
(paper: Appendix B.4). A part that belongs to another true item counts for that one alone. What the question itself
names is no item of the answer. An abstention that is followed by a guess is no abstention.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from functools import cache

from epbench.metric_folders import metric_module
from epbench.models.estimate import Estimate
from epbench.tulving.judging.protocol import JudgeInput, Judgement, Verdict
from epbench.tulving.reader.story import MONTHS, NAME

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
_MARKER = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_SENTENCE = (
    r"(?<=[.!?])(?<!\bSt\.)\s"  # between two sentences of an answer; of all abbreviations, only names have `St.`
)
_MONTH_ALONE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{4}})\b", re.IGNORECASE)
_MONTH_YEAR = re.compile(r"\b(\d{4} \d{2}) \d{2}\b")
_DATE = re.compile(r"\b\d{4} \d{2}(?: \d{2})?\b")  # normalised, of a day or of a month
_SMALL_WORDS = frozenset(
    ["a", "an", "the", "of", "and", "in", "at", "on", "for", "to", "with", "de", "del", "da", "do"]
)

TOLD, PARTLY_TOLD = 0.8, 0.3  # share of a chapter's words that a full account must hold for 1, and for 0.5


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    prompt_hash = "rules-3"  # counted up when a rule changes: its verdicts are then those of another judge

    def plan(self, cases: Sequence[JudgeInput]) -> Estimate | None:
        """None: rules cost nothing."""
        return None

    def judge(self, cases: Sequence[JudgeInput]) -> Generator[Judgement]:
        """See `Judge.judge`."""
        for case in cases:
            yield Judgement(case.key(self), self.verdict(case))

    def verdict(self, case: JudgeInput) -> Verdict:
        """The verdict on one answer; there always is one."""
        if case.trace == "full_details":
            return _judge_account(case)
        truth = list(dict.fromkeys(case.truth))
        words = _normal(case.answer)
        found = sorted((item for item in truth if _stands_in(item, words)), key=lambda item: _place(item, words))
        if not found and _is_abstention(case.answer) and not _guesses(case):
            return Verdict([], [0.0] * len(case.truth), [], "the answer says that it does not know")
        missing = [item for item in truth if item not in found]
        entries = [entry for entry in _entries(case, missing) if not any(_stands_in(item, entry) for item in found)]
        halves: dict[str, str] = {}
        for item in missing:
            half = next((entry for entry in entries if _half(item, entry, case.trace)), None)
            if half is not None and half not in halves.values():
                halves[item] = half
        scores = [1.0 if item in found else 0.5 if item in halves else 0.0 for item in case.truth]
        reason = f"{len(found)} of {len(truth)} true items stand in the answer, {len(halves)} in part"
        places = {item: _place(item, words) for item in found} | {i: _place(h, words) for i, h in halves.items()}
        order = sorted(places, key=lambda item: places[item])
        return Verdict([*found, *entries], scores, order, reason)


def _judge_account(case: JudgeInput) -> Verdict:
    """A full account is one item; what counts is how many of the chapter's words it holds."""
    if not case.truth:
        empty = _is_abstention(case.answer)
        return Verdict([] if empty else [case.answer], [], [], "nothing happened that could be told")
    chapter = set(_normal(case.truth[0]).split()) - _SMALL_WORDS
    share = len(chapter & set(_normal(case.answer).split())) / len(chapter)
    score = 1.0 if share >= TOLD else 0.5 if share >= PARTLY_TOLD else 0.0
    items = [] if score == 0 and _is_abstention(case.answer) else ["account"]
    return Verdict(items, [score], list(case.truth) if score else [], f"{share:.0%} of the words of the chapter")


@cache
def _normaliser() -> Callable[[str], str]:
    normalise: Callable[[str], str] = metric_module("episodic_f1").normalise
    return normalise


def _normal(text: str) -> str:
    """Words and dates as the metric compares them; dates with slashes (month first) and months as parts of them."""
    return _MONTH_ALONE.sub(_month_number, _normaliser()(_SLASHED.sub(r"\3-\1-\2", text)))


def _month_number(match: re.Match[str]) -> str:
    return f"{match[2]} {MONTHS.index(match[1].capitalize()) + 1:02}"


def _stands_in(item: str, words: str) -> bool:
    return f" {_normal(item)} " in f" {words} "


def _place(item: str, words: str) -> int:
    return f" {words} ".find(f" {_normal(item)} ")


def _is_abstention(answer: str) -> bool:
    """Whether the first sentence says that there is no answer, and not only in brackets."""
    outside = re.sub(r"\([^()]*\)", "", answer).strip() or answer.strip()  # an answer may stand in brackets as a whole
    first = re.split(rf"{_SENTENCE}|\n", outside, maxsplit=1)[0]
    return not first or _ABSTAINS.search(first) is not None


def _guesses(case: JudgeInput) -> bool:
    """Whether an answer that begins as an abstention goes on to name something that the question does not."""
    if not _GUESSES.search(case.answer):
        return False
    if case.trace == "times":
        return not set(_DATE.findall(_normal(case.answer))) <= set(_DATE.findall(_normal(case.question)))
    return any(_holds_name(piece, case.question) for piece in _pieces(case.answer))


def _entries(case: JudgeInput, missing: Sequence[str]) -> list[str]:
    """The things that the answer lists, normalised: dates; else lines, or the pieces of a sentence with names.

    A piece that tells a part of a missing item counts too: a first name alone may begin a sentence.
    """
    if case.trace == "times":
        words = _normal(case.answer)
        return list(dict.fromkeys(_DATE.findall(words))) or ([words] if words else [])
    listed = [_MARKER.sub("", line) for line in case.answer.splitlines() if _MARKER.match(line)]
    named = listed or [
        piece
        for piece in _pieces(case.answer)
        if _holds_name(piece, case.question) or any(_half(item, _normal(piece), case.trace) for item in missing)
    ]
    return list(dict.fromkeys(filter(None, map(_normal, named or [case.answer]))))


def _pieces(answer: str) -> list[str]:
    return re.split(rf"[,;\n]|\band\b|{_SENTENCE}", answer)


def _holds_name(piece: str, question: str) -> bool:
    """Whether the piece has a name that is not in the question; one word that begins it may be no name."""
    asked = set(re.findall(r"[\w'’-]+", question.casefold()))
    names = [match[0].split()[match.start() == 0 :] for match in NAME.finditer(piece.strip())]
    return any(word.casefold() not in asked for name in names for word in name if not _MYSELF.fullmatch(word))


def _half(item: str, entry: str, trace: str) -> bool:
    """Whether the entry says a part of the item."""
    words = _normal(item)
    if trace == "times":
        month = _MONTH_YEAR.match(words)
        return month is not None and f" {month[1]} " in f" {entry} "
    if trace in ("entities", "other_entities"):
        return any(word in entry.split() for word in words.split())
    content: Sequence[str] = [word for word in words.split() if word not in _SMALL_WORDS]
    return sum(word in entry.split() for word in content) * 2 >= len(content) > 0
