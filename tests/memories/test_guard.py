"""Calls into systems that work and that do not, in a process of their own and in this one."""

import fcntl
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.errors import CallFailed, SystemLost
from epbench.memories.guard import InProcessGuard, Limits, reason_of
from epbench.memories.process import ProcessGuard, describe_system, own_home
from epbench.memories.worker import import_system
from tests.loopback import wait_until

ROOT = Path(__file__).parents[2]
FAULTY = Path(__file__).with_name("faulty.py")
TELLING = [{"role": "user", "content": "I drink tea", "timestamp": "2025-01-01"}]


def process_guard(name, log, **limits):
    home = partial(own_home, name, "process", ("LOCK", "MY_API_KEY"))
    return ProcessGuard(name, Limits(**{"seconds": 60.0, **limits}), log, home)


def in_process_guard(name, log):
    return InProcessGuard(import_system(name), log)


@pytest.fixture(params=[process_guard, in_process_guard], ids=["own process", "this process"])
def make(request):
    return request.param


@pytest.fixture
def opened(tmp_path):
    """Open an instance of a class of faulty.py, which has stored that somebody drinks tea."""
    guards = []

    def open_(make, name, filled=True, **limits):
        guard = make(name if ":" in name else f"{FAULTY}:{name}", tmp_path / "system.log", **limits)
        guards.append(guard)
        guard.open(tmp_path)
        if filled:
            guard.call("store_conversation", TELLING)
        return guard

    yield open_
    for guard in guards:
        guard.close()


def ask(guard):
    return guard.call("retrieve_memories", "tea", [], 3)


UNUSABLE = {
    "RetrievesNumbers": "expected a string in position 1, got int",
    "RetrievesText": "expected a list of strings, got str",
    "RetrievesHalfACharacter": "expected Unicode, but the string in position 0 has half a surrogate pair",
    "RetrievesTooMuch": "expected at most 64 MiB of memories in one reply, got more",
    "RaisesInRetrieval": r"KeyError: 'no\nindex'",
    "LeavesInRetrieval": "SystemExit: I give up",
}


@pytest.mark.slow
def test_what_a_call_gives_that_cannot_be_used_is_a_reason_in_one_line(make, opened, tmp_path):
    for name, reason in UNUSABLE.items():
        guard = opened(make, name)
        for _ in range(2):  # the instance is still there
            with pytest.raises(CallFailed) as raised:
                ask(guard)
            assert str(raised.value) == reason and not isinstance(raised.value, SystemLost)
        assert guard.call("get_all_memories") == ["I drink tea"]
        guard.close()
    assert "in retrieve_memories" in (tmp_path / "system.log").read_text()


@pytest.mark.parametrize(
    ("name", "reason", "limits"),
    [
        pytest.param("HangsInRetrieval", "no answer within 1.5 s", {"seconds": 1.5}, marks=pytest.mark.slow),
        ("EndsItsProcess", "the system's process ended with status 0", {}),
        ("Crashes", "the system's process was killed by signal 11 (Segmentation fault)", {}),
        ("IsKilled", "the system's process was killed by signal 9 (Killed); memory may have run out", {}),
        ("TakesAllMemory", "out of memory: the limit of its process is 1 GB", {"gigabytes": 1.0}),
        pytest.param("HoldsTheLock", "no answer within 1.5 s", {"seconds": 1.5}, marks=pytest.mark.slow),
        pytest.param("IgnoresSignals", "no answer within 1.5 s", {"seconds": 1.5}, marks=pytest.mark.slow),
    ],
)
def test_a_process_that_dies_or_hangs_is_replaced(opened, tmp_path, name, reason, limits):
    guard = opened(process_guard, name, **limits)
    with pytest.raises(SystemLost) as raised:
        ask(guard)
    assert str(raised.value) == reason
    log = (tmp_path / "system.log").read_text()
    assert name != "Crashes" or (log.startswith("about to crash\n") and "in retrieve_memories" in log)
    with pytest.raises(SystemLost, match="there is no instance"):
        ask(guard)
    guard.open(tmp_path)
    assert guard.call("get_all_memories") == []


