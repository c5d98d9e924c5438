"""Checks in words of others, as a file of wording has them: with a reply of their own, and several in one request.

Like the published judge, such a text may show the memories where it likes, and say the question or the condition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from epbench.errors import BadInput, UnusableReply
from epbench.files.prompt_packs import check_text
from epbench.judges.protocol import JudgeIdentity, Judgement
from epbench.memfail.judging.lexical import Check, Verdict
from epbench.models.json_replies import last_object_with, number_of
from epbench.models.protocol import Usage

_REPLY: dict[str, Literal["boolean", "string"]] = {"reason": "string", "verdict": "boolean"}  # the verdict, and why
_OF_FACT = ["fact", "first", "last", "detail", "question"]
_OF_ANSWER = [*_OF_FACT, "facts", "firsts", "truth", "other", "distractor"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How one of our checks is asked for.

    The text about a memory has `{fact}`, `{first}`, `{last}`, `{detail}`, the `{question}`, and `{memories}`, which are shown
    nowhere else then. About an answer also `{facts}`, `{firsts}` (each after a dash), `{truth}`, `{other}`, the `{distractor}`,
    and `{answer}` with marked lines or `{plain_answer}`. With a batch: `{memories}`, `{entries}`, and their number `{n}`. The
    reply to a batch is an object with `results`, a list of objects with the `id` and the fields of `reply`.
    """

    text: str
    system: str | None = None  # None for that of the pack
    reply: dict[str, Literal["boolean", "string"]] = field(default_factory=lambda: dict(_REPLY))
    batch: int = 0  # the most checks of one request; 0 for one, without entries
    entry: str = ""  # the text of each check of a batch, with its `{number}` from 1
    between: str = "\n\n"  # what stands between two entries

    def verify(self, where: str, *, about_answer: bool) -> None:
        """Refuse what cannot be; `where` names it in messages.

        Raises:
            BadInput: A placeholder is unknown or missing, or batch, entry and reply do not go together.
        """
        wanted = ["answer|plain_answer"] if about_answer else ["fact|first|last|detail"]
        may = _OF_ANSWER if about_answer else [*_OF_FACT, "memories"]
        if self.batch < 0 or (self.batch > 0) != bool(self.entry):
            raise BadInput(f"{where}, key 'batch': expected 1 or more with an entry, 0 without, got {self.batch}")
        if self.batch:
            check_text(f"{where}, key 'text'", self.text, ["entries"], ["n", "memories"])
            check_text(f"{where}, key 'entry'", self.entry, ["number|", *wanted], may)
        else:
            check_text(f"{where}, key 'text'", self.text, wanted, may)
        check_text(f"{where}, key 'system'", self.system or "", [])
        if sorted(self.reply.values()) not in (["boolean"], ["boolean", "string"]):
            raise BadInput(f"{where}, key 'reply': expected one 'boolean' and at most one 'string', got {self.reply}")

    @property
    def fields(self) -> tuple[str, str]:
        """The names of the verdict and of its reason, which may be empty."""
        names = {kind: name for name, kind in self.reply.items()}
        return names["boolean"], names.get("string", "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply."""
        fields: dict[str, Any] = {name: {"type": kind} for name, kind in self.reply.items()}
        if self.batch:
            fields = {"results": {"type": "array", "items": _object({"id": {"type": "integer"}, **fields})}}
        return _object(fields)

    def objects_in(self, reply: str, n: int) -> list[dict[str, Any]]:
        """Return the objects of a reply about n checks, in their order.

        Raises:
            UnusableReply: There is no such object, or it lacks one of the checks.
        """
        if not self.batch:
            return [last_object_with(reply, self.fields[0])]
        results = last_object_with(reply, "results")["results"]
        entries = results if isinstance(results, list) else []
        by_number = {number_of(each.get("id")): each for each in entries if isinstance(each, dict)}
        if missing := [number for number in range(1, n + 1) if number not in by_number]:
            raise UnusableReply(f"the results lack id {missing[0]}, 1 to {n} are expected")
        return [by_number[number] for number in range(1, n + 1)]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Batch:
    """The checks of one request, by their keys."""

    checks: Mapping[str, Check]

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything that the verdicts depend on; that of a single check is its own."""
        first, *others = self.checks
        return hashlib.sha256("".join(self.checks).encode()).hexdigest()[:24] if others else first

    def apart(self, judgement: Judgement[tuple[Verdict, ...]]) -> Iterator[Judgement[Verdict]]:
        """Yield the judgement of each check; the tokens count for the first."""
        verdicts = judgement.verdict or [None] * len(self.checks)
        for place, (key, verdict) in enumerate(zip(self.checks, verdicts, strict=True)):
            yield Judgement(key, verdict, judgement.failure, judgement.raw, Usage() if place else judgement.usage)
