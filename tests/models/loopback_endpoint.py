"""An OpenAI-compatible endpoint on 127.0.0.1 that records what it is asked and misbehaves on purpose.

It answers POST /v1/chat/completions, GET /v1/models and further paths. A script says for each call, by its number from 0, which fault
it gets; without one every call is answered.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any, ClassVar

from tests.loopback import Handler, Loopback

Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What a call gets instead of an answer: `status`, `hang`, `cut` (in the middle of the body), or `drop` (at once)."""

    kind: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    words: str = "made to fail"
    body: Body | None = None  # of a status, instead of the words
    raw: str | bytes = ""  # likewise, as it is sent


SLOW_DOWN = Fault("status", 429, {"Retry-After": "0.05"}, "Rate limit reached")
BROKEN = Fault("status", 500, words="Internal error")
HANG, CUT, DROP = Fault("hang"), Fault("cut"), Fault("drop")
GARBAGE = Fault("status", 200, raw="<html>Bad gateway</html>")
FAULTS = (SLOW_DOWN, BROKEN, HANG, CUT, DROP, GARBAGE)

Script = Callable[[int, Body], Fault | None]
_PATIENCE_S = 60.0  # no test waits so long for a held answer unless what it tests is broken


def some_calls(share: float, seed: int, faults: tuple[Fault, ...] = FAULTS) -> Script:
    """A script that lets that share of all calls fail, drawn by the seed and the number of the call."""

    def script(number: int, body: Body) -> Fault | None:
        draws = random.Random(f"{seed}/{number}")
        return draws.choice(faults) if draws.random() < share else None

    return script


def first_calls(*faults: Fault | None) -> Script:
    """A script for the first calls; all others are answered."""
    return lambda number, body: faults[number] if number < len(faults) else None


@dataclass
class Call:
    """One call of the chat endpoint, with the times of `time.monotonic` at which it came and ended.

    It ends just before the response is sent: whoever has read the response begins the next call later than that.
    """

    number: int
    body: Body
    headers: dict[str, str]  # names in lower case
    began: float
    open_calls: int
    ended: float = 0.0
    answered: bool = False
    query: str = ""  # of the address

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def question(self) -> str:
        return self.user.rpartition("\n\n")[2]


