"""Writers of chapters: a protocol, and rounds that keep only exact chapters (paper: Sections 4.1, B.1.5-B.1.9)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol

from epbench.errors import BadInput
from epbench.files.typed import Whole
from epbench.progress import Progress, no_progress
from epbench.tulving.chapters.chapter import Candidate, Chapter, Task, fill_secondary
from epbench.tulving.chapters.checks import Vocabulary, check_chapter
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.events.events import Event, Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import ChapterPlan

MOST_ATTEMPTS = 10

# When to give up earlier. If none of a writer's chapters is accepted, five candidates are enough to stop; fewer could
# fail by bad luck. If some were accepted, more failures are tolerated, because one hard event may fail several times.
FEWEST_CANDIDATES = 5
BARREN_ROUNDS, BARREN_CANDIDATES = 2, 20


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

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @staticmethod
    def check_styles(universe: Universe, known: Sequence[str], lacking: str) -> None:
        """Refuse a universe with a style for which the writer has no sentences."""
        for style in universe.styles:
            if style not in known:
                raise BadInput(f"universe {universe.name}, style {style!r}: {lacking}; expected {', '.join(known)}")

    @abstractmethod
    def write(self, task: Task) -> str:
        """Return the text of one candidate."""

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """See `Writer.candidates`."""
        return [Candidate(task, self.write(task)) for task in progress(tasks, "chapters", len(tasks))]

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """Return no doubts: there is nothing that a model would have to look at."""
        return [[] for _ in candidates]

    def about(self) -> Mapping[str, Any]:
        """Return nothing: there are no prompts and no tokens."""
        return {}


@dataclass(frozen=True, slots=True)
class Iteration:
    """One round (a row of Table 7): candidates = accepted + failed_exact + failed_llm."""

    candidates: Whole  # the number of candidates, one for each event without a chapter
    accepted: Whole  # how many passed all checks
    failed_exact: Whole  # how many failed an exact check (Appendix B.1.6), or were cut off, empty or refused
    failed_llm: Whole  # how many passed the exact checks and failed the check by a model (Appendix B.1.7)
    failed_checks: Mapping[str, Whole]  # the number of candidates that failed each check; a candidate may fail several


def failed_checks_of(rounds: Iterable[Iteration]) -> Counter[str]:
    """The number of candidates that failed each check, in all these rounds."""
    return sum((Counter(iteration.failed_checks) for iteration in rounds), Counter[str]())


@dataclass(frozen=True)
class Writing:
    """How the chapters of a book were written."""

    writer: str  # the name of the writer
    iterations: Sequence[Iteration]  # the rounds, in order
    # By the number of an event without a chapter, from 0: the event, and the checks that its last candidate failed
    dropped: Mapping[int, tuple[Event, list[str]]]
    # Whether the writing ended before the last round, because too many candidates in a row had failed
    ended_early: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)  # what else the writer reports
    description: Description | None = None  # how a writer that follows rules made the chapters; None for a model

    @property
    def checker(self) -> str | None:
        """The model that checked the chapters of a model; None if the writer follows rules."""
        return self.about.get("checker")


def write_chapters(
    events: Sequence[Event],
    layouts: Sequence[Layout],
    writer: Writer,
    secondary_names: Iterable[str],
    *,
    plans: Sequence[ChapterPlan] = (),
    vocabulary: Vocabulary | None = None,
    progress: Progress = no_progress,
) -> tuple[list[Chapter], Writing]:
    """Write a chapter for every event, in at most ten rounds with one candidate for every event without a chapter.

    The rounds end early if none of the first five or more candidates was accepted, or if at least two rounds in a row
    with at least 20 candidates had none accepted.

    Args:
        secondary_names: Full names for side characters; each is used in one chapter only.
        plans: The plan of each chapter, for books of level 2 and higher, which are checked with the `vocabulary`.

    Returns:
        The accepted chapters, numbered from 1, and how they were written. An event whose candidates all failed has no chapter.

    Raises:
        BadInput: No event got a chapter; the message says which checks failed and shows one candidate.
        RunFailed: The writer's model left requests without an answer, or its checker gave no verdict on some chapters.
    """
    drafts, writing = _accepted_drafts(events, layouts, writer, plans, vocabulary, progress)
    return fill_secondary(drafts, secondary_names), writing


def _accepted_drafts(
    events: Sequence[Event],
    layouts: Sequence[Layout],
    writer: Writer,
    plans: Sequence[ChapterPlan],
    vocabulary: Vocabulary | None,
    progress: Progress,
) -> tuple[list[Candidate], Writing]:
    """All rounds: the drafts in the order of their events, and how they were written."""
    accepted: dict[int, Candidate] = {}
    last: dict[int, Candidate] = {}
    failed: dict[int, list[str]] = {}
    iterations: list[Iteration] = []
    while len(iterations) < MOST_ATTEMPTS and not _hopeless(iterations):
        tasks = [task for task in first_tasks(events, layouts, plans) if task.number not in accepted]
        if iterations:  # then the writer is told what was wrong with the previous candidates
            tasks = [
                replace(
                    task, attempt=len(iterations), failed=tuple(failed[task.number]), previous=last[task.number].text
                )
                for task in tasks
            ]
        if not tasks:
            break
        candidates = writer.candidates(tasks, progress)
        last = {candidate.task.number: candidate for candidate in candidates}
        failed = {number: _exact_faults(candidate, vocabulary) for number, candidate in last.items()}
        exact = [candidate for number, candidate in last.items() if not failed[number]]
        for candidate, doubts in zip(exact, writer.doubts(exact, progress), strict=True):
            failed[candidate.task.number] = doubts
            if not doubts:
                accepted[candidate.task.number] = candidate
        iterations.append(_iteration(failed, len(exact)))
    if not accepted:
        raise BadInput(_no_chapter(writer, iterations, failed, last))
    failed |= {number: ["evidence"] for number in _dangling(accepted)}
    dropped = {number: (events[number], checks) for number, checks in sorted(failed.items()) if checks}
    drafts = [accepted[number] for number in sorted(accepted) if number not in dropped]
    ended_early = bool(dropped) and len(iterations) < MOST_ATTEMPTS
    return drafts, Writing(writer.name, iterations, dropped, ended_early, writer.about(), writer.description)


def _dangling(accepted: Mapping[int, Candidate]) -> set[int]:
    """The chapters that need a chapter which does not exist, or one that falls with it."""
    plans = {number: draft.task.plan for number, draft in accepted.items()}
    left = set(plans)
    while fallen := {number for number in left if (plan := plans[number]) and not plan.needs() <= left}:
        left -= fallen
    return set(plans) - left


def first_tasks(events: Sequence[Event], layouts: Sequence[Layout], plans: Sequence[ChapterPlan] = ()) -> list[Task]:
    """Return the task of the first candidate of every event."""
    return [
        Task(number, event, layout, 0, plan=plans[number] if plans else None)
        for number, (event, layout) in enumerate(zip(events, layouts, strict=True))
    ]


def _exact_faults(candidate: Candidate, vocabulary: Vocabulary | None) -> list[str]:
    if candidate.fault is not None:  # the checks of a broken text would add nothing
        return [candidate.fault]
    task = candidate.task
    return check_chapter(candidate.text, task.event, task.layout, task.plan, vocabulary)


def _iteration(failed: Mapping[int, list[str]], n_exact: int) -> Iteration:
    """The numbers of a round, from the failed checks of each candidate and the number of exact ones."""
    n_accepted = sum(not checks for checks in failed.values())
    names = Counter(name for checks in failed.values() for name in checks)
    return Iteration(len(failed), n_accepted, len(failed) - n_exact, n_exact - n_accepted, dict(names.most_common()))


def _hopeless(iterations: Sequence[Iteration]) -> bool:
    """Whether so many candidates in a row have failed that it is not worth paying for more."""
    barren = list(takewhile(lambda iteration: iteration.accepted == 0, reversed(iterations)))
    n_candidates = sum(iteration.candidates for iteration in barren)
    if len(barren) == len(iterations):
        return n_candidates >= FEWEST_CANDIDATES
    return len(barren) >= BARREN_ROUNDS and n_candidates >= BARREN_CANDIDATES


def _no_chapter(
    writer: Writer, iterations: Sequence[Iteration], failed: Mapping[int, list[str]], last: Mapping[int, Candidate]
) -> str:
    """Why there is no chapter: how often each check failed, and an example of the commonest failure in the last round."""
    listed = ", ".join(f"{name} {n} times" for name, n in failed_checks_of(iterations).most_common())
    commonest = max(iterations[-1].failed_checks, key=iterations[-1].failed_checks.__getitem__)
    candidate = last[next(number for number, checks in failed.items() if commonest in checks)]
    task, event = candidate.task, candidate.task.event
    fault = load_writing_prompts().fault(commonest, candidate.text, event, task.layout, task.plan)
    beginning = " ".join(candidate.text[:120].split())
    shown = f' Its text begins: "{beginning}".' if beginning else f" ({candidate.why})" if candidate.why else ""
    advice = f"choose another {'checker or ' * commonest.startswith('llm_')}writer"
    if commonest == "cut_off":
        advice = "raise the limit of tokens, or choose another writer"
    rounds = f"{len(iterations)} round{'s' * (len(iterations) > 1)}"
    return (
        f"writer {writer.name}: no chapter for any of {len(failed)} events in {rounds}, so the writing stops. "
        f"The candidates failed {listed}. An example of {commonest}: event {task.number} ({event.content}, {event.day}, "
        f"{event.space}, {event.entity}): {fault}{shown} All candidates are kept; {advice}"
    )
