"""Text from elsewhere (answers, names, errors) made harmless where it is shown: on a screen, in Markdown, HTML or LaTeX."""

from __future__ import annotations

import html
import re

# Terminal escapes begin with one of these; tab and line feed stay.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace each control character, and each half of a surrogate pair, by U+FFFD.

    >>> printable("red \\x1b[31malert")
    'red \\ufffd[31malert'
    """
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Make a text printable, with every run of white space as one blank."""
    return printable(" ".join(text.split()))


def markdown_text(text: str) -> str:
    """Escape a text for a cell or a line of Markdown: it stays on one line and makes no HTML, links or columns.

    >>> markdown_text("<b>1 | 2</b>")
    '&lt;b&gt;1 \\\\| 2&lt;/b&gt;'
    """
    return re.sub(r"([|`\\\[\]])", r"\\\1", html.escape(one_line(text), quote=False))


def html_text(text: str) -> str:
    """Escape a text for HTML, without control characters.

    >>> html_text("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return html.escape(printable(text))


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "±": r"$\pm$", "−": "$-$", "–": "--",
    "≥": r"$\geq$", "≤": r"$\leq$", "×": r"$\times$", "τ": r"$\tau$", "ρ": r"$\rho$", "Δ": r"$\Delta$", "√": r"$\surd$",
    "…": r"\dots{}", "“": "``", "”": "''",
}  # fmt: skip


def latex_text(text: str) -> str:
    """Escape a text for LaTeX, on one line; the signs that our tables use become commands.

    >>> latex_text("50 % ± 2_a")
    '50 \\\\% $\\\\pm$ 2\\\\_a'
    """
    return "".join(_LATEX.get(character, character) for character in one_line(text))