def test_a_system_may_wait_for_all_its_children(opened):
    guard = opened(process_guard, "WaitsForItsChildren")
    assert ask(guard) == ask(guard) == ["I drink tea"]


def test_what_a_system_prints_goes_to_the_log_and_ours_does_not(make, opened, tmp_path, capfd):
    guard = opened(make, "Talks")
    assert ask(guard) == ["I drink tea"]
    guard.close()
    print("ours")
    assert (tmp_path / "system.log").read_text() == "storing 1\nto stderr\nhalf ?\n"
    assert capfd.readouterr() == ("ours\n", "")


@pytest.mark.slow
def test_a_system_may_print_a_lot_up_to_a_limit_over_several_starts(make, opened, tmp_path, monkeypatch):
    monkeypatch.setattr("epbench.memories.guard.LOG_LIMIT", 50_000)
    for _ in range(2):
        guard = opened(make, "PrintsALot")
        assert ask(guard) == ["I drink tea"]
        guard.close()
    log = (tmp_path / "system.log").read_text()
    assert 50_000 < len(log) < 51_000 and log.count("what follows is not kept") == 1


def test_no_key_of_the_environment_gets_into_reason_or_log(make, opened, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1")
    guard = opened(make, "TellsItsKey")
    monkeypatch.setenv("OTHER_KEY", "sk-very-secret-1")  # this process has one environment with us
    with pytest.raises(CallFailed, match=r"the key \*\*\* is wrong at http://host/"):
        ask(guard)
    guard.close()
    log = (tmp_path / "system.log").read_text()
    assert "using ***" in log and "secret" not in log and "word@" not in log


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError("at https://user:secret@host/v1"), "RuntimeError: at https://host/v1"),
        (RuntimeError("half a character \ud83d"), "RuntimeError: half a character ?"),
        (RuntimeError("x" * 1000), "RuntimeError: " + "x" * 286),
    ],
)
def test_an_exception_is_a_reason_in_one_line(error, reason):
    assert reason_of(error) == reason


def test_all_calls_come_from_one_thread_and_types_of_a_system_become_plain_ones(make, opened):
    found = ask(opened(make, "OfOneThread"))
    assert found == ["(1,)"] and type(found[0]) is str


def test_a_process_that_cannot_start_is_reported():
    # Which of these comes first depends on what Python has loaded when the memory runs out.
    with pytest.raises(BadInput, match=r"its module cannot be imported \(.*(MemoryError|failed to map segment)"):
        describe_system(f"{FAULTY}:Good", Limits(60, 0.001))


RUN_AND_HANG = """
import sys
from pathlib import Path
from tests.memories.test_guard import ask, process_guard
guard = process_guard(sys.argv[1], Path(sys.argv[2]), seconds=3600)
guard.open(Path(sys.argv[2]).parent)
ask(guard)
"""


def locked(path):
    """Whether a process holds the lock on a file; a process that has died holds none."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_is_left_when_the_run_is_killed(tmp_path, number):
    """Not the system's, which hangs, nor one that it has started."""
    lock = tmp_path / "lock"
    env = os.environ | {"LOCK": str(lock), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-c", RUN_AND_HANG, f"{FAULTY}:KeepsALock", str(tmp_path / "system.log")]
    # A shell's background job ignores SIGINT and passes that on to its children; a user's command does not.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, preexec_fn=heed)
    try:
        wait_until(lambda: lock.exists() and lock.read_text() == "asked")
        assert locked(lock)
        process.send_signal(number)
        process.wait(120)
        wait_until(lambda: not locked(lock))
    finally:
        process.kill()


def test_no_process_is_left_when_a_guard_is_closed(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCK", str(tmp_path / "lock"))
    guard = opened(process_guard, "KeepsALock")
    assert locked(tmp_path / "lock")
    guard.close()
    wait_until(lambda: not locked(tmp_path / "lock"))
