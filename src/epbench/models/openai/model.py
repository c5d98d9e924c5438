"""Models behind a service: what all of them share, and those behind any OpenAI-compatible endpoint (OpenAI, vLLM,
`transformers serve`, llama.cpp, a gateway).

Asynchronous work becomes a plain generator of replies, and these lose secrets.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.secrets import without_keys, without_secrets
from epbench.files.text import whole
from epbench.models.controls import AS_IT_IS, Controls, refuse_controls
from epbench.models.openai.address import LOCAL_SERVERS, SizeLimit, find_address
from epbench.models.openai.concurrency import Fault, Gate, Limit, Outage, PauseTooLong, backoff_s, fault_of
from epbench.models.openai.wire import CHARACTERS_PER_TOKEN, Dialect, chat_body, read_chat
from epbench.models.protocol import Reply, Request, by_context

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)

_LONGEST_FAILURE = 400  # characters
_WINDOW_TIMEOUT_S = 10.0
_LOADING_TIMEOUT_S = 120.0  # of a server on this machine, which may have to load the model first
_FORMAT_WARNINGS = {
    "json_object": "%s takes no JSON schema; it is asked for any JSON object instead (%s)",
    "prompt": "%s takes no response_format; the prompt alone asks for JSON (%s)",
}

Deliver = Callable[..., None]
"""Keeps a reply and hands it over; a second argument is called in the event loop when the reader asks for the next one."""


def iterate(work: Callable[[Deliver], Coroutine[Any, Any, None]], keep: Callable[[Reply], None]) -> Generator[Reply]:
    """Yield each reply of the work when it is delivered. Closing the generator cancels the work; its errors are raised here."""
    queue: SimpleQueue[tuple[Reply, Callable[[], None]] | BaseException | None] = SimpleQueue()

    def deliver(reply: Reply, taken: Callable[[], None] = lambda: None) -> None:
        keep(reply)  # first of all, because it is paid for
        queue.put((reply, taken))

    loop = asyncio.new_event_loop()
    task = loop.create_task(work(deliver))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as errors:
            queue.put(errors.exceptions[0])  # the others are consequences of it
        except BaseException as error:
            queue.put(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            queue.put(None)

    thread = threading.Thread(target=run, name="epbench-requests", daemon=True)
    thread.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            reply, taken = item
            yield reply
            with suppress(RuntimeError):  # the loop is closed, because this was the last result
                loop.call_soon_threadsafe(taken)
    finally:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)
        if threading.current_thread() is not thread:  # the garbage collector may close the generator in that thread
            thread.join()


def check_numbers(name: str, timeout_s: float, **counts: int | None) -> None:
    """Refuse counts below 1, and a timeout that is not a finite number of seconds above 0."""
    for argument, value in counts.items():
        if value is not None and value < 1:
            raise BadInput(f"{argument} of {name}: expected at least 1, got {value}")
    if not 0 < timeout_s < math.inf:
        raise BadInput(f"timeout of {name}: expected a finite number of seconds above 0, got {timeout_s}")


class RemoteModel(ABC):
    """What models behind a service share; how each request is made is the business of `_answer_all`."""

    costs_nothing = False
    continues_prompts = False
    name: str
    _controls: Controls

    @property
    def identity(self) -> str:
        """The name, because nothing is known about the weights behind a service."""
        return self.name

    def about_variant(self) -> dict[str, Any]:
        """See `variant_of`."""
        return self._controls.given

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Estimate `Model.count_tokens` at 4 characters a token, as in English prose; too low for most other languages."""
        prompt, shared = len(request.system) + len(request.user), len(request.system) + len(request.context)
        return -(-prompt // CHARACTERS_PER_TOKEN), -(-shared // CHARACTERS_PER_TOKEN)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. `RunFailed` if so many requests in a row got no reply that the others would get none."""
        return self.answer_keeping(requests, lambda reply: None)

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """See `KeepsReplies.answer_keeping`; it raises what `answer` raises."""
        return iterate(partial(self._answer_all, requests), keep)

    @abstractmethod
    def _secrets(self) -> Iterable[str]:
        """What must not appear in any reply or failure, besides the keys of the environment."""

    @abstractmethod
    async def _answer_all(self, requests: Sequence[Request], deliver: Deliver) -> None: ...

    def _cleaned(self, reply: Reply, *own_names: str) -> Reply:
        """Remove keys, which some services quote, and halves of surrogate pairs from a reply; and a name that is known."""
        return replace(  # short secrets stay in the answer, because they may be ordinary words
            reply,
            text=without_keys(whole(reply.text)),
            reasoning=without_keys(whole(reply.reasoning)),
            failure=None if reply.failure is None else self._clean(reply.failure),
            served="" if reply.served in own_names else self._clean(reply.served),
        )

    def _clean(self, reason: str) -> str:
        """Shorten a reason to one line without keys, which some services quote."""
        reason = " ".join(without_secrets(whole(reason), self._secrets()).split())
        return reason if len(reason) <= _LONGEST_FAILURE else reason[: _LONGEST_FAILURE - 1] + "…"


class EndpointModel(RemoteModel):
    """A model behind an endpoint: many chat completions at once, each tried again if that can help.

    The first request of a context goes alone, so that the endpoint's prefix cache is warm for the others. A slot stays
    taken until the reader asks for the next reply. `answer_keeping` keeps each reply as soon as it is read, so that a kill
    loses at most the answers to the requests that may be open at once: `concurrency`, or up to 64 if that is found out.
    """

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
        controls: Controls = AS_IT_IS,
        server: str = "openai",
    ) -> None:
        """
        Address and key are as for `endpoint_address`. `window` is how many tokens prompt and answer may have together; by
        default the endpoint is asked. `concurrency` is by default as many requests as the endpoint can take, 1 to 64.
        `timeout_s` is for one attempt, from its first to its last byte; `backoff_base_s` is the longest wait in seconds after
        the first failed one, and doubles with every attempt. `server` is `openai`, or one of `LOCAL_SERVERS`: its address is
        then the default, it is sent no key, and it is asked for the window that it has allocated. `BadInput` if a value is out
        of its range, the key is missing or cannot be sent, or the client is not installed.
        """
        if not name:
            raise BadInput(f"{server}: expected a model name after the colon, such as openai:gpt-4o-mini")
        self.name = f"{server}:{name}{controls.mark}"
        self._model, self._window, self._controls = name, window, controls
        self._server = LOCAL_SERVERS.get(server)
        refuse_controls(f"openai:{name}", controls)
        self._address = find_address(base_url, self.name, self._server.url if self._server else None)
        check_numbers(self.name, timeout_s, window=window, concurrency=concurrency, attempts=attempts)
        self._timeout_s, self._attempts, self._backoff_base_s = timeout_s, attempts, backoff_base_s
        self._limit = Limit() if concurrency is None else Limit(concurrency, minimum=concurrency, maximum=concurrency)
        self._dialect = Dialect()
        self._outage = Outage(self.name)

    @property
    def address(self) -> str:
        return without_secrets(self._address.url).rstrip("/")

    def window(self) -> int | None:
        """Return the given window, else the endpoint's, else None; `BadInput` if a server that cuts prompts off does not say."""
        if self._window is None and self._listed_window is None and self._server and self._server.larger:
            raise BadInput(
                f"{self.name}: the server at {self.address} does not say what window it has allocated, and it would cut longer "
                "prompts off without a word; see that it runs and has the model, or give the window yourself "
                f"({self._server.larger} sets it)"
            )
        return self._window or self._listed_window

    def _secrets(self) -> Iterable[str]:
        return self._address.secrets

    @cached_property
    def _listed_window(self) -> int | None:
        import openai

        try:
            http = openai.DefaultHttpx2Client(**SizeLimit().options(asynchronous=False))
            timeout = _LOADING_TIMEOUT_S if self._server else _WINDOW_TIMEOUT_S
            options = {**self._address.client_options, "max_retries": 0, "timeout": timeout, "http_client": http}
            with openai.OpenAI(**options) as client:
                root = self._address.url.rstrip("/").removesuffix("/v1")

                def ask(path: str, body: object = None) -> Any:
                    method = client.get if body is None else partial(client.post, body=body)
                    return method(f"{root}{path}", cast_to=object)

                if self._server:
                    return int(self._server.window(ask, self._model)) or None
                models: Any = client.get("/models", cast_to=object)
            lengths = [model.get("max_model_len") for model in models["data"] if model["id"] == self._model]
            return int(lengths[0]) if lengths and lengths[0] else None
        except Exception:  # whatever happens, an unknown window is no reason to stop
            return None

    async def _answer_all(self, requests: Sequence[Request], deliver: Deliver) -> None:
        import openai

        gate = Gate(self._limit)
        open_tasks: set[asyncio.Task[None]] = set()

        # We keep the deadline, because that of the client starts again with every byte.
        http = openai.DefaultAsyncHttpx2Client(**SizeLimit().options(asynchronous=True))
        client = openai.AsyncOpenAI(**self._address.client_options, max_retries=0, timeout=None, http_client=http)
        async with client, asyncio.TaskGroup() as tasks:
            for group in by_context(requests):
                if len(group) > 1:
                    # The next context waits until the open requests leave slots idle, because two long contexts at once
                    # may drive each other out of the endpoint's cache.
                    while len(open_tasks) >= self._limit.value:
                        await asyncio.wait(open_tasks, return_when=asyncio.FIRST_COMPLETED)
                    await self._answer_one(client, gate, group.pop(0), deliver)
                for request in group:
                    task = tasks.create_task(self._answer_one(client, gate, request, deliver))
                    open_tasks.add(task)
                    task.add_done_callback(open_tasks.discard)

    async def _answer_one(self, client: AsyncOpenAI, gate: Gate, request: Request, deliver: Deliver) -> None:
        """Try until there is an answer, until trying is of no use, or until no attempt is left."""
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
            learned = dialect
            if fault.refused:
                with_format = request.schema is not None and dialect.answer_format != "prompt"
                learned = dialect.learned(fault.reason, with_format=with_format)
            if learned != dialect:
                self._learn(learned, fault.reason)
                attempt -= 1  # nothing was wrong with the connection
            elif not fault.passing:
                break
            elif not fault.wait_s and attempt < self._attempts:
                await asyncio.sleep(backoff_s(attempt, self._backoff_base_s))
        tries = f" ({attempt} attempts)" if fault.passing else ""
        failure = self._clean(fault.reason) + tries
        deliver(Reply(request.key(self.identity), request.id, failure=failure))
        self._outage.failed(fault, failure)

    def _learn(self, learned: Dialect, reason: str) -> None:
        """Write later requests as the endpoint wants them; log once how this changes the answers."""
        known, self._dialect = self._dialect, self._dialect.joined(learned)
        for field in sorted(self._dialect.without - known.without):
            log.warning("%s takes no %s; it answers without (%s)", self.name, field, self._clean(reason))
        if self._dialect.answer_format != known.answer_format:
            log.warning(_FORMAT_WARNINGS[self._dialect.answer_format], self.name, self._clean(reason))

    async def _call(self, client: AsyncOpenAI, request: Request, dialect: Dialect) -> Reply:
        body = chat_body(request, self._model, dialect, self._controls)
        # The client refuses arguments that its own API does not know, but sends whatever is in `extra_body`.
        known = {name: body.pop(name) for name in ("model", "messages")}
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.chat.completions.with_raw_response.create(**known, extra_body=body)
            reply = read_chat(response.text, request, request.key(self.identity))
        except Exception as error:
            raise fault_of(error, self._timeout_s) from error
        return self._cleaned(reply, self._model)
