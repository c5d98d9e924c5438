"""Exact checks of one candidate chapter by any writer (paper: Appendix B.1.6).

A candidate is a text of numbered paragraphs, `(1) …`, `(2) …`, in which `$entity_1`, `$entity_2` stand for side
characters. The names of the checks are those of the published data. Those of a chapter with a plan extend them: it says
what its plan says, and nothing that competes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from epbench.tulving.events.dates import find_dates
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.plan import FACTS, ChapterPlan, paragraphs_by_fact
from epbench.tulving.scenes.patterns import has_doubled_word, pronouns_of, with_right_articles

PLACEHOLDER = re.compile(r"\$entity_(\d+)")
_SENTENCE = re.compile(r"(?<=[.!?])[\"”]? +")


def check_chapter(
    text: str, event: Event, layout: Layout, plan: ChapterPlan | None = None, vocabulary: Vocabulary | None = None
) -> list[str]:
    """Return the names of the checks that the candidate fails, in the order of the checks.

    Form comes first: if the paragraphs or the placeholders are wrong, the text is not searched for facts. A chapter with a plan
    is checked with the names of its universe, too.

    Returns:
        An empty list for an exact candidate. Otherwise the first that fails of `paragraphs_nb`,
        `paragraphs_initials_shape`, `paragraphs_initials_increment`, `other_entities_shape` and
        `other_entities_shape_integer`, alone; or, for each fact, `has_<fact>` (no paragraph has it), `single_<fact>`
        (several paragraphs have it) or `correct_<fact>` (only a wrong paragraph has it). With a plan, after the form,
        `fixed_sentence` alone (one is missing, or in another paragraph); and after the facts any of `event_named`,
        `event_unnamed`, `event_told`, `side_deed`, `other_date`, `other_location`, `other_entity`, `other_content` (a value
        that is not this chapter's, outside of the fixed sentences), `articles`, `doubled_word`, `repeated_sentence` and
        `pronouns`.
    """
    if form := fault_of_form(text, layout.n_paragraphs):
        return [form[0]]
    paragraphs = split_paragraphs(text)
    if plan is None:
        return _check_words(paragraphs, facts_in_words(event), layout)
    assert vocabulary is not None, "a plan is checked with the names of the universe"
    free = _without_fixed(paragraphs, plan)
    if free is None:
        return ["fixed_sentence"]
    words = plan.words(event)
    told = {fact: words[fact] for fact in words if fact == "content" or fact not in plan.contrasted}
    again = paragraphs_with(free, {fact: words[fact] for fact in words if fact not in told})
    failed = _check_words(free, told, layout) + [f"single_{fact}" for fact, found in again.items() if found]
    failed += _check_event(free, event, layout, plan)
    if any(f"$entity_{number} {deed}" not in text for number, deed in enumerate(plan.deeds, 1)):
        failed.append("side_deed")
    return failed + _check_others(free, event, plan, vocabulary) + _check_prose(paragraphs, event)


def split_paragraphs(text: str) -> list[str]:
    """Return the lines of a text that are not blank; a title counts as a paragraph."""
    return [line for line in text.strip().split("\n") if line.strip()]


def fault_of_form(text: str, n_paragraphs: int) -> tuple[str, str] | None:
    """Return the check of its form that a candidate fails, and the words at fault; None if its form is right.

    There must be as many paragraphs as expected, numbered `(1) `, `(2) `, … with one blank each, and the letters `entity`
    may only occur in `$entity_<number>`: no `Entity_1`, and no `identity` either.
    """
    paragraphs = split_paragraphs(text)
    if len(paragraphs) != n_paragraphs:
        return "paragraphs_nb", ""
    for paragraph in paragraphs:
        if not re.match(r"\(\d+\)", paragraph):
            return "paragraphs_initials_shape", _shortened(paragraph)
    for number, paragraph in enumerate(paragraphs, 1):
        if not re.match(rf"\({number}\) \S", paragraph):
            return "paragraphs_initials_increment", _shortened(paragraph)
    if text.lower().count("entity") == len(PLACEHOLDER.findall(text)):  # so each stands in a placeholder
        return None
    places = [match.start() for match in re.finditer("entity", text, re.IGNORECASE)]
    for at in places:
        if text[max(0, at - 1) : at + 7] != "$entity_":
            return "other_entities_shape", _word_at(text, at)
    for at in places:
        if not text[at + 7 : at + 8].isdecimal():
            return "other_entities_shape_integer", _word_at(text, at)
    return None


def _check_words(paragraphs: list[str], words: Mapping[str, str], layout: Layout) -> list[str]:
    """Whether the words of each fact occur in their paragraph and in no other, in any case."""
    paragraphs_of, planned = paragraphs_with(paragraphs, words), paragraphs_by_fact(layout)
    failed = [f"has_{fact}" for fact, found in paragraphs_of.items() if not found]
    failed += [f"single_{fact}" for fact, found in paragraphs_of.items() if len(found) > 1]
    single = {fact: found[0] for fact, found in paragraphs_of.items() if len(found) == 1}
    return failed + [f"correct_{fact}" for fact, paragraph in single.items() if paragraph != planned[fact]]


def facts_in_words(event: Event) -> dict[str, str]:
    """Return the words of each fact at level 1: the names themselves, and the date as the book writes it."""
    return dict(zip(FACTS, (event.space, event.day, event.entity, event.detail), strict=True))


def paragraphs_with(paragraphs: list[str], words: Mapping[str, str]) -> dict[str, list[int]]:
    """Return, for each fact, the numbers (from 1) of the paragraphs that have its words, in any case."""
    folded = [paragraph.lower() for paragraph in paragraphs]
    return {fact: [i for i, p in enumerate(folded, 1) if told.lower() in p] for fact, told in words.items()}


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _word_at(text: str, at: int) -> str:
    """The word at a position of a text, with the punctuation attached to it."""
    begin = max(text.rfind(blank, 0, at) for blank in " \n") + 1
    return _shortened(re.split(r"\s", text[begin:], maxsplit=1)[0])


def _without_fixed(paragraphs: list[str], plan: ChapterPlan) -> list[str] | None:
    """The paragraphs without the fixed sentences; None if one of these is not where it belongs."""
    free = list(paragraphs)
    for fixed in plan.fixed:
        at = fixed.paragraph - 1
        if free[at].count(fixed.text) != 1:
            return None
        free[at] = free[at].replace(fixed.text, "")
    return free


def _check_event(paragraphs: list[str], event: Event, layout: Layout, plan: ChapterPlan) -> list[str]:
    """Whether the kind of event is called as the plan wants it; from level 3 on, only where its detail is told."""
    lowered = [_without_words(paragraph, event, plan).lower() for paragraph in paragraphs]
    where = [number for number, paragraph in enumerate(lowered, 1) if event.content.lower() in paragraph]
    if "content" in plan.contrasted:
        return [] if not where else ["event_named" if plan.named else "event_unnamed"]
    if not plan.named:
        paraphrased = plan.what.lower() in lowered[layout.content - 1]
        return [*(["event_unnamed"] if where else []), *([] if paraphrased else ["event_told"])]
    right = where == [layout.content] if plan.level >= 3 else bool(where)
    return [] if right else ["event_named"]


def _check_others(paragraphs: list[str], event: Event, plan: ChapterPlan, vocabulary: Vocabulary) -> list[str]:
    """Whether a date or a name of the universe occurs that is not told by the words of the plan."""
    text = _without_words("\n".join(paragraphs), event, plan)
    for number, deed in enumerate(plan.deeds, 1):
        text = text.replace(f"$entity_{number} {deed}", "—")
    facts = {mention.fact for mention in vocabulary.names(text) if mention.name != event.content}
    if any(find_dates(text)):
        facts.add("date")
    if plan.hero != event.first_name and re.search(rf"\b{re.escape(event.first_name)}\b", text):
        facts.add("entity")  # the first name would give away who the nickname stands for
    return [f"other_{fact}" for fact in ("date", "location", "entity", "content") if fact in facts]


def _without_words(text: str, event: Event, plan: ChapterPlan) -> str:
    """A text without the words that tell the facts."""
    for words in sorted(plan.words(event).values(), key=len, reverse=True):
        while (at := text.lower().find(words.lower())) >= 0:
            text = f"{text[:at]}—{text[at + len(words) :]}"
    return text


def _check_prose(paragraphs: list[str], event: Event) -> list[str]:
    failed = []
    bodies = [re.sub(r"^\(\d+\) ", "", paragraph) for paragraph in paragraphs]
    if any(with_right_articles(body) != body for body in bodies):
        failed.append("articles")
    if any(map(has_doubled_word, bodies)):
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
    """A mention in a text."""

    fact: str  # `location`, `entity` or `content`
    name: str


class Vocabulary:
    """The names of the spaces, entities and contents of a universe, by their first words."""

    def __init__(self, universe: Universe) -> None:
        self._by_first_word: dict[str, list[tuple[str, Found]]] = defaultdict(list)
        listed = {"location": universe.spaces, "entity": universe.entities, "content": universe.contents}
        for fact, names in listed.items():
            for name in names:
                lowered = name.lower()
                first = _WORD.search(lowered)
                assert first is not None, "names have letters"
                self._by_first_word[first[0]].append((lowered, Found(fact, name)))

    def names(self, text: str) -> Iterator[Found]:
        """Yield the names as whole words in any case, in the order of the text."""
        lowered = text.lower()
        found = [
            (at, order, mention)
            for word in self._by_first_word.keys() & _WORD.findall(lowered)
            for order, (name, mention) in enumerate(self._by_first_word[word])
            for at in _whole_words(name, lowered)
        ]
        for _, _, mention in sorted(found):
            yield mention


def _whole_words(name: str, text: str) -> Iterator[int]:
    """Where a name stands in a text, but not within longer words."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not before.isalnum() and before != "_" and not after.isalnum():
            yield at
        at = text.find(name, at + 1)
