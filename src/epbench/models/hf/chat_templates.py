"""Chat templates, rendered in a child process with limits on its time and memory.

A template comes with a model's files. Jinja's sandbox keeps it from the machine, but not from `10 ** (10 ** 9)`, which nothing
inside a Python process can interrupt. As it may look at a message before it starts a loop, the child renders every prompt. One
child serves all templates of a process; it is started again after it has died, and ends with its parent.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from threading import Lock
from typing import Any

_SECONDS = 10  # of CPU time for one prompt
_MEMORY = 2 * 2**30  # bytes
_LONGEST_REASON = 1000  # characters
_START = (
    f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import serve; serve(int(sys.argv[2]))"
)


class TemplateFailed(Exception):
    """A chat template raised an error, wrote too much, or took too much time or memory."""


def render(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    *,
    answer_follows: bool,
    most: int,
    values: Mapping[str, Any] | None = None,
) -> str:
    """Write messages with the chat template of a tokenizer of transformers, as its `apply_chat_template` does.

    `answer_follows` says whether the head of an answer ends the text, `most` how many characters the template may write, and
    `values` what else it is given, by name. `TemplateFailed` if it cannot write these messages within 10 seconds of CPU time
    and 2 GiB of memory, `ValueError` if the tokenizer has several templates and no default.
    """
    given = {**tokenizer.special_tokens_map, **(values or {}), "add_generation_prompt": answer_follows}
    return _child.render((tokenizer.get_chat_template(), list(map(dict, messages)), given, most, _SECONDS))


class _Child:
    """The parent's end of the child process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, job: tuple[Any, ...]) -> str:
        with self._lock:
            if self._process is None:
                self._start()
            try:
                self._connection.send(job)
                answer = self._connection.recv_bytes()
            except (EOFError, OSError):
                code = self._stop()
                late = f"it takes more than {_SECONDS} seconds of CPU time for one prompt"
                why = late if code == -signal.SIGXCPU else f"the process that renders it ended with exit status {code}"
                raise TemplateFailed(why) from None
            except BaseException:  # such as Ctrl-C: what the child still sends would be taken for the next prompt
                self._stop()
                raise
        text = answer[1:].decode()
        if answer[:1] != b"+":
            raise TemplateFailed(text)
        return text

    def _start(self) -> None:
        self._connection, child_side = Pipe()
        with child_side:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps(sys.path), str(child_side.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[child_side.fileno()],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # each thread of numpy's would take memory
                start_new_session=True,  # so that Ctrl-C reaches only us
            )

    def _stop(self) -> int:
        assert self._process is not None
        self._connection.close()
        try:  # one that died closed its end a moment before its exit status was there
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process = None
        return code


_child = _Child()
os.register_at_fork(after_in_child=_child.__init__)  # type: ignore[misc]  # two processes cannot share one pipe


def serve(descriptor: int) -> None:
    """Be the child: render the parent's messages until it closes its end of a connection."""
    import resource

    from transformers.utils.chat_template_utils import render_jinja_template

    def limit(what: int, value: int) -> None:
        most = resource.getrlimit(what)[1]
        with suppress(OSError, ValueError):  # platforms other than Linux refuse some
            resource.setrlimit(what, (value if most == resource.RLIM_INFINITY else min(value, most), most))

    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_DATA, _MEMORY)
    connection = Connection(descriptor)
    while True:
        try:
            template, messages, values, most, seconds = connection.recv()
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)
        try:
            rendered: Any = render_jinja_template([messages], chat_template=template, **values)
            text = rendered[0][0]
            if len(text) > most:
                raise ValueError(f"expected a prompt of at most {most:,} characters, found {len(text):,}")
            answer = b"+" + text.encode(errors="replace")
        except Exception as error:  # templates may raise anything
            reason = str(error)[:_LONGEST_REASON] or type(error).__name__
            answer = b"-" + reason.encode(errors="replace")
        connection.send_bytes(answer)
