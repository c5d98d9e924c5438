"""Any model as a judge: it is asked for a verdict under a JSON schema, and once more if its reply cannot be used.

The repeated request says what was wrong. If the second reply cannot be used either, the judge has failed on this input:
that is neither right nor wrong, and the next start asks again.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from epbench.errors import BadInput, UnusableReply
from epbench.journals.answers import answered
from epbench.journals.journal import Journal, Record
from epbench.judges.protocol import InputT, Judge, Judgement
from epbench.models.estimate import Estimate, estimate
from epbench.models.protocol import Model, Request, Usage, address_of, by_context
from epbench.models.replies import WITHOUT_TEXT

T = TypeVar("T")
VerdictT = TypeVar("VerdictT")

Calls = Generator[Request, Record, T]
"""Yields requests, is sent the records of their replies, and returns what was read in them."""


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """As strict as endpoints require: every property is required, and no other is allowed."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class Ask(Protocol):
    """Makes one call: yields the request, and once more with what was wrong if `read` raises `UnusableReply`."""

    def __call__(self, request: Request, read: Callable[[str], T]) -> Calls[T]:
        """Return what `read` makes of the reply. The judge has failed if there is no usable reply."""


class BaseModelJudge(ABC, Generic[InputT, VerdictT]):
    """Judges all inputs in one batch; calls that depend on an earlier reply follow in batches of their own.

    The model is asked greedily, under a JSON schema where its backend can enforce one. `prompt_hash` is over everything in the
    prompts and schemas that the replies depend on. `repair` follows a request whose reply could not be used, with the
    placeholder `{problem}`. `max_tokens` are those of one reply.
    """

    advice: ClassVar[str] = "allow fewer tokens per reply, or choose another judge"
    """What to do when a prompt does not fit the model's window."""

    def __init__(self, model: Model, *, prompt_hash: str, repair: str, max_tokens: int) -> None:
        self.model, self.prompt_hash, self.repair, self.max_tokens = model, prompt_hash, repair, max_tokens

    @property
    def name(self) -> str:
        """The model's identity: another checkpoint in the same place is another judge."""
        return self.model.identity

    @property
    def setup(self) -> str:
        return ", ".join(filter(None, (address_of(self.model), f"max_tokens={self.max_tokens}", "temperature=0")))

    @abstractmethod
    def requests(self, inputs: Sequence[InputT]) -> list[Request]:
        """The most requests that these inputs can take if every reply is usable. It must not read the model's weights."""

    @abstractmethod
    def verdict_on(self, judge_input: InputT, id_: str, ask: Ask) -> Calls[VerdictT]:
        """Make the calls for one input with `ask`, and return the verdict."""

    def plan(self, inputs: Sequence[InputT], *, repeats: int = 1, answer_tokens: int = 0) -> Estimate:
        """The most requests and tokens that judging these inputs takes if every reply is usable.

        There will be `repeats` answers to each question, of which each is judged. `answer_tokens` is the most tokens of an
        answer that does not exist yet and is empty in the inputs. `BadInput` if a prompt with its reply exceeds the model's
        window, as nothing is ever cut off.
        """
        requests, window = list(chain(*by_context(self.requests(inputs)))), self.model.window()
        most = estimate(requests, self.model, repeats=repeats, more=answer_tokens)
        if window is not None and most.longest > window:
            raise BadInput(
                f"judge {self.model.name}: a prompt and its reply take up to {most.longest:,} tokens, its window has "
                f"{window:,}; {self.advice}"
            )
        return most

    def judge(self, inputs: Sequence[InputT], calls: Path | None = None) -> Generator[Judgement[VerdictT]]:
        """See `Judge.judge`. Inputs with the same key are judged once."""
        scratch = tempfile.TemporaryDirectory(prefix="epbench-judge-")
        with scratch as folder, closing(Journal(calls or Path(folder) / "calls.jsonl")) as journal:
            waiting: dict[str, _Course[InputT, VerdictT]] = {}  # by the key of the request whose reply is awaited
            for key, judge_input in {judge_input.key(self): judge_input for judge_input in inputs}.items():
                if judgement := _Course(self, judge_input, key).advance(None, journal, waiting):
                    yield judgement
            while waiting:
                asked, waiting = waiting, {}
                # Requests with one context follow one another, so that the context is read once.
                requests = list(chain(*by_context(course.request for course in asked.values())))
                # Closed, or requests that are open at an endpoint would go on when this stops.
                with closing(answered(journal, requests, self.model, {"setup": self.setup})) as records:
                    for record in records:
                        if judgement := asked[record["key"]].advance(record, journal, waiting):
                            yield judgement


def name_without_weights(judge: Judge[InputT, VerdictT]) -> str:
    """The judge's name for an estimate; unlike `Judge.name` it needs no weights on this machine."""
    return judge.model.name if isinstance(judge, BaseModelJudge) else judge.name


class _Lost(Exception):
    """A call without a reply; the message says why."""


class _Course(Generic[InputT, VerdictT]):
    """The judging of one input, call by call. `request` is the one whose reply it waits for."""

    def __init__(self, judge: BaseModelJudge[InputT, VerdictT], judge_input: InputT, key: str) -> None:
        self.request: Request
        self._judge, self._input, self._key = judge, judge_input, key
        self._raw: list[str] = []
        self._usage = Usage()
        self._void: list[str] = []  # keys of calls that the next start has to make again
        self._calls = self._judgement()

    def advance(
        self, record: Record | None, journal: Journal, waiting: dict[str, _Course[InputT, VerdictT]]
    ) -> Judgement[VerdictT] | None:
        """Take a reply (None at the start) and the later ones that the journal has; then wait for the next, or judge."""
        try:
            while True:
                self.request = next(self._calls) if record is None else self._calls.send(record)
                key = self.request.key(self._judge.name)
                if not journal.done(key):
                    waiting[key] = self
                    return None
                record = journal.records[key]
        except StopIteration as end:
            judgement: Judgement[VerdictT] = end.value
        for key in self._void:
            journal.add(**(journal.records[key] | {"failure": judgement.failure}))
        return judgement

    def _judgement(self) -> Calls[Judgement[VerdictT]]:
        try:
            verdict = yield from self._judge.verdict_on(self._input, self._key, self._ask)
        except (UnusableReply, _Lost) as problem:
            return Judgement(self._key, None, str(problem), tuple(self._raw), self._usage)
        return Judgement(self._key, verdict, None, tuple(self._raw), self._usage)

    def _ask(self, request: Request, read: Callable[[str], T]) -> Calls[T]:
        try:
            return read((yield from self._reply(request)))
        except UnusableReply as error:
            problem = str(error)
        question = f"{request.question}\n\n{self._judge.repair.format(problem=problem)}"
        repeated = replace(request, question=question, repeat=request.repeat + 1)
        try:
            return read((yield from self._reply(repeated)))
        except UnusableReply as error:
            self._void = [call.key(self._judge.name) for call in (request, repeated)]
            raise UnusableReply(f"the judge's reply is unusable, also when asked again: {error}") from None

    def _reply(self, request: Request) -> Calls[str]:
        record = yield request
        used, total = Usage(**record.get("usage", {})), self._usage
        self._usage = Usage(total.prompt + used.prompt, total.cached + used.cached, total.completion + used.completion)
        if (failure := record.get("failure")) is not None:
            raise (UnusableReply if record.get("ended") in WITHOUT_TEXT else _Lost)(failure)
        self._raw.append(record["answer"])
        return str(record["answer"])
