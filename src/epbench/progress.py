"""Shows how far long work is, on standard error: a bar on a terminal, and a line every 30 seconds in a log or a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TextIO, TypeVar

EVERY = 30.0  # seconds between two lines; work that ends before the first has none
T = TypeVar("T")


class Progress(Protocol):
    """Passes on the items and shows how many have been worked on; see `bar`."""

    def __call__(self, items: Iterable[T], what: str, total: int, done: int = 0, /) -> Iterable[T]: ...


def no_progress(items: Iterable[T], what: str, total: int, done: int = 0) -> Iterable[T]:
    """Pass on the items and show nothing."""
    return items


def bar(items: Iterable[T], what: str, total: int, done: int = 0) -> Iterator[T]:
    """Pass on the items, such as "answers", and show how many of them all earlier starts and this one have done.

    If an item is a record of a journal, its `usage` tells how many tokens were computed.
    """
    with counter(what, total, done=done) as reach:
        for n, item in enumerate(items, done + 1):
            yield item
            usage = item.get("usage") if isinstance(item, Mapping) else None
            reach(n, usage["prompt"] - usage["cached"] + usage["completion"] if usage else 0)


@contextmanager
def counter(what: str, total: int, shown: bool = True, done: int = 0) -> Iterator[Callable[[int, int], None]]:
    """Yield what takes progress, `Tally.reach`, and show it, unless another of several processes does."""
    from rich.console import Console

    tally = Tally(what, total, done)
    with ExitStack() as stack:
        if shown:
            _open.append((tally, stack))
            stack.callback(_open.remove, (tally, stack))
            # rich alone would take a log for a terminal where FORCE_COLOR is set, as it often is in CI
            if sys.stderr.isatty() and (console := Console(file=sys.stderr)).is_interactive:
                stack.callback(_bar(tally, console))
            else:
                stopped = threading.Event()
                args = (tally, sys.stderr, stopped.wait)  # as it is now: a memory system's errors go elsewhere
                thread = threading.Thread(target=print_lines, args=args, name="progress", daemon=True)
                stack.callback(thread.join)
                stack.callback(stopped.set)
                thread.start()
        yield tally.reach


def reading(done: int, total: int) -> None:
    """Show how many tokens of a text a model has read, until it has read them all; nothing where no work is shown."""
    if _open:
        _open[-1][0].tell(f"reading: {done:,} of {total:,} tokens" if done < total else "")


def end_all() -> None:
    """End what is still shown, because an error has kept its loop from ending."""
    while _open:
        _open[-1][1].close()


class Tally:
    """How far some work is. Its speed is that of all that this start has done: batches may be minutes apart."""

    def __init__(self, what: str, total: int, done: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.total, self.done, self._before = what, max(total, done), done, done
        self._doing, self._tokens, self._clock, self._began = "", 0, clock, clock()
        self.bars: Any = None  # of rich, which draw it on a terminal
        self.task: Any = None  # its number there

    def reach(self, done: int, tokens: int) -> None:
        """Take how many are done, and how many tokens the last one had; the first call tells what was done before it."""
        self._before = done - 1 if self.done == self._before else self._before
        self.done, self.total, self._tokens = done, max(self.total, done), self._tokens + tokens
        self.tell("")

    def tell(self, doing: str) -> None:
        """Take what is being done until the next item is."""
        self._doing = doing
        if self.bars:
            self.bars.update(self.task, completed=self.done, total=self.total, pace=self.pace())

    def pace(self) -> str:
        """What is being done, or else the tokens per second."""
        seconds = self._clock() - self._began
        return self._doing or (f"{self._tokens / seconds:,.0f} tokens/s" if self._tokens and seconds else "")

    def line(self, ended: bool = False) -> str:
        """How far it is, such as "answers: 120 of 400 (30 %), 850 tokens/s, about 4 min left"."""
        seconds, own, left = self._clock() - self._began, self.done - self._before, self.total - self.done
        passing = f"after {_time(seconds)}" if ended else f"at work for {_time(seconds)}"
        if own and not ended:
            passing = f"about {_time(seconds / own * left, rough=True)} left" if left else ""
        so_far = f"{self.what}: {self.done:,} of {self.total:,} ({100 * self.done // (self.total or 1)} %)"
        return ", ".join(filter(None, (so_far, self.pace(), passing)))


_open: list[tuple[Tally, ExitStack]] = []  # what is shown, and what ends it; the innermost last


def _bar(tally: Tally, console: Any) -> Callable[[], None]:
    """Draw a bar, below those that are there; return what removes it."""
    from rich import progress as rich

    pace = rich.TextColumn("{task.fields[pace]}", markup=False)
    columns = ("{task.description}", rich.BarColumn(), rich.MofNCompleteColumn(), pace, rich.TimeElapsedColumn())
    outer = next((other.bars for other, _ in _open if other.bars), None)
    tally.bars = outer or rich.Progress(
        *columns,
        rich.TextColumn("left:"),
        rich.TimeRemainingColumn(),
        console=console,
        transient=True,
        refresh_per_second=2,
        redirect_stdout=sys.stdout.isatty(),
        speed_estimate_period=1e6,
    )
    tally.task = tally.bars.add_task(tally.what, total=tally.total, completed=tally.done, pace="")
    tally.bars.start()
    return partial(tally.bars.remove_task, tally.task) if outer else tally.bars.stop


def print_lines(tally: Tally, stream: TextIO, wait: Callable[[float], bool]) -> None:
    """Print a line whenever `wait` has waited for so many seconds and returns false; then a last one, if there were any."""
    printed = False
    with suppress(OSError, ValueError):  # a log that nobody can read any more is no reason to stop
        while not wait(EVERY):
            if _open[-1][0] is tally:  # of one in another, such as answers in an epoch, the inner one alone tells
                print(tally.line(), file=stream, flush=True)
                printed = True
        if printed:
            print(tally.line(ended=True), file=stream, flush=True)


def _time(seconds: float, rough: bool = False) -> str:
    """A time such as "40 s", "1 min 30 s" or "2 h 10 min 5 s"; a rough one of a minute or more has no seconds."""
    minutes, rest = divmod(60 * round(seconds / 60) if rough and round(seconds) >= 60 else round(seconds), 60)
    parts = ((minutes // 60, "h"), (minutes % 60, "min"), (rest, "s"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 s"
