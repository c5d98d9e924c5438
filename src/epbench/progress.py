"""Shows how far long work is, on standard error: a bar on a terminal, and a line every 30 seconds in a log or a pipe.

Standard output is left to results, so that a pipe gets nothing else.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

EVERY = 30.0
"""Seconds between two lines."""

T = TypeVar("T")


class Progress(Protocol):
    """Shows how far some work is."""

    def __call__(self, items: Iterable[T], what: str, total: int, done: int = 0, /) -> Iterable[T]:
        """Pass on the items, and show how many have been worked on.

        Args:
            items: What is worked on. The records of a journal tell by their `usage` how many tokens were computed.
            what: What the items are, such as "answers".
            total: How many there are, with those that are done.
            done: How many of them earlier starts have done, which `items` does not contain.
        """
        ...


def no_progress(items: Iterable[T], what: str, total: int, done: int = 0) -> Iterable[T]:
    """Pass on the items without a progress bar."""
    return items


def bar(items: Iterable[T], what: str, total: int, done: int = 0) -> Iterator[T]:
    """Pass on the items, and show how many have been worked on, the tokens per second and the time left.

    Args:
        items: What is worked on. If it is a record of a journal, its `usage` gives the tokens; see `Tally.add`.
        what: What the items are, such as "answers".
        total: How many there are, with those that are done.
        done: How many of them earlier starts have done, which `items` does not contain.
    """
    with _shown(Tally(what, total, done)) as tally:
        for item in items:
            yield item
            tally.add(item)


@contextmanager
def counter(what: str, total: int, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Show progress of work that calls back.

    Args:
        what: What is counted, such as "steps".
        total: How many there are.
        shown: Whether anything is shown at all; of several processes, one should do so.

    Yields:
        A function that takes how many are done and how many tokens the last one had. Its first call tells where this
        start began.
    """
    tally = Tally(what, total)
    if not shown:
        yield tally.reach
        return
    with _shown(tally):
        yield tally.reach


def end_all() -> None:
    """End what is still shown, because an error has kept its loop from ending."""
    for view in reversed(_views[:]):
        _end(view)


