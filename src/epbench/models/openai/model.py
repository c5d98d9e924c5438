"""A model behind any OpenAI-compatible endpoint: OpenAI, vLLM, `transformers serve`, llama.cpp, a gateway."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.models.openai.address import find_address
from epbench.models.openai.background import Outbox, iterate
from epbench.models.openai.concurrency import Gate, Limit, PauseTooLong, backoff_s
from epbench.models.openai.dialect import Dialect
from epbench.models.openai.errors import Fault, Outage, fault_of
from epbench.models.openai.wire import chat_body, read_chat
from epbench.models.protocol import Reply, Request, whole
from epbench.models.scheduling import by_context
from epbench.runs.secrets import SHORTEST_SECRET, without_keys, without_secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Deliver = Callable[[Reply, Callable[[], None]], None]
"""Hands a reply over; the second argument is called when the reader comes back for the next one."""

log = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
_WINDOW_TIMEOUT_S = 10.0
_LONGEST_FAILURE = 400  # characters
_FORMAT_WARNINGS = {
    "json_object": "%s takes no JSON schema; it is asked for any JSON object instead (%s)",
    "prompt": "%s takes no response_format; the prompt alone asks for JSON (%s)",
}


class EndpointModel:
    """Chat completions, many at once, each tried again where that can help.

    The first request of a context goes alone, so that the endpoint's prefix cache is warm for the others of it. Slots
    stay taken until the reader has come back for the next reply: at any time at most as many answers are paid for and
    not yet in the reader's hands as requests may be open at once.

    What a kill loses: `answer_keeping` keeps each reply as soon as it is read, so that only an answer that the endpoint
    has sent and this process has not read yet is paid for and not kept. There are at most as many of these as requests
    are open at once: `concurrency`, or up to 64 where that is found out. They are asked once more by the next start.
    """

    costs_nothing = False
    continues_prompts = False

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        window: int | None = None,
        concurrency: int | None = None,
        timeout_s: float = 300.0,
        attempts: int = 5,
        backoff_base_s: float = 1.0,
    ) -> None:
        """
        Args:
            name: of the model, as the endpoint knows it.
            base_url: such as `http://127.0.0.1:8000/v1`; None for OPENAI_BASE_URL, else OpenAI itself. Its query, if
                it has one, is sent with every request. The key is OPENAI_API_KEY; with a base URL it may be missing.
            window: tokens that prompt and answer may have together; None to ask the endpoint.
            concurrency: requests at once, at least 1; None to find out what the endpoint bears, 1 to 64.
            timeout_s: seconds, above 0, for one try of one request from its first to its last byte.
            attempts: tries for one request, at least 1.
            backoff_base_s: seconds that the wait after the first failed try has at most; it doubles with every try.

        Raises:
            BadInput: a value is out of its range, the key is missing or cannot be sent, or the client is not installed.
        """
        if not name:
            raise BadInput("openai: a model name is expected after the colon, such as openai:gpt-4o-mini")
        self._address = find_address(base_url, f"openai:{name}")
        for what, value in (("window", window), ("concurrency", concurrency), ("attempts", attempts)):
            if value is not None and value < 1:
                raise BadInput(f"{what} of openai:{name}: {value} was found, at least 1 is expected")
        if not 0 < timeout_s < math.inf:
            raise BadInput(
                f"timeout of openai:{name}: {timeout_s} s was found, a finite number of seconds above 0 is expected"
            )
        self._model, self._window = name, window
        self._timeout_s, self._attempts, self._backoff_base_s = timeout_s, attempts, backoff_base_s
        self._limit = Limit() if concurrency is None else Limit(concurrency, minimum=concurrency, maximum=concurrency)
        self._dialect = Dialect()
        self._outage = Outage(self.name)

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def identity(self) -> str:
        """The name: nothing is known of an endpoint's weights."""
        return self.name

    def window(self) -> int | None:
        """As given, else what the endpoint's list of models says (vLLM does); None if it does not."""
        return self._window or self._listed_window

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """An estimate, about 4 characters a token as in English prose; too low for most other languages."""
        shared = len(request.system) + len(request.context)
        whole = len(request.system) + len(request.user)
        return -(-whole // CHARACTERS_PER_TOKEN), -(-shared // CHARACTERS_PER_TOKEN)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Closing the iterator cancels what is open.

        Raises:
            RunFailed: the endpoint does not answer, or lets nobody in: see `epbench.models.openai.errors.Outage`.
        """
        return self.answer_keeping(requests, lambda reply: None)

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """See `KeepsReplies.answer_keeping`; raises what `answer` raises."""
        return iterate(lambda outbox: self._answer_all(requests, outbox, keep))

    @cached_property
    def _listed_window(self) -> int | None:
        import openai

        try:
            http = openai.DefaultHttpxClient(follow_redirects=False)
            with openai.OpenAI(
                **self._address.client_options, max_retries=0, timeout=_WINDOW_TIMEOUT_S, http_client=http
            ) as client:
                models: Any = client.get("/models", cast_to=object)
            lengths = [model.get("max_model_len") for model in models["data"] if model["id"] == self._model]
            return int(lengths[0]) if lengths and lengths[0] else None
        except Exception:  # whatever it answers: not knowing the window is no reason to stop
            return None

    async def _answer_all(
        self, requests: Sequence[Request], outbox: Outbox[Reply], keep: Callable[[Reply], None]
    ) -> None:
        import openai

        gate = Gate(self._limit)
        open_tasks: set[asyncio.Task[None]] = set()
        ended = asyncio.Event()

        def end(task: asyncio.Task[None]) -> None:
            open_tasks.discard(task)
            ended.set()

        def deliver(reply: Reply, taken: Callable[[], None]) -> None:
            keep(reply)  # before anything else: it is paid for
            outbox.put(reply, taken)

        # The deadline is ours: the client's own counts from byte to byte and starts anew with each.
        http = openai.DefaultAsyncHttpxClient(follow_redirects=False)
        client = openai.AsyncOpenAI(**self._address.client_options, max_retries=0, timeout=None, http_client=http)
        async with client, asyncio.TaskGroup() as tasks:
            for group in by_context(requests):
                if len(group) > 1:
                    # The next context begins when the open requests leave slots idle, not before: two long contexts
                    # at once may drive each other out of the endpoint's cache.
                    while len(open_tasks) >= self._limit.value:
                        ended.clear()
                        await ended.wait()
                    await self._answer_one(client, gate, group.pop(0), deliver)
                for request in group:
                    task = tasks.create_task(self._answer_one(client, gate, request, deliver))
                    open_tasks.add(task)
                    task.add_done_callback(end)

    async def _answer_one(self, client: AsyncOpenAI, gate: Gate, request: Request, deliver: Deliver) -> None:
        """Try until there is an answer, no hope or no attempt left.

        Raises:
            RunFailed: that many requests before this one failed too that there is no hope for the others.
        """
        fault = Fault("")
        attempt = 0
        while attempt < self._attempts:
            try:
                epoch = await gate.enter(again=attempt > 0)
            except PauseTooLong as pause:
                fault = Fault(f"{fault.reason} ({pause})" if fault.reason else str(pause), passing=False)
                break
            dialect = self._dialect
            attempt += 1
            try:
                reply = await self._call(client, request, dialect)
            except Fault as this:
                fault = this
            else:
                deliver(reply, gate.leave)
                self._outage.over()
                gate.limit.succeeded(gate.in_use)
                return
            if fault.overload:
                gate.limit.overloaded(epoch)
            if fault.wait_s and fault.passing:
                gate.pause(fault.wait_s)
            gate.leave()
            if fault.refused and (learned := _learned(dialect, request, fault)) != dialect:
                self._learn(learned, fault.reason)
                attempt -= 1  # nothing was wrong with the line
            elif not fault.passing:
                break
            elif not fault.wait_s and attempt < self._attempts:
                await asyncio.sleep(backoff_s(attempt, base_s=self._backoff_base_s))
        tries = f" ({attempt} attempts)" if fault.passing else ""
        failure = self._clean(fault.reason) + tries
        deliver(Reply(request.key(self.identity), request.id, failure=failure), lambda: None)
        self._outage.failed(fault, failure)

    def _learn(self, learned: Dialect, reason: str) -> None:
        """Speak to the endpoint as it wants; what that changes in the answers is said once."""
        known, self._dialect = self._dialect, self._dialect.joined(learned)
        for field in sorted(self._dialect.without - known.without):
            log.warning("%s takes no %s; it answers without (%s)", self.name, field, self._clean(reason))
        if self._dialect.answer_format != known.answer_format:
            log.warning(_FORMAT_WARNINGS[self._dialect.answer_format], self.name, self._clean(reason))

    async def _call(self, client: AsyncOpenAI, request: Request, dialect: Dialect) -> Reply:
        """
        Raises:
            Fault: there is no answer.
        """
        body = chat_body(request, self._model, dialect)
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.chat.completions.with_raw_response.create(**body)
            reply = read_chat(response.text, request, request.key(self.identity))
        except Exception as error:
            raise fault_of(error, self._timeout_s) from error
        return self._cleaned(reply)

    def _cleaned(self, reply: Reply) -> Reply:
        """The reply without keys, which some endpoints quote, and without halves of surrogate pairs.

        Short secrets stay in the answer: they may be words, such as a password "book".
        """
        secrets = [secret for secret in self._address.secrets if len(secret) >= SHORTEST_SECRET]
        return replace(
            reply,
            text=without_keys(whole(reply.text), secrets),
            reasoning=without_keys(whole(reply.reasoning), secrets),
            failure=None if reply.failure is None else self._clean(reply.failure),
            served="" if reply.served == self._model else self._clean(reply.served),
        )

    def _clean(self, reason: str) -> str:
        """One line of bearable length, without keys: some endpoints quote them."""
        reason = " ".join(without_secrets(whole(reason), self._address.secrets).split())
        return reason if len(reason) <= _LONGEST_FAILURE else reason[: _LONGEST_FAILURE - 1] + "…"


def _learned(dialect: Dialect, request: Request, fault: Fault) -> Dialect:
    """The dialect in which the request was refused, with what the refusal teaches."""
    with_format = request.schema is not None and dialect.answer_format != "prompt"
    return dialect.learned(fault.reason, with_format=with_format)
