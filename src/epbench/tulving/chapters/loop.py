"""The rounds of writing, which keep only exact chapters, and how a book was written: `writing.json`, `positions.svg` and a table.

Paper: Sections 4.1 and B.1.5 to B.1.9, Tables 7 and 8, Figure 5.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from typing import Any

from epbench.errors import BadInput
from epbench.files.typed import Whole
from epbench.progress import Progress, no_progress
from epbench.reports.figures import COLOURS, drawing, svg
from epbench.reports.tables import Table
from epbench.tulving.chapters.chapter import (
    Candidate,
    Chapter,
    Description,
    Task,
    Writer,
    assemble,
    event_values,
    fill_secondary,
)
from epbench.tulving.chapters.checks import Vocabulary, check_chapter, facts_in_words, split_paragraphs
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.events.universe import Event, Layout
from epbench.tulving.levels.plan import FACTS, ChapterPlan

MOST_ATTEMPTS = 10

# When to give up earlier. If none of a writer's chapters is accepted, five candidates are enough to stop; fewer could
# fail by bad luck. If some were accepted, more failures are tolerated, because one hard event may fail several times.
FEWEST_CANDIDATES = 5
BARREN_ROUNDS, BARREN_CANDIDATES = 2, 20


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
    ended_early: bool = False  # whether it ended before the last round, because too many candidates in a row had failed
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

    Books of level 2 and higher have the `plans` of their chapters, and are checked with the `vocabulary`. Each of the
    `secondary_names` is used for the side characters of one chapter only.

    Returns:
        The accepted chapters, numbered from 1, and how they were written. An event whose candidates all failed has no chapter.

    Raises:
        BadInput: No event got a chapter; the message says which checks failed and shows one candidate.
        RunFailed: The writer's model left requests without an answer, or its checker gave no verdict on some chapters.
    """
    first = first_tasks(events, layouts, plans)
    accepted: dict[int, Candidate] = {}
    last: dict[int, Candidate] = {}
    failed: dict[int, list[str]] = {}
    iterations: list[Iteration] = []
    while len(iterations) < MOST_ATTEMPTS and not _hopeless(iterations):
        tasks = [task for task in first if task.number not in accepted]
        if iterations:  # then the writer is told what was wrong with the previous candidates
            n = len(iterations)
            tasks = [
                replace(task, attempt=n, failed=tuple(failed[task.number]), previous=last[task.number].text)
                for task in tasks
            ]
        if not tasks:
            break
        candidates = writer.candidates(tasks, progress)
        last = {candidate.task.number: candidate for candidate in candidates}
        failed = {number: _failed_checks(candidate, vocabulary) for number, candidate in last.items()}
        exact = [candidate for number, candidate in last.items() if not failed[number]]
        for candidate, doubts in zip(exact, writer.doubts(exact, progress), strict=True):
            failed[candidate.task.number] = doubts
            if not doubts:
                accepted[candidate.task.number] = candidate
        iterations.append(_iteration(failed, len(exact)))
    failed |= {number: ["evidence"] for number in _dangling(accepted)}
    dropped = {number: (first[number].event, checks) for number, checks in sorted(failed.items()) if checks}
    drafts = [accepted[number] for number in sorted(accepted) if number not in dropped]
    if not drafts:
        raise BadInput(_no_chapter(writer, iterations, failed, last, len(accepted)))
    ended_early = bool(dropped) and len(iterations) < MOST_ATTEMPTS
    writing = Writing(writer.name, iterations, dropped, ended_early, writer.about(), writer.description)
    return fill_secondary(drafts, secondary_names), writing


def _failed_checks(candidate: Candidate, vocabulary: Vocabulary | None) -> list[str]:
    if candidate.fault is not None:  # the checks of a broken text would add nothing
        return [candidate.fault]
    task = candidate.task
    return check_chapter(candidate.text, task.event, task.layout, task.plan, vocabulary)


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


def _iteration(failed: Mapping[int, list[str]], n_exact: int) -> Iteration:
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
    writer: Writer,
    iterations: Sequence[Iteration],
    failed: Mapping[int, list[str]],
    last: Mapping[int, Candidate],
    n_accepted: int,
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
    fallen = f" ({n_accepted} have one, but each needs one that is missing)" if n_accepted else ""
    return (
        f"writer {writer.name}: no chapter for any of {len(failed)} events in {rounds}{fallen}, so the writing stops. "
        f"The candidates failed {listed}. An example of {commonest}: event {task.number} ({event.content}, {event.day}, "
        f"{event.space}, {event.entity}): {fault}{shown} All candidates are kept; {advice}"
    )


