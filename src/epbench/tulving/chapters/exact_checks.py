"""Exact checks of one candidate chapter, whoever wrote it (paper: Appendix B.1.6).

A candidate is a text of numbered paragraphs, `(1) …`, `(2) …`, in which side characters stand as `$entity_1`,
`$entity_2`. Every check has the name that the published data gives it.
"""

from __future__ import annotations

import re

from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout

PLACEHOLDER = re.compile(r"\$entity_(\d+)")
FACTS = ("location", "date", "entity", "content")


def check_chapter(text: str, event: Event, layout: Layout) -> list[str]:
    """Names of the checks that the candidate fails, in the order of the checks; empty when it is exact.

    Form comes first: a text whose paragraphs or placeholders are wrong is not searched for facts.

    Returns:
        Any of `paragraphs_nb`, `paragraphs_initials_shape`, `paragraphs_initials_increment`,
        `other_entities_shape`, `other_entities_shape_integer` (the first that fails, alone), or, for each fact,
        `has_<fact>` (it stands nowhere), `single_<fact>` (in several paragraphs), `correct_<fact>` (in another
        paragraph than planned).
    """
    paragraphs = split_paragraphs(text)
    form = check_paragraphs(paragraphs, layout.n_paragraphs) or check_placeholders(text)
    return [form] if form else check_facts(paragraphs, event, layout)


def split_paragraphs(text: str) -> list[str]:
    """Lines that hold something; a title line counts as a paragraph."""
    return [line for line in re.split(r"\n+", text.strip()) if line.strip()]


def check_paragraphs(paragraphs: list[str], expected: int) -> str | None:
    """As many paragraphs as planned, numbered `(1) `, `(2) `, … with one blank each."""
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
    """The letters `entity` stand only in `$entity_<number>`: no `Entity_1`, and no `identity` either."""
    if _outside_marks(text):
        return "other_entities_shape"
    if _without_number(text):
        return "other_entities_shape_integer"
    return None


def _outside_marks(text: str) -> list[int]:
    """Where the letters `entity` stand without being `$entity_`."""
    return [at for at in _entities(text) if text[max(0, at - 1) : at + 7] != "$entity_"]


def _without_number(text: str) -> list[int]:
    return [at for at in _entities(text) if not text[at + 7 : at + 8].isdecimal()]


def _entities(text: str) -> list[int]:
    return [match.start() for match in re.finditer("entity", text, re.IGNORECASE)]


def check_facts(paragraphs: list[str], event: Event, layout: Layout) -> list[str]:
    """Place, date, full name and detail stand word for word in the planned paragraph and in no other."""
    found, planned = paragraphs_with(paragraphs, event), paragraphs_by_fact(layout)
    failed = [f"has_{fact}" for fact in FACTS if not found[fact]]
    failed += [f"single_{fact}" for fact in FACTS if len(found[fact]) > 1]
    failed += [f"correct_{fact}" for fact in FACTS if len(found[fact]) == 1 and found[fact] != [planned[fact]]]
    return failed


def paragraphs_with(paragraphs: list[str], event: Event) -> dict[str, list[int]]:
    """For each fact the numbers, from 1, of the paragraphs in which it stands word for word, in upper or lower case."""
    facts = dict(zip(FACTS, (event.space, event.day, event.entity, event.detail), strict=True))
    folded = [paragraph.lower() for paragraph in paragraphs]
    return {fact: [i for i, p in enumerate(folded, 1) if words.lower() in p] for fact, words in facts.items()}


def paragraphs_by_fact(layout: Layout) -> dict[str, int]:
    """For each fact the number of the paragraph that alone may tell it."""
    return dict(zip(FACTS, (layout.space, layout.time, layout.entity, layout.content), strict=True))


def excerpt_at_fault(check: str, text: str) -> str:
    """The words of a candidate because of which it fails a check of its form; empty for the other checks."""
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
    """The word in which a place of a text stands, with what is written onto it."""
    begin = max(text.rfind(blank, 0, at) for blank in " \n") + 1
    return _shortened(re.split(r"\s", text[begin:], maxsplit=1)[0])
