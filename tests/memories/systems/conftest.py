"""Adapters of real systems, each in a process of its environment's Python.

$EPBENCH_TEST_SYSTEMS names the systems to test, as `make test-systems` does; the tests of the others are skipped. Their
environments are built in the user's own cache, as a run would build them.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from epbench.memories.systems.hosting import environment_python
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint, settings_at
from tests.memories.systems.scripted_systems import SCRIPTED, made_up_checkout
from tests.own_home import USERS_CACHE

ROOT = Path(__file__).parents[3]
LOCKS = ROOT / "src/epbench/memories/systems/locks"
CHOSEN = os.environ.get("EPBENCH_TEST_SYSTEMS", "").split()
FOREIGN = ("OPENAI_", "OPENROUTER_", "ANTHROPIC_", "AZURE_", "LANGSMITH_", "LANGCHAIN_", "PYTHON")


FACTS = ["Mira plays the cello on Sundays.", "Ravi keeps bees behind the barn.", "Jörg trinkt nur grünen Tee 🍵."]


class Raised(Exception):
    """What the adapter raised, in words."""


class AdapterProcess:
    """An adapter in a process of its own. A method of the adapter that is called here is called there.

    `addresses()` returns the hosts and ports that the process has tried to reach or to look up. What it prints goes to
    the file `system.log` beside the adapter's folder.
    """

    def __init__(self, python, target, folder, settings, environ):
        folder.mkdir(parents=True, exist_ok=True)
        read, their_replies = os.pipe()
        their_calls, write = os.pipe()
        pipes = their_calls, their_replies
        environ = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)} | environ
        script = Path(__file__).with_name("in_environment.py")
        with (folder.parent / "system.log").open("a") as log:
            self._process = subprocess.Popen(
                [python, "-P", script, ROOT / "src/epbench", *map(str, pipes), target, folder, json.dumps(settings)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, cwd=folder.parent, pass_fds=pipes,
            )  # fmt: skip
        for pipe in pipes:
            os.close(pipe)
        self._calls, self._replies = os.fdopen(write, "w", buffering=1), os.fdopen(read)
        self._call("open")

    def _call(self, method, *args):
        print(json.dumps([method, args]), file=self._calls)
        line = self._replies.readline()
        assert line, f"the process ended with status {self._process.wait(60)} during {method}"
        reply = json.loads(line)
        if "raised" in reply:
            raise Raised(reply["raised"])
        return reply["found"]

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda *args: self._call(method, *args)

    def kill(self):
        """As kill -9 does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(60)

    def start(self, method, *args):
        """Send a call whose result nobody waits for, because the process is killed during it."""
        print(json.dumps([method, args]), file=self._calls)

    def end(self):
        """Let the process end by itself; returns its status."""
        if not self._calls.closed:
            self._calls.close()
            self._replies.close()
        try:
            return self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@pytest.fixture
def environment(monkeypatch):
    """The Python of a system's environment: `environment("mem0")`. Skips the test of a system that was not chosen."""
    if USERS_CACHE is None:
        monkeypatch.delenv("EPBENCH_CACHE")
    else:
        monkeypatch.setenv("EPBENCH_CACHE", USERS_CACHE)

    def python(system):
        if system not in CHOSEN:
            pytest.skip(f"$EPBENCH_TEST_SYSTEMS does not name {system}; make test-systems does")
        return environment_python(LOCKS / f"{system}.txt")

    return python


@pytest.fixture
def endpoint(system):
    """Replies to the system of a test as a good model does, until the test says otherwise."""
    with ScriptedEndpoint(SCRIPTED[system].reply) as endpoint:
        yield endpoint


@pytest.fixture
def open_store(system, environment, endpoint, tmp_path):
    """Open the store of a name with the system of a test."""
    python, about, opened = environment(system), SCRIPTED[system], []
    settings = settings_at(endpoint.base_url) | about.settings
    if system == "structmem":
        settings["source"] = str(made_up_checkout(tmp_path / "checkout"))

    def open_(name="store", **chosen):
        opened.append(AdapterProcess(python, about.target, tmp_path / name, settings | chosen, about.environ))
        return opened[-1]

    yield open_
    for adapter in opened:
        adapter.end()


def turn(role, content, minute):
    return {"role": role, "content": content, "timestamp": f"2024-03-01T10:{minute:02}:00"}


def fact(text, minute=0):
    """A conversation in which the user says this."""
    return [turn("user", text, minute)]


def tell(store, texts):
    """In a conversation for each, a minute after the other."""
    for minute, text in enumerate(texts):
        store.store_conversation(fact(text, minute))
