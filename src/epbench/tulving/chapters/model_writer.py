"""A language model that writes the chapters, and one that checks them, which may be the same.

Every chapter and every verdict is journaled as it arrives, under everything that it depends on: model, prompts, event,
layout, attempt, what was wrong with the previous attempt, and seed. So a writing that was stopped continues where it
stopped, and books with the same universe and seed share their chapters: the 20 events of the short book are the first of
the long one, and the ordered book has the same texts.

Paper: Appendices B.1.5 and B.1.7; its Listing 8 has the four questions, each true or false, that check a chapter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.journals.answers import fingerprint_of
from epbench.journals.journal import Record, read_journal
from epbench.judges.model import object_schema
from epbench.models.protocol import Model, Request, Sampling, variant_of
from epbench.models.replies import all_objects_in
from epbench.progress import Progress
from epbench.runs.usage import folder_by, replied, replies_to, token_usage
from epbench.tulving.chapters.chapter import Candidate, Task
from epbench.tulving.chapters.prompts import WritingPrompts, load_writing_prompts
from epbench.tulving.events.universe import Universe

MAX_TOKENS = 4096
TEMPERATURE = 1.0  # a failed candidate must be followed by a different one
CHECK_ATTEMPTS = 4

CHAPTERS, CHECKS = "chapters.jsonl", "checks.jsonl"

_FAULTS = {"length": "cut_off", "empty": "empty", "refusal": "refused", "content_filter": "refused"}
"""The fault of a candidate, by how the reply ended."""


def writing_folder(out: Path, writer: str) -> Path:
    """Return the folder for a model's chapters, next to the datasets: `OUT/written-by-openai-gpt-4o`."""
    return folder_by(out, "written", writer)


