"""Exact checks of one candidate chapter, whoever wrote it (paper: Appendix B.1.6).

A candidate is a text of numbered paragraphs, `(1) …`, `(2) …`, in which side characters stand as `$entity_1`,
`$entity_2`. Every check has the name that the published data gives it.
"""

from __future__ import annotations

import re

from epbench.tulving.events import Event
from epbench.tulving.plans import Plan

PLACEHOLDER = re.compile(r"\$entity_(\d+)")
FACTS = ("location", "date", "entity", "content")


def check_chapter(text: str, event: Event, plan: Plan) -> list[str]:
    """Names of the checks that the candidate fails, in the order of the checks; empty when it is exact.

    Form comes first: a text whose paragraphs or placeholders are wrong is not searched for facts.

    Returns:
        Any of `paragraphs_nb`, `paragraphs_initials_shape`, `paragraphs_initials_increment`,
        `other_entities_shape`, `other_entities_shape_integer` (the first that fails, alone), or, for each fact,
        `has_<fact>` (it stands nowhere), `single_<fact>` (in several paragraphs), `correct_<fact>` (in another
        paragraph than planned).
    """
    paragraphs = split_paragraphs(text)
    form = check_paragraphs(paragraphs, plan.n_paragraphs) or check_placeholders(text)
    return [form] if form else check_facts(paragraphs, event, plan)


def split_paragraphs(text: str) -> list[str]:
    """Lines that hold something; a title line counts as a paragraph."""
    return [line for line in re.split(r"\n+", text.strip()) if line.strip()]


def check_paragraphs(paragraphs: list[str], expected: int) -> str | None:
    """As many paragraphs as planned, numbered `(1) `, `(2) `, … with one blank each."""
    if len(paragraphs) != expected:
        return "paragraphs_nb"
    if not all(re.match(r"\(\d+\)", paragraph) for paragraph in paragraphs):
        return "paragraphs_initials_shape"
    if not all(re.match(rf"\({i}\) \S", paragraph) for i, paragraph in enumerate(paragraphs, 1)):
        return "paragraphs_initials_increment"
    return None


def check_placeholders(text: str) -> str | None:
    """The letters `entity` stand only in `$entity_<number>`: no `Entity_1`, and no `identity` either."""
    mentions = [match.start() for match in re.finditer("entity", text, re.IGNORECASE)]
    if not all(text[max(0, at - 1) : at + 7] == "$entity_" for at in mentions):
        return "other_entities_shape"
    if not all(text[at + 7 : at + 8].isdecimal() for at in mentions):
        return "other_entities_shape_integer"
    return None


def check_facts(paragraphs: list[str], event: Event, plan: Plan) -> list[str]:
    """Place, date, full name and detail stand word for word in the planned paragraph and in no other."""
    facts = dict(zip(FACTS, (event.space, event.day, event.entity, event.detail), strict=True))
    planned = dict(zip(FACTS, (plan.space, plan.time, plan.entity, plan.content), strict=True))
    folded = [paragraph.lower() for paragraph in paragraphs]
    found = {fact: [i for i, p in enumerate(folded, 1) if words.lower() in p] for fact, words in facts.items()}
    failed = [f"has_{fact}" for fact in FACTS if not found[fact]]
    failed += [f"single_{fact}" for fact in FACTS if len(found[fact]) > 1]
    failed += [f"correct_{fact}" for fact in FACTS if len(found[fact]) == 1 and found[fact] != [planned[fact]]]
    return failed
