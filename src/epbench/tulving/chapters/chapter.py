"""From accepted drafts to a book: names of side characters, headings, order (paper: Appendices B.1.8, B.1.9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from epbench.errors import BadInput
from epbench.tulving.chapters.exact_checks import PLACEHOLDER, split_paragraphs
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout


@dataclass(frozen=True, slots=True)
class Draft:
    """An accepted candidate, with numbered paragraphs and with placeholders for side characters.

    Attributes:
        number: The number of the event, from 0.
        event: The event that it tells.
        layout: How it is built.
        text: Its text.
    """

    number: int
    event: Event
    layout: Layout
    text: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter as the reader sees it.

    Attributes:
        number: Its position in the book, from 1.
        event: The event that it tells.
        style: Its style.
        n_paragraphs: The number of its paragraphs.
        text: Its text without a heading; a blank line separates paragraphs.
        secondary: The full names of its side characters.
    """

    number: int
    event: Event
    style: str
    n_paragraphs: int
    text: str
    secondary: tuple[str, ...]


def fill_secondary(drafts: Sequence[Draft], names: Iterable[str]) -> list[Chapter]:
    """Replace every `$entity_<i>` by a full name that no other chapter has, and remove the numbers of paragraphs.

    Args:
        drafts: The drafts in the order of the book.
        names: The names to use. Within a chapter they go to the placeholders in the order of their numbers, whether or
            not the numbers have gaps.

    Raises:
        BadInput: There are fewer names than side characters.
    """
    supply = iter(names)
    chapters: list[Chapter] = []
    for draft in drafts:
        numbers = sorted({int(found) for found in PLACEHOLDER.findall(draft.text)})
        given = dict(zip(numbers, supply, strict=False))
        if len(given) < len(numbers):
            where = f"chapter {len(chapters) + 1}"
            raise BadInput(f"{where}: expected {len(numbers)} names for its side characters, found {len(given)}")
        text = PLACEHOLDER.sub(lambda match, given=given: given[int(match[1])], draft.text)  # type: ignore[misc]
        paragraphs = [re.sub(r"^\(\d+\)\s*", "", paragraph) for paragraph in split_paragraphs(text)]
        chapters.append(
            Chapter(
                number=len(chapters) + 1,
                event=draft.event,
                style=draft.layout.style,
                n_paragraphs=len(paragraphs),
                text="\n\n".join(paragraphs),
                secondary=tuple(given.values()),
            )
        )
    return chapters


def in_chronological_order(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Return the chapters by date, with new numbers; those of one day keep their order (paper: Appendix E.6)."""
    ordered = sorted(chapters, key=lambda chapter: chapter.event.time)
    return [replace(chapter, number=number) for number, chapter in enumerate(ordered, 1)]


def assemble(chapters: Sequence[Chapter]) -> str:
    """Return the book: `Chapter 1`, a blank line, its text, two blank lines, `Chapter 2`, …"""
    return "\n\n\n".join(f"Chapter {chapter.number}\n\n{chapter.text}" for chapter in chapters)