class ModelWriter:
    """Asks for one candidate per task, and then whether location, date, person and event are right and the only ones."""

    def __init__(
        self,
        model: Model,
        universe: Universe,
        folder: Path,
        *,
        checker: Model | None = None,
        seed: int = 0,
        max_tokens: int = MAX_TOKENS,
        prompts: WritingPrompts | None = None,
    ) -> None:
        """Prepare the writer, whose journals are in a folder that is open for this process alone; nothing is asked yet.

        The checker is the model itself by default. Its verdicts are journaled under its own name, so that the chapters are not
        paid for again with another checker.
        """
        self.model, self.checker, self.max_tokens = model, checker or model, max_tokens
        self._universe, self._folder = universe, folder
        self._prompts = prompts or load_writing_prompts()
        self._sampling = Sampling(max_tokens, TEMPERATURE, seed)
        self._paid: dict[str, Record] = {}

    description = None  # the card says how it went, from the rounds and from what `about` returns

    @property
    def name(self) -> str:
        """The name of the model that writes."""
        return self.model.name

    def chapter_request(self, task: Task) -> Request:
        """Return the request for a candidate; a later attempt includes what was wrong with the previous one."""
        prompt = self._prompts.chapter_prompt(task.event, task.layout, self._universe, task.plan)
        if task.failed and self._prompts.retry:
            attempt = task.failed, task.previous, task.event, task.layout, task.plan
            prompt += f"\n\n{self._prompts.retry_prompt(*attempt)}"
        id_, system = f"event {task.number}", self._prompts.chapter_system(self._universe)
        return Request(id_, system, "", prompt, self._sampling, task.attempt, keep_cut=True)

    def check_request(self, candidate: Candidate, repeat: int = 0) -> Request:
        """Return the request for a verdict on a candidate; candidates with the same text share it."""
        task, system = candidate.task, self._prompts.check_system
        prompt = self._prompts.check_prompt(task.event, candidate.text, task.plan)
        return Request(f"event {task.number}", system, "", prompt, self._sampling, repeat, SCHEMA)

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """See `Writer.candidates`; RunFailed if some requests got no answer, while all other answers are kept."""
        label = f"chapters, round {tasks[0].attempt + 1}"
        requests = [self.chapter_request(task) for task in tasks]
        records = self._answers(CHAPTERS, requests, self.model, label, progress)
        return [self._candidate(task, record) for task, record in zip(tasks, records, strict=True)]

    def _candidate(self, task: Task, record: Record) -> Candidate:
        if record.get("failure") is not None:
            return Candidate(task, "", _FAULTS[record["ended"]], record["failure"])
        # Older journals do not say how a reply ended, but the number of tokens shows it.
        generated = int((record.get("usage") or {}).get("completion", 0))
        cut_off = record.get("ended") == "length" or generated >= self.max_tokens
        return Candidate(task, unwrapped(record["answer"]), "cut_off" if cut_off else None)

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """See `Writer.doubts`; a check without a verdict is repeated, up to four times in all per start."""
        verdicts = self._verdicts(candidates, progress)
        failures = [verdict for verdict in verdicts if verdict is not None]
        if len(failures) == len(candidates):
            return failures
        first = candidates[verdicts.index(None)].task
        raise RunFailed(
            f"checker {self.checker.name}: no verdict on {len(candidates) - len(failures)} of {len(candidates)} chapters "
            f"of round {first.attempt + 1}, in {CHECK_ATTEMPTS} attempts each, such as event {first.number} "
            f"({first.event.content}, {first.event.day}, {first.event.space}, {first.event.entity}). The chapters are "
            f"kept, neither accepted nor discarded; a second start asks for these verdicts again, and another checker may "
            f"give them"
        )

    def _verdicts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str] | None]:
        """The first verdict on each candidate; None if this start has asked for it often enough."""
        kept = read_journal(self._folder / CHECKS)
        most = [self._most_checks(candidate, kept) for candidate in candidates]
        verdicts: list[list[str] | None] = [None] * len(candidates)
        for repeat in count():
            places = [place for place, verdict in enumerate(verdicts) if verdict is None and repeat < most[place]]
            if not places:
                break
            requests = [self.check_request(candidates[place], repeat) for place in places]
            label = f"checks, round {candidates[0].task.attempt + 1}"
            records = self._answers(CHECKS, requests, self.checker, label, progress)
            for place, record in zip(places, records, strict=True):
                verdicts[place] = read_verdict(record["answer"]) if record.get("failure") is None else None
        return verdicts

    def _most_checks(self, candidate: Candidate, kept: Mapping[str, Record]) -> int:
        """How often a candidate may be checked: four times, and four more by a start that finds those without a verdict.

        Each repeated check has its own number, and so its own sample: the same request might only fail again.
        """
        keys = (self.check_request(candidate, repeat).key(self.checker.identity) for repeat in count())
        n_kept = next(n for n, key in enumerate(keys) if not replied(kept.get(key)))
        return (n_kept // CHECK_ATTEMPTS + 1) * CHECK_ATTEMPTS

    def about(self) -> Mapping[str, Any]:
        """Return checker, prompts, sampling, and the tokens of all answers in this book, whichever start paid for them."""
        usage = token_usage(self._paid.values())
        about: dict[str, Any] = {"checker": self.checker.name, "prompt_hash": fingerprint_of(self._prompts)}
        about |= {"temperature": self._sampling.temperature, "max_tokens": self.max_tokens}
        about |= {"tokens": {name: usage[name] for name in ("requests", "prefilled", "saved", "generated")}}
        return about | variant_of(self.model)

    def _answers(
        self, file: str, requests: Sequence[Request], model: Model, label: str, progress: Progress
    ) -> list[Record]:
        records = replies_to(self._folder / file, requests, model, progress, label)
        self._paid.update((record["key"], record) for record in records)
        return records


QUESTIONS = {"1": "location", "2": "date", "3": "entity", "4": "content"}
"""The fact that each question is about: is it right, and is it the only one of its sort in the chapter?"""

SCHEMA = object_schema({number: {"type": "boolean"} for number in QUESTIONS})


def read_verdict(reply: str) -> list[str] | None:
    """Return the names of the checks that a candidate with this verdict fails, such as `llm_location`.

    The first object with exactly the keys "1" to "4" counts, each once and true or false; None without one.
    """
    for answers in all_objects_in(reply):
        is_complete = answers.keys() == QUESTIONS.keys() and answers.repeated is None
        if is_complete and all(isinstance(value, bool) for value in answers.values()):
            return [f"llm_{fact}" for number, fact in QUESTIONS.items() if not answers[number]]
    return None


LONGEST_TITLE = 12  # words

_NUMBERED = re.compile(r"\s*\(\d+\)")
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*")
_RULE = re.compile(r"\s*(?:[-*_=~]\s*){3,}")
_MARKED_TITLE = re.compile(
    r"\s*(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|\*[^*]+\*|(?:title|chapter|heading)\s*:.*|chapter\s+[\divxlc]+\b.*)\s*",
    re.IGNORECASE,
)
_SENTENCE_END = (".", "!", "?", "…", ":", ";", ",", '"', "”", "'", "’")
_MARKUP = r"[\s*_>#(\[-]*"  # no quotation mark, because direct speech belongs to the chapter
_PREFACE = re.compile(
    _MARKUP
    + r"(?:(?:sure(?: thing)?|certainly|of course|absolutely|ok|okay|alright|all right|great|understood|gladly|yes)\s*[,.!:–—-]|"
    r"here(?:['’]s| is| are| you go| it is)\b|below is\b|the following is\b|as (?:you )?(?:requested|instructed|asked)\b|"
    r"happy to\b|i(?:['’]ll| will|['’]ve| have)\b|(?:the )?(?:revised |rewritten |new )?chapter\W*$)",
    re.IGNORECASE,
)
_REMARK = re.compile(
    _MARKUP + r"(?:(?:please )?let me know\b|i hope (?:this|you|that|it)\b|i(?:['’]ve| have) \w+|feel free\b|"
    r"(?:if you(?:['’]d| would)|would you) (?:like|prefer|want)\b|if you need\b|is there anything\b|note\W*:|"
    r"this chapter\b|(?:end of (?:the )?chapter|the end)\W*$|word count\b|\d+ words\b)",
    re.IGNORECASE,
)


def unwrapped(candidate: str) -> str:
    """Return the part of a text from its first to its last numbered line, unchanged.

    The prompt asks for numbered paragraphs, `(1) …` to `(n) …`, and nothing else, but many models add something. Only
    whole lines outside are removed, and only if everything on that side is recognised; the rest stays, for the exact
    checks to find.
    """
    lines = candidate.split("\n")
    numbered = [place for place, line in enumerate(lines) if _NUMBERED.match(line)]
    if not numbered:
        return candidate
    before, after = lines[: numbered[0]], lines[numbered[-1] + 1 :]
    if not any(line.strip() for line in before + after):
        return candidate
    fenced = _fences(before) and _fences(after)
    begin = numbered[0] if _is_front_matter(before, bool(fenced)) else 0
    end = numbered[-1] + 1 if _is_back_matter(after, bool(fenced)) else len(lines)
    return "\n".join(lines[begin:end])


def _fences(lines: Sequence[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if _FENCE.fullmatch(line)]


def _is_front_matter(lines: Sequence[str], fenced: bool) -> bool:
    """Whether all lines before the first paragraph, or all inside its fence, are fences, titles and prefaces."""
    if fenced:
        lines = lines[_fences(lines)[-1] + 1 :]
    return all(
        not line.strip()
        or _FENCE.fullmatch(line)
        or _RULE.fullmatch(line)
        or _MARKED_TITLE.fullmatch(line)
        or _PREFACE.match(line)
        or (len(line.split()) <= LONGEST_TITLE and not line.rstrip().endswith(_SENTENCE_END))
        for line in lines
    )


def _is_back_matter(lines: Sequence[str], fenced: bool) -> bool:
    """Whether the lines after the last paragraph are rules and fences, followed by a remark of any length."""
    if fenced:
        lines = lines[: _fences(lines)[0]]
    for line in lines:
        if _REMARK.match(line):
            return True
        if line.strip() and not _FENCE.fullmatch(line) and not _RULE.fullmatch(line):
            return False
    return True
