"""The embedded judge: compares words, not meanings; the same verdict on every machine, without a model.

1 for a true item that stands in the answer (after normalisation of case, punctuation and dates), 0.5 for a part of
it (month and year of a date, first or last name, half of the words), else 0, as in the published judge's examples
(paper: Appendix B.4). A part that belongs to another true item counts for that one alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from functools import cache

from epbench.metric_folders import metric_module
from epbench.models.plan import Plan
from epbench.models.story import NAME
from epbench.tulving.judge import Case, Judgement, Verdict

_ABSTAINS = re.compile(
    r"\b(?:no (?:information|mention|record|evidence|answer|one|such|events?|dates?|locations?|details?)|nobody|nothing|"
    r"none|cannot|can ?not|can['’]t|unable|unknown|unsure|not (?:mentioned|stated|specified|given|sure|know|aware|find|"
    r"found|say|recall|remember|contain|provide|appear|answerable)|(?:don|doesn|didn|isn|wasn)['’]t (?:know|say|mention|"
    r"find|recall|remember|contain|provide|specify|appear|have|mentioned|stated))\b",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_MONTH_YEAR = re.compile(r"\b(\d{4} \d{2}) \d{2}\b")
_DAY = re.compile(r"\b\d{4} \d{2} \d{2}\b")
_SMALL_WORDS = frozenset(
    ["a", "an", "the", "of", "and", "in", "at", "on", "for", "to", "with", "de", "del", "da", "do"]
)

TOLD, PARTLY_TOLD = 0.8, 0.3  # share of a chapter's words that a full account must hold for 1, and for 0.5


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    prompt_hash = "rules-1"  # counted up when a rule changes: its verdicts are then those of another judge

    def plan(self, cases: Sequence[Case]) -> Plan | None:
        """None: rules cost nothing."""
        return None

    def judge(self, cases: Sequence[Case]) -> Generator[Judgement]:
        """See `Judge.judge`."""
        for case in cases:
            yield Judgement(case.key(self), self.verdict(case))

    def verdict(self, case: Case) -> Verdict:
        """The verdict on one answer; there always is one."""
        if case.trace == "full_details":
            return _judge_account(case)
        truth = list(dict.fromkeys(case.truth))
        words = _normal(case.answer)
        found = sorted((item for item in truth if _stands_in(item, words)), key=lambda item: _place(item, words))
        if not found and _is_abstention(case.answer):
            return Verdict([], [0.0] * len(case.truth), [], "the answer says that it does not know")
        entries = [entry for entry in _entries(case.answer, case.trace) if not any(_stands_in(i, entry) for i in found)]
        halves: dict[str, str] = {}
        for item in truth:
            half = next((e for e in entries if item not in found and _half(item, e, case.trace)), None)
            if half is not None and half not in halves.values():
                halves[item] = half
        scores = [1.0 if item in found else 0.5 if item in halves else 0.0 for item in case.truth]
        reason = f"{len(found)} of {len(truth)} true items stand in the answer, {len(halves)} in part"
        places = {item: _place(item, words) for item in found} | {i: _place(h, words) for i, h in halves.items()}
        order = sorted(places, key=lambda item: places[item])
        return Verdict([*found, *entries], scores, order, reason)


def _judge_account(case: Case) -> Verdict:
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
    """Words and dates as the metric compares them."""
    return _normaliser()(text)


def _stands_in(item: str, words: str) -> bool:
    return f" {_normal(item)} " in f" {words} "


def _place(item: str, words: str) -> int:
    return f" {words} ".find(f" {_normal(item)} ")


def _is_abstention(answer: str) -> bool:
    """Whether the first sentence says that there is no answer."""
    first = re.split(r"(?<=[.!?])\s|\n", answer.strip(), maxsplit=1)[0]
    return not first or _ABSTAINS.search(first) is not None


def _entries(answer: str, trace: str) -> list[str]:
    """The things that the answer lists, normalised: dates; else lines, or the pieces of a sentence with names."""
    if trace == "times":
        words = _normal(answer)
        return list(dict.fromkeys(_DAY.findall(words))) or ([words] if words else [])
    lines = [line for line in answer.splitlines() if line.strip()]
    listed = [_MARKER.sub("", line) for line in lines if _MARKER.match(line)]
    pieces = listed or re.split(r"[,;\n]|\band\b|(?<=[.!?])\s", answer)
    named = [piece for piece in pieces if listed or _holds_name(piece)] or [answer]
    return list(dict.fromkeys(filter(None, map(_normal, named))))


def _holds_name(piece: str) -> bool:
    names = [match for match in NAME.finditer(piece) if match.start() > 0 or " " in match[0]]
    return bool(names)


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
