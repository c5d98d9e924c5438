"""The console of the scripts: every text is printed as it is, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from epbench.files.safe_text import printable


class SafeConsole(Console):
    """A rich console for texts from elsewhere: no markup, no emoji codes, no terminal escapes."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Do what rich does, for printable text; every string that is printed or shown in a table passes through here."""
        return super().render_str(printable(text), **(options | {"markup": False, "emoji": False}))

    def say(self, text: str) -> None:
        """Print a line without wrapping it, so that a path in it can be copied."""
        self.print(text, soft_wrap=True)

    def say_all(self, lines: Iterable[str]) -> None:
        """Print lines, each like `say`."""
        for line in lines:
            self.say(line)