class Tally:
    """How far some work is, and how fast it goes.

    Tokens per second and the time left are estimated from everything that this start has done since it began. Replies of
    a model on this machine come in batches that may be minutes apart, which the rate of the last minute would not bear.

    Args:
        what: What is counted.
        total: How many there are.
        done: How many of them earlier starts have done.
        clock: Tells the time in seconds.
    """

    def __init__(self, what: str, total: int, done: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.done, self._before = what, done, done
        self._total, self._tokens = total, 0
        self._clock, self._began = clock, clock()

    @property
    def total(self) -> int:
        """How many there are; more than was thought if something had to be done again."""
        return max(self._total, self.done)

    def add(self, item: object) -> None:
        """Count an item and the tokens that were computed for it, if it is a record with a `usage`.

        These are the tokens of the prompt without those that sharing saved, and the generated ones: `prefilled` and
        `generated` of usage.json, whose `tokens_per_second` counts the saved ones too.
        """
        self.done += 1
        usage = item.get("usage") if isinstance(item, Mapping) else None
        if usage:
            self._tokens += usage["prompt"] - usage["cached"] + usage["completion"]

    def reach(self, done: int, tokens: int) -> None:
        """Take how many are done, and how many tokens the last one had; the first call tells what was done before it."""
        if self.done == self._before:
            self._before = done - 1
        self.done = done
        self._tokens += tokens

    @property
    def pace(self) -> str:
        """Tokens per second, if any are counted, and the time left; before anything is done, the time that has passed."""
        seconds, own = self._clock() - self._began, self.done - self._before
        if not own:
            return f"at work for {_passed(seconds)}"
        left = [f"about {_estimate(seconds / own * (self.total - self.done))} left"] if self.done < self.total else []
        return ", ".join(self._speed(seconds) + left)

    def line(self) -> str:
        """How far it is, such as "answers: 120 of 400 (30 %), 850 tokens/s, about 4 min left"."""
        return ", ".join(part for part in (self._so_far(), self.pace) if part)

    def last_line(self) -> str:
        """How far it came, such as "answers: 400 of 400 (100 %), 850 tokens/s, after 9 min 12 s"."""
        seconds = self._clock() - self._began
        return ", ".join([self._so_far(), *self._speed(seconds), f"after {_passed(seconds)}"])

    def _so_far(self) -> str:
        return f"{self.what}: {self.done:,} of {self.total:,} ({100 * self.done // (self.total or 1)} %)"

    def _speed(self, seconds: float) -> list[str]:
        return [f"{self._tokens / seconds:,.0f} tokens/s"] if self._tokens and seconds else []


class _View(Protocol):
    """Shows a tally from `show` to `hide`, as often as wanted, until `end`."""

    def show(self) -> None: ...
    def hide(self) -> None: ...
    def end(self) -> None: ...


class Bar:
    """A bar on a terminal, which goes away at the end.

    Args:
        tally: What it shows.
        console: Of the terminal.
    """

    def __init__(self, tally: Tally, console: Console) -> None:
        self._tally, self._console = tally, console
        self._live: Live | None = None

    def show(self) -> None:
        """Draw the bar, and again twice a second."""
        from rich.live import Live

        # What is printed meanwhile appears above the bar; but not what goes from standard output into a pipe.
        self._live = Live(
            get_renderable=self._row, console=self._console, transient=True, refresh_per_second=2,
            redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._live.start(refresh=True)

    def hide(self) -> None:
        """Remove the bar."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    end = hide

    def _row(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Column, Table
        from rich.text import Text

        done, total = self._tally.done, self._tally.total
        texts = (Text(self._tally.what), Text(f"{done:,}/{total:,}"), Text(self._tally.pace))
        words = Column(no_wrap=True)
        row = Table(
            words, Column(max_width=40), words.copy(), words.copy(), box=None, show_header=False, pad_edge=False
        )
        row.add_row(texts[0], ProgressBar(total, done), *texts[1:])
        return row


class Lines:
    """Plain lines, at most one every 30 seconds, and none if the work ends before the first; then no last line either.

    A thread prints them, because nothing else runs while a model loads its weights, reads a book or answers a batch.

    Args:
        tally: What they tell.
        stream: Takes them.
    """

    def __init__(self, tally: Tally, stream: TextIO) -> None:
        self._tally, self._stream = tally, stream
        self._printed = False
        self._hidden = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self) -> None:
        """Print a line every 30 seconds from now on."""
        self._hidden.clear()
        self._thread = threading.Thread(target=self.report, args=(self._hidden.wait,), name="progress", daemon=True)
        self._thread.start()

    def hide(self) -> None:
        """Print no more lines."""
        self._hidden.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def end(self) -> None:
        """Print no more lines but a last one, if there were any."""
        self.hide()
        if self._printed:
            self._print(self._tally.last_line())

    def report(self, wait: Callable[[float], bool]) -> None:
        """Print a line whenever `wait` has waited for so many seconds and returns false."""
        while not wait(EVERY):
            self._print(self._tally.line())

    def _print(self, line: str) -> None:
        self._printed = True
        with suppress(OSError, ValueError):  # a log that nobody can read any more is no reason to stop
            print(line, file=self._stream, flush=True)


_views: list[_View] = []
"""What is open, the innermost last, which alone is seen: a training run shows its steps, or else the answers of an epoch."""


@contextmanager
def _shown(tally: Tally) -> Iterator[Tally]:
    """Show a tally until the block ends."""
    if _views:
        _views[-1].hide()
    view = _view(tally)
    _views.append(view)
    try:
        view.show()
        yield tally
    finally:
        _end(view)


def _view(tally: Tally) -> _View:
    """The view for standard error as it is now: while a memory system works, what is printed is sent elsewhere."""
    from rich.console import Console

    if sys.stderr.isatty():  # rich alone would take a log for a terminal where FORCE_COLOR is set, as it often is in CI
        console = Console(file=sys.stderr)
        if console.is_interactive:
            return Bar(tally, console)
    return Lines(tally, sys.stderr)


def _end(view: _View) -> None:
    if view in _views:
        seen = _views[-1] is view
        _views.remove(view)
        view.end()
        if seen and _views:
            _views[-1].show()


def _passed(seconds: float) -> str:
    """The time that has passed, such as "40 s", "1 min 30 s" or "2 h 10 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    parts = ((minutes // 60, "h"), (minutes % 60, "min"), (rest, "s"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 s"


def _estimate(seconds: float) -> str:
    """A time that nobody knows so exactly, such as "40 s", "4 min" or "2 h 10 min"."""
    return _passed(seconds if round(seconds) < 60 else 60 * round(seconds / 60))
