"""What a model's writing will cost, computed before it starts, and whether its prompts fit into the windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from epbench.models.estimate import Estimate, check_window, estimate
from epbench.models.protocol import Request
from epbench.tulving.chapters.exact_checks import FACTS
from epbench.tulving.chapters.loop import MOST_ATTEMPTS, Candidate, Task
from epbench.tulving.chapters.model_writer import CHECK_ATTEMPTS, ModelWriter

_MANY_FAULTS = tuple(f"llm_{fact}" for fact in FACTS)  # about the longest feedback on a failed attempt


def check_windows(writer: ModelWriter, tasks: Sequence[Task]) -> list[str]:
    """Refuse prompts that exceed the window of the writer or of its checker.

    Args:
        writer: The writer with its checker.
        tasks: The first task of every event.

    Returns:
        A warning for each model with an unknown window.

    Raises:
        BadInput: A prompt does not fit; see `check_window`.
    """
    chapters = [writer.chapter_request(task) for task in _retries(tasks)]
    warnings = [check_window(chapters, writer.model, {})]
    about_checker = check_window(_checks(writer, tasks), writer.checker, {})
    if writer.checker is not writer.model and about_checker:
        warnings.append(f"checker: {about_checker}")
    return [warning for warning in warnings if warning]


def estimate_lines(writer: ModelWriter, tasks: Sequence[Task]) -> list[str]:
    """Return lines with the requests and tokens of the first round, and the largest numbers possible."""
    chapters = estimate([writer.chapter_request(task) for task in tasks], writer.model)
    retries = estimate([writer.chapter_request(task) for task in _retries(tasks)], writer.model)
    checks = estimate(_checks(writer, tasks), writer.checker)
    n_chapters, n_checks = MOST_ATTEMPTS * chapters.requests, MOST_ATTEMPTS * CHECK_ATTEMPTS * checks.requests
    # The chapter is part of the prompt of a check, but was counted with the answer.
    most_tokens = writer.max_tokens * checks.requests
    checks = replace(checks, uncached=checks.uncached + most_tokens, completion=checks.completion - most_tokens)
    most = (
        f"at most, in {MOST_ATTEMPTS} rounds with up to {CHECK_ATTEMPTS} checks of a chapter: "
        f"{n_chapters:,} chapters ({_prompt_tokens(chapters) + (MOST_ATTEMPTS - 1) * _prompt_tokens(retries):,} prompt tokens, "
        f"{n_chapters * writer.max_tokens:,} answer tokens) and "
        f"{n_checks:,} checks ({MOST_ATTEMPTS * CHECK_ATTEMPTS * _prompt_tokens(checks):,} prompt tokens, "
        f"{n_checks * writer.max_tokens:,} answer tokens)"
    )
    return [
        f"first round, a chapter for each of {len(tasks):,} events, by {writer.name}:",
        *(f"  {line}" for line in chapters.lines()),
        f"then a check of each exact chapter, by {writer.checker.name}, if all are exact:",
        *(f"  {line}" for line in checks.lines()),
        most,
    ]


def _prompt_tokens(estimated: Estimate) -> int:
    return estimated.uncached + estimated.cached


def _retries(tasks: Sequence[Task]) -> list[Task]:
    """Second attempts with long feedback on the first ones."""
    return [replace(task, attempt=1, failed=_MANY_FAULTS) for task in tasks]


def _checks(writer: ModelWriter, tasks: Sequence[Task]) -> list[Request]:
    """The checks of chapters that are not written yet, with the tokens of a chapter counted with those of the answer."""
    requests = [writer.check_request(Candidate(task, "")) for task in tasks]
    twice = [replace(request.sampling, max_tokens=2 * writer.max_tokens) for request in requests]
    return [replace(request, sampling=sampling) for request, sampling in zip(requests, twice, strict=True)]
