"""What is shown of long work, on a terminal and in a log, with a clock that the tests set."""

import io
import re
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout

import pytest

from epbench import progress
from epbench.progress import EVERY, Tally, bar, counter, end_all, print_lines, reading

REPLY = {"id": "a", "answer": "tea", "usage": {"prompt": 1000, "cached": 900, "completion": 50}}
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


def count(tally, item):
    usage = (item or {}).get("usage")
    tally.reach(tally.done + 1, usage["prompt"] - usage["cached"] + usage["completion"] if usage else 0)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Announcing(io.StringIO):
    """A log that says when a line has come."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def flush(self):
        self.written.set()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def kind_of_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = threading.enumerate()
    yield
    for thread in set(threading.enumerate()) - set(before):
        thread.join(60)  # rich tells its thread to end and does not wait for it
        assert not thread.is_alive(), thread
    assert progress._open == []


def lines_of(tally, clock, seconds, each_second):
    """What the log has after so many seconds, while `each_second` is called once a second."""
    log, end = io.StringIO(), clock.now + seconds

    def wait(interval):
        for _ in range(round(interval)):
            if clock.now == end:
                return True
            clock.now += 1
            each_second()
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_open", [(tally, None)])
        print_lines(tally, log, wait)
    return log.getvalue().splitlines()


def test_a_log_has_a_line_every_thirty_seconds_and_a_last_one(clock):
    tally = Tally("answers", 400, clock=clock)
    assert EVERY == 30
    assert lines_of(tally, clock, 100, lambda: [count(tally, REPLY) for _ in range(4)]) == [
        "answers: 120 of 400 (30 %), 600 tokens/s, about 1 min left",
        "answers: 240 of 400 (60 %), 600 tokens/s, about 40 s left",
        "answers: 360 of 400 (90 %), 600 tokens/s, about 10 s left",
        "answers: 400 of 400 (100 %), 600 tokens/s, after 1 min 40 s",
    ]


def test_a_log_says_that_a_model_which_has_not_answered_yet_is_at_work(clock):
    assert lines_of(Tally("answers", 1200, clock=clock), clock, 70, lambda: None) == [
        "answers: 0 of 1,200 (0 %), at work for 30 s",
        "answers: 0 of 1,200 (0 %), at work for 1 min",
        "answers: 0 of 1,200 (0 %), after 1 min 10 s",
    ]


def test_what_earlier_starts_have_done_counts_as_done_and_takes_no_time(clock):
    tally, told = Tally("verdicts", 400, done=300, clock=clock), Tally("steps", 100, clock=clock)
    clock.now += 60
    assert tally.line() == "verdicts: 300 of 400 (75 %), at work for 1 min"
    count(tally, {"id": "a"})
    assert tally.line() == "verdicts: 301 of 400 (75 %), about 1 h 39 min left"
    count(tally, {"id": "b", "usage": REPLY["usage"]})
    assert tally.line() == "verdicts: 302 of 400 (75 %), 2 tokens/s, about 49 min left"
    told.reach(41, 30_000)  # the first call tells where this start began
    assert told.line() == "steps: 41 of 100 (41 %), 500 tokens/s, about 59 min left"
    again = Tally("memory calls", 4, done=3, clock=clock)
    for _ in range(3):
        count(again, None)
    assert again.line() == "memory calls: 6 of 6 (100 %)"  # work that is done again makes the total larger


def test_short_work_writes_nothing_and_standard_output_gets_nothing(capsys):
    assert list(bar(iter("abc"), "letters", 3)) == ["a", "b", "c"]
    with counter("steps", 2) as done:
        done(1, 100)
    assert capsys.readouterr() == ("", "")


def test_lines_come_while_the_first_item_is_still_missing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0.001)

    def slow():
        assert log.written.wait(60)
        yield REPLY

    with redirect_stderr(Announcing()) as log:
        assert list(bar(slow(), "answers", 2, 1)) == [REPLY]
    first, *_, last = log.getvalue().splitlines()
    assert first.startswith("answers: 1 of 2 (50 %), at work for ") and last.startswith("answers: 2 of 2 (100 %), ")
    assert capsys.readouterr().out == ""


def test_a_log_that_was_closed_does_not_stop_the_work(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.001)

    def slow():
        assert log.written.wait(60)
        log.close()
        yield 1

    with redirect_stderr(Announcing()) as log:
        assert list(bar(slow(), "answers", 1)) == [1]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("how", ["error", "closed", "left open"])
def test_nothing_is_left_of_a_loop_that_ends_early(stream, how):
    def broken():
        yield 1
        raise ZeroDivisionError

    with redirect_stderr(stream()) as out:
        loop = bar(broken(), "letters", 3)
        next(loop)
        if how == "error":
            with pytest.raises(ZeroDivisionError):
                next(loop)
        elif how == "closed":
            loop.close()
        else:
            end_all()
        assert "progress" not in [thread.name for thread in threading.enumerate()] and sys.stderr is out
    if stream is Terminal:
        assert out.getvalue().rindex(SHOW_CURSOR) > out.getvalue().rindex(HIDE_CURSOR)


def test_a_terminal_shows_what_is_done_and_the_tokens_per_second():
    with redirect_stderr(Terminal()) as terminal, counter("answers", 400) as reach:
        reach(120, 18_000)
        reading(4096, 11_283)
        reach(121, 18_000)
    rows = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "\r", terminal.getvalue()).split("answers")
    assert re.search(r"^\s+[\u2501\u2578\u257a\s]+121/400\s+[\d,]+ tokens/s\s+0:00:00", rows[-1])


def test_what_a_model_reads_is_told_until_it_has_read_it():
    reading(1, 2)  # nothing is shown
    with counter("answers", 60):
        tally, _ = progress._open[-1]
        reading(4096, 11_283)
        assert tally.line() == "answers: 0 of 60 (0 %), reading: 4,096 of 11,283 tokens, at work for 0 s"
        reading(11_283, 11_283)
        assert tally.line() == "answers: 0 of 60 (0 %), at work for 0 s"


def test_a_terminal_gets_a_bar_that_goes_away_and_what_is_printed_stays():
    with redirect_stderr(Terminal()) as terminal:
        for letter in bar(iter("ab"), "letters", 2):
            print("found", letter, file=sys.stderr)
    shown = terminal.getvalue()
    assert "found a\n" in shown and "found b\n" in shown and "0/2" in shown and "2/2" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # the line of the bar is erased


def test_what_is_printed_for_a_pipe_goes_into_the_pipe_while_a_bar_is_on_the_terminal():
    with redirect_stderr(Terminal()) as terminal, redirect_stdout(io.StringIO()) as pipe:
        for letter in bar(iter("ab"), "letters", 2):
            print(letter)
    assert pipe.getvalue() == "a\nb\n" and "letters" in terminal.getvalue()


@pytest.mark.parametrize(("stream", "variable"), [(Terminal, ("TERM", "dumb")), (io.StringIO, ("FORCE_COLOR", "1"))])
def test_a_log_in_colour_and_a_dumb_terminal_get_lines(stream, variable, monkeypatch):
    monkeypatch.setenv(*variable)
    with redirect_stderr(stream()) as log:
        assert list(bar(iter("ab"), "letters", 2)) == ["a", "b"]
    assert log.getvalue() == ""


def test_of_two_that_are_open_the_inner_one_is_drawn_below_and_then_the_outer_one_alone():
    with redirect_stderr(Terminal()) as terminal:
        with counter("steps", 2) as done:
            done(1, 10)
            before = len(terminal.getvalue())
            assert list(bar("ab", "answers", 2)) == ["a", "b"]
            after = len(terminal.getvalue())
        shown = terminal.getvalue()
    assert "steps" in shown[:before] and "answers" in shown[before:after]
    assert "steps" in shown[after:] and "answers" not in shown[after:]


def test_of_several_processes_one_shows_its_counter():
    with redirect_stderr(Terminal()) as terminal, counter("steps", 2, shown=False) as done:
        done(1, 10)
    assert terminal.getvalue() == ""
