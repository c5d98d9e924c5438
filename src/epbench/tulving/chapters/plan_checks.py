"""Checks of a chapter beyond the template, by whichever writer: it says what its plan says, and nothing that competes.

The form is checked as at level 1. The names of the checks extend those of `exact_checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from epbench.tulving.chapters.exact_checks import (
    check_paragraphs,
    check_placeholders,
    check_words,
    split_paragraphs,
)
from epbench.tulving.chapters.loop import Candidate, ChapterCheck
from epbench.tulving.events.dates import find_dates
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import ChapterPlan
from epbench.tulving.scenes.patterns import with_right_articles
from epbench.tulving.scenes.people import pronouns_of

_SENTENCE = re.compile(r"(?<=[.!?])[\"”]? +")
_TWICE = re.compile(r"\b((?i:\w+)) (?=[a-z])(?i:\1)\b")  # `New New York Aquarium` is a name with a qualifier
_RIGHTLY_TWICE = frozenset(["had", "that"])


def checks_of(universe: Universe) -> ChapterCheck:
    """Return the check of candidates whose tasks have a plan."""
    vocabulary = Vocabulary(universe)

    def check(candidate: Candidate) -> list[str]:
        task = candidate.task
        assert task.plan is not None, "books of level 2 and higher have plans"
        return check_planned(candidate.text, task.event, task.layout, task.plan, vocabulary)

    return check


def check_planned(text: str, event: Event, layout: Layout, plan: ChapterPlan, vocabulary: Vocabulary) -> list[str]:
    """Return the names of the checks that a candidate fails.

    Args:
        text: Numbered paragraphs with placeholders for side characters.
        event: What the chapter tells.
        layout: In which paragraph it tells each fact.
        plan: In which words, and which sentences it must have.
        vocabulary: The names of the universe.

    Returns:
        An empty list for a chapter that is right. Otherwise a fault of its form alone; or `fixed_sentence` alone (one is
        missing, or in another paragraph); or any of `has_<fact>`, `single_<fact>`, `correct_<fact>` (see `exact_checks`),
        `event_named`, `event_unnamed`, `event_told`, `side_deed`, `other_date`, `other_location`, `other_entity`,
        `other_content` (a value that is not this chapter's, outside of the fixed sentences), `articles`, `doubled_word`,
        `repeated_sentence` and `pronouns`.
    """
    paragraphs = split_paragraphs(text)
    form = check_paragraphs(paragraphs, layout.n_paragraphs) or check_placeholders(text)
    if form:
        return [form]
    free = without_fixed(paragraphs, plan)
    if free is None:
        return ["fixed_sentence"]
    failed = check_words(free, plan.words(event), layout) + _check_event(free, event, layout, plan)
    if any(f"$entity_{number} {deed}" not in text for number, deed in enumerate(plan.deeds, 1)):
        failed.append("side_deed")
    return failed + _check_others(free, event, plan, vocabulary) + check_prose(paragraphs, event)


def without_fixed(paragraphs: list[str], plan: ChapterPlan) -> list[str] | None:
    """Return the paragraphs without the fixed sentences; None if one of these is not where it belongs."""
    free = list(paragraphs)
    for fixed in plan.fixed:
        at = fixed.paragraph - 1
        if free[at].count(fixed.text) != 1:
            return None
        free[at] = free[at].replace(fixed.text, "")
    return free


def _check_event(paragraphs: list[str], event: Event, layout: Layout, plan: ChapterPlan) -> list[str]:
    """Whether the kind of event is named as the plan wants it; from level 4 on, only where its detail is told."""
    told = [_without_words(paragraph, event, plan).lower() for paragraph in paragraphs]
    where = [number for number, paragraph in enumerate(told, 1) if event.content.lower() in paragraph]
    if not plan.named:
        paraphrased = plan.what.lower() in told[layout.content - 1]
        return [*(["event_unnamed"] if where else []), *([] if paraphrased else ["event_told"])]
    right = where == [layout.content] if plan.level >= 4 else bool(where)
    return [] if right else ["event_named"]


def _check_others(paragraphs: list[str], event: Event, plan: ChapterPlan, vocabulary: Vocabulary) -> list[str]:
    """Whether a date or a name of the universe occurs that is not told by the words of the plan."""
    text = _without_words("\n".join(paragraphs), event, plan)
    for number, deed in enumerate(plan.deeds, 1):
        text = text.replace(f"$entity_{number} {deed}", "—")
    found = {mention.fact for mention in vocabulary.mentions(text) if (mention.name != event.content)}
    if plan.hero != event.first_name and re.search(rf"\b{re.escape(event.first_name)}\b", text):
        found.add("entity")  # the first name would give away who the nickname stands for
    return [f"other_{fact}" for fact in ("date", "location", "entity", "content") if fact in found]


def _without_words(text: str, event: Event, plan: ChapterPlan) -> str:
    """A text without the words that tell the facts."""
    for words in sorted(plan.words(event).values(), key=len, reverse=True):
        text = re.sub(re.escape(words), "—", text, flags=re.IGNORECASE)
    return text


def check_prose(paragraphs: list[str], event: Event) -> list[str]:
    """Return the faults of the prose that rules can see."""
    failed = []
    bodies = [re.sub(r"^\(\d+\) ", "", paragraph) for paragraph in paragraphs]
    if any(with_right_articles(body) != body for body in bodies):
        failed.append("articles")
    if any(match[1].lower() not in _RIGHTLY_TWICE for body in bodies for match in _TWICE.finditer(body)):
        failed.append("doubled_word")
    sentences = [sentence for body in bodies for sentence in _SENTENCE.split(body)]
    if len(set(sentences)) < len(sentences):
        failed.append("repeated_sentence")
    words = pronouns_of(event.first_name)
    if not re.search(rf"\b(?:{words.subject}|{words.object}|{words.possessive})\b", " ".join(bodies), re.IGNORECASE):
        failed.append("pronouns")
    return failed


_WORD = re.compile(r"\w+")


class Found(NamedTuple):
    """A mention in a text.

    Attributes:
        fact: `date`, `location`, `entity` or `content`.
        name: The name, or the date as it is written.
    """

    fact: str
    name: str


class Vocabulary:
    """The names of the spaces, entities and contents of a universe, by their first words."""

    def __init__(self, universe: Universe) -> None:
        self._by_first_word: dict[str, list[tuple[str, Found]]] = {}
        for fact, names in (
            ("location", universe.spaces),
            ("entity", universe.entities),
            ("content", universe.contents),
        ):
            self._add(fact, names)

    def _add(self, fact: str, names: Iterable[str]) -> None:
        for name in names:
            lowered = name.lower()
            first = _WORD.search(lowered)
            assert first is not None, "names have letters"
            self._by_first_word.setdefault(first[0], []).append((lowered, Found(fact, name)))

    def mentions(self, text: str) -> Iterator[Found]:
        """Yield the dates in any format, then the names as whole words in any case, in the order of the text."""
        for _, _, written in find_dates(text):
            yield Found("date", written)
        lowered = text.lower()
        if self._by_first_word.keys().isdisjoint(_WORD.findall(lowered)):
            return
        for match in _WORD.finditer(lowered):
            for name, found in self._by_first_word.get(match[0], ()):
                end = match.start() + len(name)
                if lowered.startswith(name, match.start()) and not lowered[end : end + 1].isalnum():
                    yield found
