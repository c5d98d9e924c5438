"""What writes chapters: a protocol, and the rounds that keep only exact ones (paper: Sections 4.1, B.1.5-B.1.9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from epbench.errors import BadInput
from epbench.runs.asking import Progress, no_progress
from epbench.tulving.book import Chapter, Draft, fill_secondary
from epbench.tulving.checks import check_chapter
from epbench.tulving.events import Event
from epbench.tulving.plans import Plan

MOST_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Task:
    """One candidate to be written.

    Attributes:
        number: of the event, from 0.
        event, plan: what the chapter tells, and where.
        attempt: 0 for the first candidate of this event, then 1, 2, …
    """

    number: int
    event: Event
    plan: Plan
    attempt: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """What came of a task: numbered paragraphs, `(1) …`, with side characters as `$entity_1`, `$entity_2`.

    Attributes:
        task: what was to be written.
        text: as it was written.
        cut_off: whether the writer ran out of tokens.
    """

    task: Task
    text: str
    cut_off: bool = False


class Writer(Protocol):
    """Writes candidates by the batch, so that a model can work on all of them at once."""

    @property
    def name(self) -> str:
        """For the card: `template`, or the model's, as on the command line."""
        ...

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """One candidate for each task, in their order."""
        ...

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """For each candidate that passed the exact checks the names of the writer's own checks that it fails."""
        ...

    def about(self) -> Mapping[str, Any]:
        """What else is to be told of the writing, such as prompts and tokens; asked for when all is written."""
        ...


@dataclass(frozen=True, slots=True)
class Iteration:
    """One round (a row of Table 7): candidates = accepted + failed_exact + failed_llm.

    Attributes:
        candidates: as many as events had no chapter yet.
        accepted: passed all checks.
        failed_exact: failed an exact check (Appendix B.1.6).
        failed_llm: passed these, and failed the writer's own check (Appendix B.1.7).
        failed_checks: candidates by the name of the failed check; one may fail several.
    """

    candidates: int
    accepted: int
    failed_exact: int
    failed_llm: int
    failed_checks: Mapping[str, int]


@dataclass(frozen=True)
class Writing:
    """How the chapters of a book came about.

    Attributes:
        writer: its name.
        iterations: the rounds, in order.
        dropped: by number of the event, from 0, the event and the checks that its last candidate failed.
        about: what else the writer tells of itself.
    """

    writer: str
    iterations: Sequence[Iteration]
    dropped: Mapping[int, tuple[Event, list[str]]]
    about: Mapping[str, Any] = field(default_factory=dict)


def write_chapters(
    events: Sequence[Event],
    plans: Sequence[Plan],
    writer: Writer,
    secondary_names: Iterable[str],
    *,
    progress: Progress = no_progress,
) -> tuple[list[Chapter], Writing]:
    """Write a chapter for every event: in each of ten rounds at most, one candidate for every event without a chapter.

    Args:
        events, plans: of the same length.
        writer: template or model.
        secondary_names: full names for side characters; each is used in one chapter only.
        progress: shows how far a round is.

    Returns:
        The chapters, numbered from 1 over the accepted ones, and how they came about; an event whose candidates all
        failed has no chapter.

    Raises:
        BadInput: no event got a chapter.
        RunFailed: the writer's model left requests without an answer.
    """
    accepted: dict[int, Draft] = {}
    failed: dict[int, list[str]] = {}
    iterations: list[Iteration] = []
    for attempt in range(MOST_ATTEMPTS):
        tasks = [replace(task, attempt=attempt) for task in first_tasks(events, plans) if task.number not in accepted]
        if not tasks:
            break
        candidates = writer.candidates(tasks, progress)
        failed = {candidate.task.number: _exact_faults(candidate) for candidate in candidates}
        n_failed_exact = sum(map(bool, failed.values()))
        exact = [candidate for candidate in candidates if not failed[candidate.task.number]]
        for candidate, doubts in zip(exact, writer.doubts(exact, progress), strict=True):
            task = candidate.task
            failed[task.number] = doubts
            if not doubts:
                accepted[task.number] = Draft(task.number, task.event, task.plan, candidate.text)
        n_accepted = len(tasks) - sum(map(bool, failed.values()))
        names = Counter(name for checks in failed.values() for name in checks)
        n_failed_llm = len(exact) - n_accepted
        iterations.append(Iteration(len(tasks), n_accepted, n_failed_exact, n_failed_llm, dict(names.most_common())))
    if not accepted:
        last = ", ".join(f"{name} {n} times" for name, n in iterations[-1].failed_checks.items())
        raise BadInput(
            f"writer {writer.name}: no chapter for any of {len(events)} events in {MOST_ATTEMPTS} rounds; "
            f"the last candidates failed {last}"
        )
    dropped = {number: (events[number], checks) for number, checks in failed.items() if checks}
    drafts = [accepted[number] for number in sorted(accepted)]
    return fill_secondary(drafts, secondary_names), Writing(writer.name, iterations, dropped, writer.about())


def first_tasks(events: Sequence[Event], plans: Sequence[Plan]) -> list[Task]:
    """The first candidate of every event."""
    return [Task(number, event, plan, 0) for number, (event, plan) in enumerate(zip(events, plans, strict=True))]


def _exact_faults(candidate: Candidate) -> list[str]:
    """A text may be exact and yet end in the middle of a sentence."""
    faults = check_chapter(candidate.text, candidate.task.event, candidate.task.plan)
    return faults or (["cut_off"] if candidate.cut_off else [])
