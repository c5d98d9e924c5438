"""The page of a report: one HTML file that needs nothing else, and the paragraphs that all reports share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from epbench.reports.tables import Table, cell
from epbench.safe_text import html_text

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .25rem .7rem; border-bottom: 1px solid #ddd; }
td, th { text-align: left; } td + td:not(.text), th + th:not(.text) { text-align: right; }
caption { text-align: left; font-style: italic; }
figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { max-width: 100%; height: auto; } code { background: #f4f4f4; padding: 0 .2rem; }
"""


def page(title: str, body: str) -> str:
    """A whole page.

    Args:
        title: The title, as text.
        body: The content, as HTML.
    """
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html_text(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html_text(title)}</h1>
{body}
</body></html>
"""


def joined(title: str, pages: Iterable[str]) -> str:
    """Several pages as one, each with its title as a heading.

    Args:
        title: The title of all, as text.
        pages: Pages that `page` made.
    """
    bodies = (one.partition("<h1>")[2].rpartition("</body>")[0].replace("</h1>", "</h2>", 1) for one in pages)
    return page(title, "".join(f"<h2>{body}" for body in bodies))


def pairs(values: Mapping[str, Any]) -> str:
    """A table of names and values, one pair per row."""
    return Table([], [[name, cell(value)] for name, value in values.items()]).html()


def warning_paragraphs(warnings: Iterable[str]) -> str:
    """Warnings at the top of a page; the texts do not begin with the word "warning"."""
    return "".join(f"<p><strong>Warning: {html_text(text)}</strong></p>" for text in warnings)


def how_it_was_run(run: Mapping[str, Any]) -> str:
    """Command, machine and versions, from the content of run.json."""
    about = pairs({"python": run["python"], "platform": run["platform"], **run["versions"]})
    return f"<h2>How it was run</h2>\n<p><code>{html_text(run['command'])}</code></p>\n{about}"


def failures(reasons: Mapping[str, int]) -> str:
    """How many requests failed, by reason."""
    if not reasons:
        return "<p>No request failed.</p>"
    table = Table(["reason", "requests"], [[reason, str(n)] for reason, n in reasons.items()])
    return f"<p>Failed requests count neither as right nor as wrong:</p>{table.html()}"
