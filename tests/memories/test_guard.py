import sqlite3
import sys
import threading

import pytest

from epbench.memories.guard import MOST_HANGS, CallFailed, Guard, Hung


@pytest.fixture
def guard(tmp_path):
    guard = Guard(0.3, tmp_path / "system.log")
    yield guard
    guard.close()


def test_what_a_function_returns_comes_back(guard):
    assert guard.call(lambda a, b: a + b, 1, 2) == 3


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError("at https://user:secret@host/v1"), "RuntimeError: at https://host/v1"),
        (RuntimeError("half a character \ud83d"), "RuntimeError: half a character ?"),
    ],
)
def test_what_a_system_raises_is_a_reason_in_one_line(guard, error, reason):
    def fail():
        raise error

    with pytest.raises(CallFailed) as raised:
        guard.call(fail)
    assert str(raised.value) == reason


def test_its_traceback_and_prints_go_to_the_log_and_ours_do_not(guard, tmp_path, capsys):
    def noisy():
        print("a banner")
        print("a progress bar", file=sys.stderr)
        raise ValueError("broken")

    with pytest.raises(CallFailed):
        guard.call(noisy)
    print("ours")
    log = (tmp_path / "system.log").read_text()
    assert "a banner" in log and "a progress bar" in log and "in noisy" in log
    assert capsys.readouterr() == ("ours\n", "")


def test_a_call_that_hangs_is_left_behind_and_the_next_is_made(guard):
    with pytest.raises(Hung, match=r"no answer within 0\.3 s"):
        guard.call(threading.Event().wait)  # for ever
    assert guard.call(lambda: "there") == "there"


def test_after_too_many_hangs_in_a_row_nothing_is_called(guard):
    called = []
    for _ in range(MOST_HANGS - 1):
        with pytest.raises(Hung):
            guard.call(threading.Event().wait)
    assert guard.call(lambda: "there") == "there"  # the count begins again
    for _ in range(MOST_HANGS):
        with pytest.raises(Hung, match="no answer"):
            guard.call(threading.Event().wait)
    with pytest.raises(Hung, match=r"not called: 3 calls in a row took more than 0\.3 s"):
        guard.call(called.append, 1)
    assert called == []


def test_all_calls_come_from_one_thread(guard):
    """What sqlite3 and event loops want."""
    connection = guard.call(sqlite3.connect, ":memory:")
    assert guard.call(lambda: connection.execute("select 1").fetchall()) == [(1,)]
    guard.call(connection.close)


def test_a_timeout_that_the_system_raises_is_no_hang(guard):
    def times_out():
        raise TimeoutError("its own")

    for _ in range(MOST_HANGS + 1):
        with pytest.raises(CallFailed, match="TimeoutError: its own") as raised:
            guard.call(times_out)
        assert not isinstance(raised.value, Hung)


def test_no_key_of_the_environment_gets_into_reason_or_log(guard, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1")

    def tell():
        print("using sk-very-secret-1")
        raise ValueError("the key sk-very-secret-1 is wrong at http://me:word@host/")

    with pytest.raises(CallFailed, match=r"the key \*\*\* is wrong at http://host/"):
        guard.call(tell)
    log = (tmp_path / "system.log").read_text()
    assert "using ***" in log and "secret" not in log and "word@" not in log
