"""What the process of a memory system can see and reach, tried by a system that wants more."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from http.server import HTTPServer
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.memories.load import load_memory
from epbench.memories.process import clean_environment, require_bwrap, sandbox
from tests.loopback import Handler, Loopback
from tests.refusals import refusal

ROOT = Path(__file__).parents[2]
ESCAPES = Path(__file__).with_name("escapes.py")
KEY = "sk-key-of-the-user-1"
HELD_ONLY_BY_BWRAP = {
    "key_in_home", "file_of_the_run", "urllib", "curl", "subprocess", "ctypes", "unix_socket", "udp",
    "writing", "writing_the_current_folder", "writing_the_run",
}  # fmt: skip

_RUN = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from epbench.memories.load import load_memory
from tests.memories.test_isolation import ESCAPES
from tests.memories.test_session import conversations, run_system
system = load_memory(f"{ESCAPES}:Escapes", isolation=sys.argv[2])
run_system(system, Path(sys.argv[3]), conversations(texts=sys.argv[4:]), [])
"""


def needs_bwrap():
    try:
        require_bwrap()
    except BadInput as error:
        pytest.skip(str(error))


class Door(Handler):
    def do_GET(self):
        self.reply(200)


@pytest.fixture
def outside(tmp_path):
    """A port of each kind, a home with a key, a run, and what a system is told of them."""
    for folder in ("home", "run", "current"):
        (tmp_path / folder).mkdir()
    (tmp_path / "home/.key").write_text(KEY)
    (tmp_path / "run/run.json").write_text("{}")
    server = HTTPServer(("127.0.0.1", 0), Door)
    udp, unix = socket.socket(type=socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX)
    with Loopback(server), udp, unix:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        unix.bind(str(tmp_path / "unix"))
        unix.listen()
        about = {name: str(tmp_path / name) for name in ("home", "run", "outside", "unix")}
        yield about | {"key": KEY[::-1], "port": server.server_port, "udp": udp.getsockname()[1]}, udp


def escapes(isolation, outside, tmp_path):
    about, udp = outside
    env = os.environ | {"OPENAI_API_KEY": KEY, "HOME": about["home"], "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", _RUN, ROOT, isolation, tmp_path / "run", json.dumps(about)]
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, cwd=tmp_path / "current")
    assert done.returncode == 0, done.stderr
    *found, own = json.loads((tmp_path / "run/memories.json").read_text())[""]
    assert own == "a store can be written to"
    with contextlib.suppress(TimeoutError):
        found += ["udp"] if udp.recv(10) else []
    return {*found, *(["writing"] if (tmp_path / "outside").exists() else [])}


@pytest.mark.slow
def test_a_process_gets_no_key_of_an_environment(outside, tmp_path):
    """The other attempts succeed here, so that they would be seen to fail in a sandbox."""
    assert escapes("process", outside, tmp_path) == HELD_ONLY_BY_BWRAP


@pytest.mark.slow
def test_nothing_gets_out_of_the_sandbox(outside, tmp_path):
    needs_bwrap()
    assert escapes("bwrap", outside, tmp_path) == set()
    assert (tmp_path / "run/run.json").read_text() == "{}" and not list((tmp_path / "current").iterdir())


_HIDES = """
import ctypes, os, subprocess
from pathlib import Path
from epbench.memories.process import hide_environment
hide_environment()
assert b"sk-" not in Path("/proc/self/environ").read_bytes() and os.environ["MY_API_KEY"].startswith("sk-")
assert subprocess.run("test $MY_API_KEY = " + os.environ["MY_API_KEY"], shell=True).returncode == 0
assert ctypes.CDLL(None).prctl(3) == 0  # PR_GET_DUMPABLE
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_run_does_not_show_its_variables_and_keeps_them():
    env = os.environ | {"MY_API_KEY": KEY, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", _HIDES], env=env, check=True)


def test_the_clean_environment_has_no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "MY_OWN"):
        monkeypatch.setenv(name, KEY)
    assert KEY not in clean_environment().values() and clean_environment()["PATH"] == os.environ["PATH"]
    assert clean_environment(["MY_OWN", "MISSING"])["MY_OWN"] == KEY


def test_a_bubblewrap_that_is_missing_or_does_not_work_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("epbench.memories.load.require_bwrap", require_bwrap.__wrapped__)
    monkeypatch.setenv("PATH", "")
    for name in (f"{ESCAPES}:Escapes", "mem0"):
        with pytest.raises(BadInput, match="found no bubblewrap; install it, as in 'apt-get install bubblewrap'"):
            load_memory(name, isolation="bwrap")
    assert load_memory("none", isolation="bwrap").baseline  # baselines need none
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BadInput, match="does not work here .No permissions to create new namespace.; allow user"):
        load_memory("mem0", isolation="bwrap")
    with pytest.raises(BadInput, match="isolation: expected one of none, process, bwrap, got 'docker'"):
        load_memory("none", isolation="docker")


def test_the_home_folder_is_never_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    store, class_ = tmp_path / "run/stores/all", tmp_path / "home/class"
    command = sandbox(store, [tmp_path, tmp_path / "home", class_], class_)
    assert str(class_) in command and not {str(tmp_path), str(tmp_path / "home")} & set(command)
    assert "start from the folder of the class" in refusal(sandbox, store, [tmp_path], tmp_path)
