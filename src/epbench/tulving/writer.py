"""What writes chapters: a protocol, and the loop that keeps only exact ones (paper: Sections 4.1, B.1.5-B.1.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from epbench.errors import BadInput
from epbench.tulving.book import Chapter, Draft, fill_secondary
from epbench.tulving.checks import check_chapter
from epbench.tulving.events import Event
from epbench.tulving.plans import Plan

MOST_ATTEMPTS = 10


class Writer(Protocol):
    """Turns a plan into numbered paragraphs, `(1) …`, with side characters as `$entity_1`, `$entity_2`."""

    @property
    def name(self) -> str:
        """Name for the card: `template`, or the model's."""
        ...

    def write(self, event: Event, plan: Plan, *, number: int, attempt: int) -> str:
        """One candidate.

        Args:
            number: of the event, from 0.
            attempt: 0 for the first candidate of this event, then 1, 2, …
        """
        ...


def write_chapters(
    events: Sequence[Event],
    plans: Sequence[Plan],
    writer: Writer,
    secondary_names: Iterable[str],
    *,
    progress: Callable[[Sequence[Event]], Iterable[Event]] = iter,
) -> tuple[list[Chapter], dict[int, list[str]]]:
    """Write a chapter for every event; candidates that fail an exact check are written anew, ten times at most.

    Args:
        events, plans: of the same length.
        writer: template or model.
        secondary_names: full names for side characters; each is used in one chapter only.
        progress: wraps the events, to show a bar.

    Returns:
        The chapters, numbered from 1 over the accepted ones, and the failed checks of the events that never passed.

    Raises:
        BadInput: no event got an exact chapter.
    """
    drafts: list[Draft] = []
    dropped: dict[int, list[str]] = {}
    for number, (event, plan) in enumerate(zip(progress(events), plans, strict=True)):
        for attempt in range(MOST_ATTEMPTS):
            text = writer.write(event, plan, number=number, attempt=attempt)
            failed = check_chapter(text, event, plan)
            if not failed:
                drafts.append(Draft(number, event, plan, text))
                break
        else:
            dropped[number] = failed
    if not drafts:
        raise BadInput(f"writer {writer.name}: none of {len(events)} chapters passed the exact checks; last: {failed}")
    return fill_secondary(drafts, secondary_names), dropped
