"""What our scripts print through: texts come out as they are, whoever wrote them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from epbench.safe_text import printable


class SafeConsole(Console):
    """A rich console for texts from elsewhere: no markup, no emoji codes, no terminal escapes."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """As rich does it, for printable text; every string that is printed or stands in a table comes through here."""
        return super().render_str(printable(text), **(options | {"markup": False, "emoji": False}))

    def say(self, text: str) -> None:
        """A line that is not wrapped, so that a path in it can be copied."""
        self.print(text, soft_wrap=True)