class LoopbackEndpoint(Loopback):
    """The double, serving between `with` and its end.

    Attributes:
        calls: all calls of the chat endpoint, in the order in which they came.
        open, answered, peak: how many calls are open now, were answered so far, and were open at once at most.
        stuck: whether an answer was held so long that it was given up and sent.
    """

    path = "/v1/chat/completions"

    def __init__(
        self,
        answer: Callable[[str], str] = lambda prompt: f"answer to {prompt.rpartition(chr(10))[2]}",
        *,
        script: Script = lambda number, body: None,
        latency_s: float = 0.0,
        may_answer: Callable[[Call], bool] = lambda call: True,
        more: Callable[[Body], Body] = lambda body: {},
        models: Body | None = None,
        paths: dict[str, Body] | None = None,
        port: int = 0,
    ) -> None:
        """
        Args:
            answer: from the user message to the answer's text.
            may_answer: holds an answer until it is true, one answer at a time; asked whenever a call begins or ends.
            more: from the body of a call to parts that replace those of the usual completion; `choice` and `message`
                replace parts of these.
            models: body of GET /v1/models; None for one without windows.
            paths: what is answered at further paths.
            port: of an earlier endpoint, to be found at the same address; 0 for a free one.
        """
        self.answer, self.script, self.latency_s, self.more = answer, script, latency_s, more
        self.may_answer, self.stuck = may_answer, False
        models = {"object": "list", "data": [{"id": "tiny", "object": "model"}]} if models is None else models
        self.paths = {"/v1/models": models} | (paths or {})
        self.asked: list[tuple[str, str, bytes, str | None]] = []  # at other paths: command, path, body, authorization
        self.calls: list[Call] = []
        self.peak = self.open = self.answered = 0
        self._lock = threading.Condition()
        self.closing = threading.Event()
        super().__init__(_Server(("127.0.0.1", port), type("BoundHandler", (_Handler,), {"endpoint": self})))
        self.port = self._server.server_port
        self.url += "/v1"

    def __exit__(self, *error: object) -> None:
        self.closing.set()  # ends what hangs
        self.recheck()
        super().__exit__(*error)

    def paid(self) -> Counter[str]:
        """How often each question was answered: the client was there when the answer was sent, and may have read it."""
        return Counter(call.question for call in self.calls if call.answered)

    def begin(self, body: Body, headers: dict[str, str]) -> Call:
        with self._lock:
            self.open += 1
            self.peak = max(self.peak, self.open)
            call = Call(len(self.calls), body, headers, time.monotonic(), self.open)
            self.calls.append(call)
            self._lock.notify_all()
            return call

    def hold(self, call: Call, is_gone: Callable[[], bool]) -> bool:
        """Wait until the call may be answered; whether it still can be. Then it counts as answered."""
        with self._lock:
            freed = self._lock.wait_for(lambda: self.closing.is_set() or self.may_answer(call), _PATIENCE_S)
            self.stuck = self.stuck or not freed
            if self.closing.is_set() or is_gone():
                return False
            call.answered = True  # before it is sent: the client may read and ask faster than this thread goes on
            self.answered += 1
            self.end(call)
            return True

    def end(self, call: Call) -> None:
        with self._lock:
            if not call.ended:
                self.open -= 1
                call.ended = time.monotonic()
                self._lock.notify_all()

    def recheck(self) -> None:
        """Something that `may_answer` looks at has changed."""
        with self._lock:
            self._lock.notify_all()

    def completion(self, body: Body) -> Body:
        text = self.answer(str(body["messages"][-1]["content"]))
        parts = self.more(body)
        message = {"role": "assistant", "content": text} | parts.pop("message", {})
        choice = {"index": 0, "finish_reason": "stop", "message": message} | parts.pop("choice", {})
        usage = {"prompt_tokens": 10, "completion_tokens": len(text.split()), "total_tokens": 10 + len(text.split())}
        about = {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"]}
        return about | {"choices": [choice], "usage": usage} | parts


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


class _Handler(Handler):
    endpoint: ClassVar[LoopbackEndpoint]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self, content: bytes = b"") -> None:
        path = self.path.partition("?")[0]
        self.endpoint.asked.append((self.command, path, content, self.headers.get("authorization")))
        found = self.endpoint.paths.get(path)
        self._send(200 if found else 404, json.dumps(found or {"detail": "Not Found"}).encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if path != self.endpoint.path:
            return self.do_GET(content)
        body = json.loads(content)
        call = self.endpoint.begin(body, {name.lower(): value for name, value in self.headers.items()})
        call.query = query
        try:
            if fault := self.endpoint.script(call.number, body):
                self._misbehave(fault, call)
            elif not self.endpoint.closing.wait(self.endpoint.latency_s):
                content = json.dumps(self.endpoint.completion(body)).encode()
                if self.endpoint.hold(call, self._client_is_gone):
                    self._send(200, content)
        finally:
            self.endpoint.end(call)

    def _client_is_gone(self) -> bool:
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _misbehave(self, fault: Fault, call: Call) -> None:
        if fault.kind != "hang":
            self.endpoint.end(call)
        if fault.kind == "status":
            raw = fault.raw or json.dumps(fault.body or {"error": {"message": fault.words, "type": "error"}})
            return self._send(fault.status, raw if isinstance(raw, bytes) else raw.encode(), fault.headers)
        if fault.kind == "hang":
            self.endpoint.closing.wait(60)
        elif fault.kind == "cut":
            self._send(200, b'{"choices": [{"mess', {"Content-Length": "1000"})
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.reply(status, content, {"Content-Type": "application/json"} | (headers or {}))
