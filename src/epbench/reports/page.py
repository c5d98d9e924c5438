"""The pieces of a report: one HTML file that needs nothing else, pictures inside it."""

from __future__ import annotations

import html
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from epbench.safe_text import markdown_text, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .25rem .7rem; border-bottom: 1px solid #ddd; }
td + td, th + th { text-align: right; } figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { max-width: 100%; height: auto; } code { background: #f4f4f4; padding: 0 .2rem; }
"""

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")


def page(title: str, body: str) -> str:
    """A whole page; `body` is HTML, the title is text."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escaped(title)}</h1>
{body}
</body></html>
"""


def table(head: Sequence[str] | None, body: Sequence[Sequence[str]]) -> str:
    """A table of texts, escaped; the first column to the left, the others to the right."""
    lines = ["<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in body]
    if head:
        lines.insert(0, "<tr>" + "".join(f"<th>{escaped(cell)}</th>" for cell in head) + "</tr>")
    return f"<table>{''.join(lines)}</table>"


def pairs(values: Mapping[str, Any]) -> str:
    """Names and values, one a line."""
    return table(None, [[name, cell(value)] for name, value in values.items()])


def escaped(text: str) -> str:
    """A text as HTML, without control characters."""
    return html.escape(printable(text))


def cell(value: Any) -> str:
    """A number with three digits, a dash for what is not defined."""
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first column to the left, the others to the right. The cells are texts, and are escaped."""
    ruler = ["---", *["---:"] * (len(head) - 1)]
    rows = [ruler if cells is ruler else [markdown_text(cell) for cell in cells] for cells in (head, ruler, *body)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def bullets(lines: Sequence[str]) -> str:
    """A list in Markdown. The lines are texts, and are escaped."""
    return "".join(f"- {markdown_text(line)}\n" for line in lines)


def how_it_was_run(run: Mapping[str, Any]) -> str:
    """Command, machine and versions, from the content of run.json."""
    about = pairs({"python": run["python"], "platform": run["platform"], **run["versions"]})
    return f"<h2>How it was run</h2>\n<p><code>{escaped(run['command'])}</code></p>\n{about}"


def failures(reasons: Mapping[str, int]) -> str:
    """How many requests failed, by reason."""
    if not reasons:
        return "<p>No request failed.</p>"
    rows = [[reason, str(n)] for reason, n in reasons.items()]
    return f"<p>Failed requests count neither as right nor as wrong:</p>{table(['reason', 'requests'], rows)}"


@contextmanager
def drawing() -> Iterator[None]:
    """Within it, matplotlib draws the same SVG bytes each time, with text as text: a `$` in a run's name is no formula."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "epbench", "svg.fonttype": "none", "text.parse_math": False}):
        yield


def picture(figure: Figure, caption: str) -> str:
    """A matplotlib figure as an HTML figure; `caption` is text."""
    text = svg(figure)
    return f"<figure>{text[text.index('<svg') :]}<figcaption>{escaped(caption)}</figcaption></figure>"


def svg(figure: Figure) -> str:
    """A matplotlib figure as the text of an SVG file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    return printable(text.getvalue())
