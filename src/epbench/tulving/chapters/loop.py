"""What writes chapters: a protocol, and the rounds that keep only exact ones (paper: Sections 4.1, B.1.5-B.1.9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol

from epbench.errors import BadInput
from epbench.runs.answers import Progress, no_progress
from epbench.tulving.chapters.chapter import Chapter, Draft, fill_secondary
from epbench.tulving.chapters.exact_checks import check_chapter
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout

MOST_ATTEMPTS = 10

# When to give up before that. A writer of whom no chapter at all was accepted is not asked on and on: a round of five
# or more candidates is enough to say so; with fewer events, bad luck would too often look like it. A writer of whom
# some chapters were accepted gets more patience, as one hard event may fail several times.
FEWEST_CANDIDATES = 5
BARREN_ROUNDS, BARREN_CANDIDATES = 2, 20


@dataclass(frozen=True, slots=True)
class Task:
    """One candidate to be written.

    Attributes:
        number: of the event, from 0.
        event, layout: what the chapter tells, and where.
        attempt: 0 for the first candidate of this event, then 1, 2, …
        failed: the checks that the candidate before failed; none for the first one.
        previous: the text of the candidate before.
    """

    number: int
    event: Event
    layout: Layout
    attempt: int
    failed: tuple[str, ...] = ()
    previous: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What came of a task: numbered paragraphs, `(1) …`, with side characters as `$entity_1`, `$entity_2`.

    Attributes:
        task: what was to be written.
        text: as it was written, without what stands around the paragraphs.
        fault: why it is no whole chapter, whatever its text: `cut_off` (the writer ran out of tokens), `empty`, or
            `refused`; else None.
        why: of a fault, the reason that the model or its backend gave, if any.
    """

    task: Task
    text: str
    fault: str | None = None
    why: str = ""


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
        """For each candidate that passed the exact checks, the names of the checks by a model that it fails.

        Raises:
            RunFailed: there is no verdict on some of them, which are then neither accepted nor discarded.
        """
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
        failed_exact: failed an exact check (Appendix B.1.6), or was cut off, empty or refused.
        failed_llm: passed these, and failed the check by a model (Appendix B.1.7).
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
        ended_early: whether it ended before the last round, because too many candidates in a row had failed.
        about: what else the writer tells of itself.
    """

    writer: str
    iterations: Sequence[Iteration]
    dropped: Mapping[int, tuple[Event, list[str]]]
    ended_early: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)


def write_chapters(
    events: Sequence[Event],
    layouts: Sequence[Layout],
    writer: Writer,
    secondary_names: Iterable[str],
    *,
    progress: Progress = no_progress,
) -> tuple[list[Chapter], Writing]:
    """Write a chapter for every event: in each of ten rounds at most, one candidate for every event without a chapter.

    The rounds end early when no chapter at all was accepted after five candidates or more, and when two rounds or more
    with 20 candidates or more in a row had none accepted.

    Args:
        events, layouts: of the same length.
        writer: template or model.
        secondary_names: full names for side characters; each is used in one chapter only.
        progress: shows how far a round is.

    Returns:
        The chapters, numbered from 1 over the accepted ones, and how they came about; an event whose candidates all
        failed has no chapter.

    Raises:
        BadInput: no event got a chapter; the message says which checks failed and shows one candidate.
        RunFailed: the writer's model left requests without an answer, or its checker gave no verdict on some chapters.
    """
    accepted: dict[int, Draft] = {}
    last: dict[int, Candidate] = {}
    failed: dict[int, list[str]] = {}
    iterations: list[Iteration] = []
    while len(iterations) < MOST_ATTEMPTS and not _hopeless(iterations):
        tasks = [
            _next_task(task, len(iterations), failed, last)
            for task in first_tasks(events, layouts)
            if task.number not in accepted
        ]
        if not tasks:
            break
        candidates = writer.candidates(tasks, progress)
        last = {candidate.task.number: candidate for candidate in candidates}
        failed = {number: _exact_faults(candidate) for number, candidate in last.items()}
        exact = [candidate for number, candidate in last.items() if not failed[number]]
        for candidate, doubts in zip(exact, writer.doubts(exact, progress), strict=True):
            task = candidate.task
            failed[task.number] = doubts
            if not doubts:
                accepted[task.number] = Draft(task.number, task.event, task.layout, candidate.text)
        iterations.append(_iteration(failed, len(exact)))
    if not accepted:
        raise BadInput(_no_chapter(writer, iterations, failed, last))
    dropped = {number: (events[number], checks) for number, checks in failed.items() if checks}
    drafts = [accepted[number] for number in sorted(accepted)]
    ended_early = bool(dropped) and len(iterations) < MOST_ATTEMPTS
    writing = Writing(writer.name, iterations, dropped, ended_early, writer.about())
    return fill_secondary(drafts, secondary_names), writing


def first_tasks(events: Sequence[Event], layouts: Sequence[Layout]) -> list[Task]:
    """The first candidate of every event."""
    return [Task(number, event, layout, 0) for number, (event, layout) in enumerate(zip(events, layouts, strict=True))]


def _next_task(task: Task, attempt: int, failed: Mapping[int, list[str]], last: Mapping[int, Candidate]) -> Task:
    """The task with its number of attempts, and with what was wrong with the candidate before."""
    if attempt == 0:
        return task
    return replace(task, attempt=attempt, failed=tuple(failed[task.number]), previous=last[task.number].text)


def _exact_faults(candidate: Candidate) -> list[str]:
    if candidate.fault is not None:  # what a broken text lacks besides says nothing more
        return [candidate.fault]
    return check_chapter(candidate.text, candidate.task.event, candidate.task.layout)


def _iteration(failed: Mapping[int, list[str]], n_exact: int) -> Iteration:
    """The numbers of a round, from the failed checks of each candidate and the number of those that were exact."""
    n_accepted = sum(not checks for checks in failed.values())
    names = Counter(name for checks in failed.values() for name in checks)
    return Iteration(len(failed), n_accepted, len(failed) - n_exact, n_exact - n_accepted, dict(names.most_common()))


def _hopeless(iterations: Sequence[Iteration]) -> bool:
    """Whether so many candidates in a row have failed that no more should be paid for."""
    barren = list(takewhile(lambda one: one.accepted == 0, reversed(iterations)))
    n_candidates = sum(one.candidates for one in barren)
    if len(barren) == len(iterations):
        return n_candidates >= FEWEST_CANDIDATES
    return len(barren) >= BARREN_ROUNDS and n_candidates >= BARREN_CANDIDATES


def _no_chapter(
    writer: Writer, iterations: Sequence[Iteration], failed: Mapping[int, list[str]], last: Mapping[int, Candidate]
) -> str:
    """Why there is no chapter: how often each check failed, and of the commonest failure in the last round one example."""
    counts = Counter[str]()
    for one in iterations:
        counts.update(one.failed_checks)
    listed = ", ".join(f"{name} {n} times" for name, n in counts.most_common())
    commonest = max(iterations[-1].failed_checks, key=iterations[-1].failed_checks.__getitem__)
    candidate = last[next(number for number, checks in failed.items() if commonest in checks)]
    task, event = candidate.task, candidate.task.event
    fault = load_writing_prompts().fault(commonest, candidate.text, event, task.layout)
    beginning = " ".join(candidate.text[:120].split())
    shown = f' Its text begins: "{beginning}".' if beginning else f" ({candidate.why})" if candidate.why else ""
    rounds = f"{len(iterations)} round{'s' * (len(iterations) > 1)}"
    return (
        f"writer {writer.name}: no chapter for any of {len(failed)} events in {rounds}, so no more are asked for. "
        f"The candidates failed {listed}. An example of {commonest}: event {task.number} ({event.content}, {event.day}, "
        f"{event.space}, {event.entity}): {fault}{shown} All candidates are kept; {_advice(commonest)}"
    )


def _advice(check: str) -> str:
    if check == "cut_off":
        return "raise --max-tokens, or choose another --writer"
    return f"choose another {'--checker or ' * check.startswith('llm_')}--writer"
