"""Exact checks of one candidate chapter by any writer (paper: Appendix B.1.6).

A candidate is a text of numbered paragraphs, `(1) …`, `(2) …`, in which `$entity_1`, `$entity_2` stand for side
characters. The names of the checks are those of the published data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout
from epbench.tulving.levels.plan import FACTS

PLACEHOLDER = re.compile(r"\$entity_(\d+)")


def check_chapter(text: str, event: Event, layout: Layout) -> list[str]:
    """Return the names of the checks that the candidate fails, in the order of the checks.

    Form comes first: if the paragraphs or the placeholders are wrong, the text is not searched for facts.

    Returns:
        An empty list for an exact candidate. Otherwise the first that fails of `paragraphs_nb`,
        `paragraphs_initials_shape`, `paragraphs_initials_increment`, `other_entities_shape` and
        `other_entities_shape_integer`, alone; or, for each fact, `has_<fact>` (no paragraph has it), `single_<fact>`
        (several paragraphs have it) or `correct_<fact>` (only a wrong paragraph has it).
    """
    paragraphs = split_paragraphs(text)
    form = check_paragraphs(paragraphs, layout.n_paragraphs) or check_placeholders(text)
    return [form] if form else check_facts(paragraphs, event, layout)


def split_paragraphs(text: str) -> list[str]:
    """Return the lines of a text that are not blank; a title counts as a paragraph."""
    return [line for line in text.strip().split("\n") if line.strip()]


def check_paragraphs(paragraphs: list[str], expected: int) -> str | None:
    """Check that there are as many paragraphs as expected, numbered `(1) `, `(2) `, … with one blank each."""
    if len(paragraphs) != expected:
        return "paragraphs_nb"
    if _unnumbered(paragraphs):
        return "paragraphs_initials_shape"
    if _misnumbered(paragraphs):
        return "paragraphs_initials_increment"
    return None


def _unnumbered(paragraphs: list[str]) -> list[str]:
    return [paragraph for paragraph in paragraphs if not re.match(r"\(\d+\)", paragraph)]


def _misnumbered(paragraphs: list[str]) -> list[str]:
    return [paragraph for i, paragraph in enumerate(paragraphs, 1) if not re.match(rf"\({i}\) \S", paragraph)]


def check_placeholders(text: str) -> str | None:
    """Check that the letters `entity` only occur in `$entity_<number>`: no `Entity_1`, and no `identity` either."""
    if text.lower().count("entity") == len(PLACEHOLDER.findall(text)):  # so each stands in a placeholder
        return None
    if _outside_marks(text):
        return "other_entities_shape"
    if _without_number(text):
        return "other_entities_shape_integer"
    return None


def _outside_marks(text: str) -> list[int]:
    """Where the letters `entity` occur outside of `$entity_`."""
    return [at for at in _entities(text) if text[max(0, at - 1) : at + 7] != "$entity_"]


def _without_number(text: str) -> list[int]:
    return [at for at in _entities(text) if not text[at + 7 : at + 8].isdecimal()]


def _entities(text: str) -> list[int]:
    return [match.start() for match in re.finditer("entity", text, re.IGNORECASE)]


def check_facts(paragraphs: list[str], event: Event, layout: Layout) -> list[str]:
    """Check that location, date, full name and detail occur word for word in their paragraph and in no other."""
    return check_words(paragraphs, facts_in_words(event), layout)


def check_words(paragraphs: list[str], words: Mapping[str, str], layout: Layout) -> list[str]:
    """Check that the words of each fact occur in their paragraph and in no other, in any case."""
    found, planned = paragraphs_with(paragraphs, words), paragraphs_by_fact(layout)
    failed = [f"has_{fact}" for fact in FACTS if not found[fact]]
    failed += [f"single_{fact}" for fact in FACTS if len(found[fact]) > 1]
    failed += [f"correct_{fact}" for fact in FACTS if len(found[fact]) == 1 and found[fact] != [planned[fact]]]
    return failed


def facts_in_words(event: Event) -> dict[str, str]:
    """Return the words of each fact at level 1: the names themselves, and the date as the book writes it."""
    return dict(zip(FACTS, (event.space, event.day, event.entity, event.detail), strict=True))


def paragraphs_with(paragraphs: list[str], words: Mapping[str, str]) -> dict[str, list[int]]:
    """Return, for each fact, the numbers (from 1) of the paragraphs that have its words, in any case."""
    folded = [paragraph.lower() for paragraph in paragraphs]
    return {fact: [i for i, p in enumerate(folded, 1) if words[fact].lower() in p] for fact in FACTS}


def paragraphs_by_fact(layout: Layout) -> dict[str, int]:
    """Return, for each fact, the number of the only paragraph that may tell it."""
    return dict(zip(FACTS, (layout.space, layout.time, layout.entity, layout.content), strict=True))


def excerpt_at_fault(check: str, text: str) -> str:
    """Return the words of a candidate that fail a check of its form; "" for the other checks."""
    paragraphs = split_paragraphs(text)
    match check:
        case "paragraphs_initials_shape":
            return _shortened(_unnumbered(paragraphs)[0])
        case "paragraphs_initials_increment":
            return _shortened(_misnumbered(paragraphs)[0])
        case "other_entities_shape":
            return _words_around(text, _outside_marks(text)[0])
        case "other_entities_shape_integer":
            return _words_around(text, _without_number(text)[0])
    return ""


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _words_around(text: str, at: int) -> str:
    """The word at a position of a text, with the punctuation attached to it."""
    begin = max(text.rfind(blank, 0, at) for blank in " \n") + 1
    return _shortened(re.split(r"\s", text[begin:], maxsplit=1)[0])