def writing_files(writing: Writing, chapters: Sequence[Chapter], seed: int) -> dict[str, str]:
    """Return the texts of writing.json and positions.svg, by name.

    writing.json has writer, seed, what the writer reports (checker, prompt_hash, temperature, max_tokens, tokens), the
    iterations (Table 7), whether they ended early, the dropped events with the checks that their last candidates failed,
    counts of chapters by n_paragraphs, style and side_characters (Table 8), and the positions of the facts (Figure 5).
    """
    import numpy as np

    positions = fact_positions(chapters)
    content = {
        "writer": writing.writer,
        "seed": seed,
        **writing.about,
        "iterations": [asdict(iteration) for iteration in writing.iterations],
        "ended_early": writing.ended_early,
        "dropped": [
            {"event_number": number, "event": event_values(event), "failed_checks": checks}
            for number, (event, checks) in writing.dropped.items()
        ],
        "chapters": {
            "n_paragraphs": _counts(chapter.n_paragraphs for chapter in chapters),
            "style": _counts(chapter.style for chapter in chapters),
            "side_characters": _counts(len(chapter.secondary) for chapter in chapters),
        },
        "position_quantiles": {
            span: {
                fact: {str(q): round(float(np.quantile(places, q)), 4) for q in QUANTILES}
                for fact, places in by_fact.items()
            }
            for span, by_fact in positions.items()
        },
        "positions": {
            span: {fact: [round(place, 4) for place in places] for fact, places in by_fact.items()}
            for span, by_fact in positions.items()
        },
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return {"writing.json": text, "positions.svg": positions_figure(positions)}


def _counts(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def iteration_table(writing: Writing) -> Table:
    """The iterations of the writing, a row for each (Table 7)."""
    head = ["round", "candidates", "failed exact check", "failed LLM check", "accepted", "chapters so far"]
    rows, total = [], 0
    for n, iteration in enumerate(writing.iterations, 1):
        total += iteration.accepted
        numbers = (n, iteration.candidates, iteration.failed_exact, iteration.failed_llm, iteration.accepted, total)
        rows.append([str(value) for value in numbers])
    return Table(head, rows, f"chapters by {writing.writer}", text_columns=0)


SPANS = ("book", "chapter", "paragraph")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

Positions = Mapping[str, Mapping[str, Sequence[float]]]
"""By span and fact, one number for each chapter in the order of the book: 0 is the beginning of the span, 1 its end."""


def fact_positions(chapters: Sequence[Chapter]) -> Positions:
    """Return the middle of the first occurrence of each fact, in any case, relative to the span's length in characters."""
    places: dict[str, dict[str, list[float]]] = {span: {fact: [] for fact in FACTS} for span in SPANS}
    book, end = assemble(chapters).lower(), 0
    for chapter in chapters:
        text = chapter.text.lower()
        begin = book.index(text, end)
        end = begin + len(text)
        wording = chapter.told or facts_in_words(chapter.event)
        for fact in FACTS:
            words = wording[fact].lower()
            paragraph = next(paragraph for paragraph in split_paragraphs(text) if words in paragraph)
            places["book"][fact].append((begin + _middle(words, text)) / len(book))
            places["chapter"][fact].append(_middle(words, text) / len(text))
            places["paragraph"][fact].append(_middle(words, paragraph) / len(paragraph))
    return places


def _middle(words: str, text: str) -> float:
    return text.index(words) + len(words) / 2


def positions_figure(positions: Positions) -> str:
    """Return Figure 5 as an SVG file: for each span, the share of chapters that have told a fact by a position."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(6, 8), layout="constrained")
        for axes, (span, by_fact) in zip(figure.subplots(len(positions), 1), positions.items(), strict=True):
            for colour, (fact, places) in zip(COLOURS, by_fact.items(), strict=False):
                axes.ecdf(places, color=colour, label=fact)
            axes.plot([0, 1], [0, 1], color="#999", linewidth=0.8, linestyle=":")  # spread evenly
            axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"position in the {span}", ylabel="share of chapters")
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        return svg(figure)
