"""From names to the writer of the chapters: one that follows rules, or a model with the model that checks what it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from epbench.errors import BadInput
from epbench.models.estimate import Estimate, check_window, estimate
from epbench.models.load import MODELS, Options, is_model_name, load_model, refuse_variant
from epbench.models.protocol import Model, Request
from epbench.tulving.chapters.chapter import Candidate, Task, Writer
from epbench.tulving.chapters.loop import MOST_ATTEMPTS
from epbench.tulving.chapters.model_writer import CHECK_ATTEMPTS, MAX_TOKENS, ModelWriter
from epbench.tulving.chapters.prompts import WritingPrompts
from epbench.tulving.chapters.scene_writer import SceneWriter
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import FACTS

RULE_WRITERS: Mapping[str, Callable[[Universe, int, int], Writer]] = {
    TemplateWriter.name: lambda universe, seed, level: (TemplateWriter if level == 1 else SceneWriter)(
        universe, seed=seed
    )
}
"""The writers that follow rules, from a universe, a seed and a level: no model is asked, and nothing is paid for."""


@dataclass(frozen=True)
class Checker:
    """Which model checks the chapters of a model."""

    name: str | None = None  # the checker's name, as for a writer; by default, the writer checks its own chapters
    base_url: str | None = None  # the checker's endpoint, if it is not the writer's
    window: int | None = None  # the checker's window in tokens, if its endpoint does not report one


def load_writer(
    name: str,
    universe: Universe,
    *,
    seed: int = 0,
    level: int = 1,
    folder: Path | None = None,
    options: Options | None = None,
    checker: Checker | None = None,
    max_tokens: int = MAX_TOKENS,
    prompts: WritingPrompts | None = None,
) -> Writer:
    """Return the writer with a name: one of `RULE_WRITERS`, or a model, whose weights are not loaded yet; else BadInput.

    Only a model needs a `folder`, in which its chapters and verdicts are kept, and takes `max_tokens` of each of them, at
    least 1, and other `prompts`.
    """
    options, checker = options or Options(), checker or Checker()
    check_writer(name, checker)
    if name in RULE_WRITERS:
        refuse_variant(name, options)
        return RULE_WRITERS[name](universe, seed, level)
    if folder is None:
        raise BadInput(f"writer {name}: expected a folder in which its chapters and verdicts are kept")
    if max_tokens < 1:
        raise BadInput(f"max_tokens {max_tokens}: expected at least 1")
    model, checking = load_model(name, options), _load_checker(name, options, checker)
    return ModelWriter(model, universe, folder, checker=checking, seed=seed, max_tokens=max_tokens, prompts=prompts)


def check_writer(name: str, checker: Checker | None = None) -> None:
    """Refuse unknown writers and checkers, and a checker for a writer that follows rules, before anything costly is done."""
    checker = checker or Checker()
    if name not in RULE_WRITERS and not is_model_name(name):
        raise BadInput(f"unknown writer {name!r}: expected {_listed(*RULE_WRITERS, *MODELS)}")
    if name in RULE_WRITERS and checker != Checker():
        raise BadInput(f"checker: no model checks the chapters of the writer {name}; choose a model as the writer")
    if checker.name is not None and not is_model_name(checker.name):
        raise BadInput(f"unknown checker {checker.name!r}: expected {_listed(*MODELS)}")


def _listed(*names: str) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _load_checker(writer: str, options: Options, checker: Checker) -> Model | None:
    """The model that checks; None for the writer itself, whose weights are then loaded only once."""
    elsewhere = checker.base_url or checker.window  # if so, it is not the writer, even under the same name
    if checker.name in (None, writer) and not elsewhere:
        return None
    of_checker = replace(
        options, base_url=checker.base_url or options.base_url, window=checker.window, revision=None, adapter=None
    )
    return load_model(checker.name or writer, of_checker)


_MANY_FAULTS = tuple(f"llm_{fact}" for fact in FACTS)  # about the longest feedback on a failed attempt


def check_windows(writer: ModelWriter, tasks: Sequence[Task]) -> list[str]:
    """Refuse prompts that exceed the window of the writer or of its checker; return a warning for each window that is unknown."""
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
    return [replace(one, sampling=replace(one.sampling, max_tokens=2 * writer.max_tokens)) for one in requests]
