"""Adapters of real systems, each in a process of its environment's Python.

$EPBENCH_TEST_SYSTEMS names the systems to test, as `make test-systems` does; the tests of the others are skipped. Their
environments are built in the user's own cache, as a run would build them.
"""

import importlib
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from epbench.memories.guard import Limits
from epbench.memories.process import ELSEWHERE, Home, ProcessGuard, clean_environment
from epbench.memories.systems import hosting
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint, settings_at
from tests.memories.systems.scripted_systems import SCRIPTED, made_up_checkout
from tests.own_home import USERS_CACHE

LOCKS = Path(hosting.__file__).with_name("locks")
CHOSEN = os.environ.get("EPBENCH_TEST_SYSTEMS", "").split()
ADAPTER = f"{Path(__file__).with_name('in_environment.py')}:Adapter"
NO_LIMITS = Limits(600.0, 1000.0)

FACTS = ["Mira plays the cello on Sundays.", "Ravi keeps bees behind the barn.", "Jörg trinkt nur grünen Tee 🍵."]


class AdapterProcess:
    """An adapter in a process of its own. A method of the adapter that is called here is called there.

    What it prints goes to the file `system.log` beside the adapter's folder, and the hosts and ports that it has tried to reach or
    to look up to the file `reached`.
    """

    def __init__(self, python, target, folder, settings, environ):
        folder.mkdir(parents=True, exist_ok=True)
        environ = {**clean_environment(), **environ, "ADAPTER": target, "REACHED": str(folder.with_name("reached"))}
        defaults = importlib.import_module(f"epbench.memories.systems.{target.partition(':')[0]}").DEFAULTS
        home = Home([str(python), *ELSEWHERE], environ, {**defaults, **settings})
        self._guard = ProcessGuard(ADAPTER, NO_LIMITS, folder.with_name("system.log"), lambda folder: home)
        self._guard.open(folder)

    def __getattr__(self, method):
        return partial(self._guard.call, method)

    def kill(self):
        """As kill -9 does."""
        os.killpg(self._guard.pid, signal.SIGKILL)

    def end(self):
        """Close the adapter and let the process end by itself; returns its status, which is that of a kill if it does not."""
        process = self._guard._process
        self._guard.close()
        return process and process.returncode


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
        return hosting.environment_python(LOCKS / f"{system}.txt")

    return python


@pytest.fixture
def endpoint(system):
    """Replies to the system of a test as a good model does, until the test says otherwise."""
    with ScriptedEndpoint(SCRIPTED[system].reply) as endpoint:
        yield endpoint


@pytest.fixture
def open_store(system, environment, endpoint, tmp_path, monkeypatch):
    """Open the store of a name with the system of a test."""
    monkeypatch.chdir(tmp_path)
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
