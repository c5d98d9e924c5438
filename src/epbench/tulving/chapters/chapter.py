"""From what is to be written to a book: tasks, the protocol of writers, names of side characters, headings, order.

Paper: Appendices B.1.8 and B.1.9.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.progress import Progress
from epbench.tulving.chapters.checks import PLACEHOLDER, split_paragraphs
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.plan import ChapterPlan, Evidence, Outcome, Spot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """One candidate to write."""

    number: int  # the number of the event, from 0
    event: Event  # what the chapter tells
    layout: Layout  # how the chapter is built
    attempt: int  # 0 for the first candidate for this event, then 1, 2, …
    failed: tuple[str, ...] = ()  # the checks that the previous candidate failed; empty for the first one
    previous: str = ""  # the text of the previous candidate; "" for the first one
    plan: ChapterPlan | None = None  # in which words the chapter tells it; None at level 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """The result of a task."""

    task: Task  # what was to be written
    # Numbered paragraphs, `(1) …`, with `$entity_1`, `$entity_2` for side characters, and nothing around them
    text: str
    # Why there is no complete chapter, whatever the text: `cut_off` (the writer ran out of tokens), `empty` or
    # `refused`; None otherwise
    fault: str | None = None
    why: str = ""  # the reason for a fault that the model or its backend gave; "" if there is none


@dataclass(frozen=True, slots=True)
class Description:
    """What a dataset card says about chapters that were written by rules."""

    made: str  # how a chapter was made: the end of a sentence that begins with "each chapter was"
    limits: str  # what the prose is like, and what follows for scores, in full sentences


class Writer(Protocol):
    """Writes candidates in batches, so that a model can work on all of them at once."""

    @property
    def name(self) -> str:
        """The name for the card: `template`, or the name of the model."""
        ...

    @property
    def description(self) -> Description | None:
        """How a writer that follows rules makes its chapters; None for a model, which reports its checker instead."""
        ...

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """Write one candidate for each task, in the order of the tasks."""
        ...

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """Return, for each candidate that passed the exact checks, the names of the checks by a model that it fails.

        RunFailed if some candidates have no verdict: they are neither accepted nor discarded.
        """
        ...

    def about(self) -> Mapping[str, Any]:
        """Return what else a report should say, such as prompts, tokens and a model's `checker`, once all is written."""
        ...


class RuleWriter(ABC):
    """A writer that follows rules: no model is asked, and its sentences have no second date, location, person or event."""

    name = "template"

    def __init__(self, universe: Universe, seed: int, styles: Sequence[str], lacking: str) -> None:
        """Refuse a universe with a style for which the writer has no sentences, by BadInput."""
        self._seed = seed
        for style in universe.styles:
            if style not in styles:
                raise BadInput(f"universe {universe.name}, style {style!r}: {lacking}; expected {', '.join(styles)}")

    @abstractmethod
    def write(self, task: Task) -> str:
        """Return the text of one candidate."""

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        return [Candidate(task, self.write(task)) for task in progress(tasks, "chapters", len(tasks))]

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        return [[] for _ in candidates]

    def about(self) -> Mapping[str, Any]:
        return {}


def shuffled(items: Sequence[T], draws: RandomStream) -> Iterator[T]:
    """Yield items in random order, again and again: none repeats before the others have been used."""
    while True:
        yield from draws.sample(items, len(items))


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter as the reader sees it."""

    number: int  # its position in the book, from 1
    event: Event  # the event that it tells
    style: str
    n_paragraphs: int  # the number of its paragraphs
    text: str  # its text without a heading; a blank line separates paragraphs
    secondary: tuple[str, ...]  # the full names of its side characters
    # The words that tell each fact; None at level 1, where these are the names themselves
    told: Mapping[str, str] | None = None
    # What a reader must have read to know each fact, in chapters and paragraphs from 1; empty at level 1
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    outcomes: Sequence[Outcome] = ()  # what the event changes for its main character, at level 5


def event_values(event: Event) -> dict[str, str]:
    """Return the parts of an event under the names that the config `chapters` gives them."""
    told = {"location": event.space, "entity": event.entity, "content": event.content, "detail": event.detail}
    return {"date": event.time.isoformat(), **told}


def fill_secondary(drafts: Sequence[Candidate], names: Iterable[str]) -> list[Chapter]:
    """Replace every `$entity_<i>` by a full name that no other chapter has, and remove the numbers of paragraphs.

    The accepted drafts come in the order of the book. BadInput if there are fewer names than side characters.
    """
    supply, waiting = iter(names), list[str]()
    number_of = {draft.task.number: number for number, draft in enumerate(drafts, 1)}
    chapters: list[Chapter] = []
    for draft in drafts:
        task, plan = draft.task, draft.task.plan
        numbers = sorted({int(number) for number in PLACEHOLDER.findall(draft.text)})
        name_of = dict(zip(numbers, _fitting(supply, waiting, task.event.first_name), strict=False))
        if len(name_of) < len(numbers):
            where = f"chapter {len(chapters) + 1}"
            raise BadInput(f"{where}: expected {len(numbers)} names for its side characters, found {len(name_of)}")
        text = PLACEHOLDER.sub(lambda match, name_of=name_of: name_of[int(match[1])], draft.text)  # type: ignore[misc]
        paragraphs = [re.sub(r"^\(\d+\)\s*", "", paragraph) for paragraph in split_paragraphs(text)]
        chapter = Chapter(
            number=task.number,
            event=task.event,
            style=task.layout.style,
            n_paragraphs=len(paragraphs),
            text="\n\n".join(paragraphs),
            secondary=tuple(name_of.values()),
            told=plan.words(task.event) if plan else None,
            evidence=plan.evidence if plan else {},
            outcomes=plan.outcomes if plan else (),
        )
        chapters.append(_renumbered(chapter, number_of))
    return chapters


def _fitting(names: Iterator[str], waiting: list[str], first_name: str) -> Iterator[str]:
    """Names that do not begin like the main character's, or nobody would know who is meant; of those that wait, one at most.

    A name that a chapter cannot use waits for a later one.
    """
    for place, name in enumerate(waiting):
        if name.split()[0] != first_name:
            yield waiting.pop(place)
            break
    for name in names:
        if name.split()[0] != first_name:
            yield name
        else:
            waiting.append(name)


def in_chronological_order(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Return the chapters by date, with new numbers; those of one day keep their order (paper: Appendix E.6)."""
    ordered = sorted(chapters, key=lambda chapter: chapter.event.time)
    number_of = {chapter.number: number for number, chapter in enumerate(ordered, 1)}
    return [_renumbered(chapter, number_of) for chapter in ordered]


def _renumbered(chapter: Chapter, number_of: Mapping[int, int]) -> Chapter:
    def moved(spot: Spot) -> Spot:
        return Spot(number_of[spot.number], spot.paragraph)

    return replace(
        chapter,
        number=number_of[chapter.number],
        evidence={
            fact: Evidence(old.links, frozenset(map(moved, old.spots))) for fact, old in chapter.evidence.items()
        },
        outcomes=tuple(replace(one, spot=moved(one.spot)) for one in chapter.outcomes),
    )


def assemble(chapters: Sequence[Chapter]) -> str:
    """Return the book: `Chapter 1`, a blank line, its text, two blank lines, `Chapter 2`, …"""
    return "\n\n\n".join(f"Chapter {chapter.number}\n\n{chapter.text}" for chapter in chapters)
