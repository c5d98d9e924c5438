"""What a paper shows, in a folder: each table or figure as SVG, CSV, Markdown and LaTeX, and what could not be made."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from epbench.errors import BadInput
from epbench.files.writing import filling, write_text
from epbench.reports.exhibit import Exhibit
from epbench.reports.figures import drawing, svg
from epbench.reports.page import page
from epbench.reports.tables import Table, in_markdown
from epbench.safe_text import html_text, markdown_text, printable
from epbench.statistics.estimate import Value as Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Source = Literal["own", "released", "reported"]
"""Where a row comes from: a run of the user, a run whose answers were released, or a number in a paper."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A table or a figure that could not be made.

    Attributes:
        name: The name in the paper.
        title: What it would show.
        needs: Which runs or data it needs that were not given, such as "runs with memory rag-chapter on the same book".
    """

    name: str
    title: str
    needs: str


def slug(name: str) -> str:
    """The name of an exhibit's files: `Table 3` is `table-03`, `Table 14, chunks` is `table-14-chunks`."""
    padded = re.sub(r"\b\d+", lambda number: number[0].zfill(2), name.lower())
    return re.sub(r"[^\w]+", "-", padded).strip("-")


def marked(label: str, source: Source) -> str:
    """A label for a cell, with a mark unless the row is one's own: `gpt-4o (released)`."""
    return label if source == "own" else f"{label} ({source})"


def write_exhibits(
    out: Path, heading: str, exhibits: Sequence[Exhibit | Missing], boards: Sequence[Exhibit] = ()
) -> Table:
    """Write `<name>.svg`, `.csv`, `.md` and `.tex` of each exhibit, and all of them as `tables.md` and `tables.html`.

    Either all of these files are written or none.

    Args:
        out: The folder; it is made if it does not exist.
        heading: The title of the page.
        exhibits: What was made and what could not be made, in the order of the page.
        boards: Leaderboards, which come first and are also written as `LEADERBOARD.md`.

    Returns:
        A table for the screen: what could not be made and what it needs, and a note that names what was made.

    Raises:
        BadInput: Two exhibits have one name.
    """
    exhibits = [*boards, *exhibits]
    made = [one for one in exhibits if not isinstance(one, Missing)]
    missing = [one for one in exhibits if isinstance(one, Missing)]
    names = [slug(one.name) for one in made]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"two exhibits are called {doubled!r}")
    absent = Table(
        ["not made", "what it shows", "needs"], [[m.name, m.title, m.needs] for m in missing], text_columns=3
    )
    with filling(out) as draft:
        pictures = [_write(draft, one) for one in made]
        write_text(draft / "tables.md", _markdown(heading, made, absent))
        write_text(draft / "tables.html", page(heading, _html(made, pictures, absent)))
        if boards:
            write_text(draft / "LEADERBOARD.md", in_markdown([replace(one.table, title=one.title) for one in boards]))
    notes = [f"Made: {', '.join(one.name for one in made) or 'nothing'}."]
    return Table(["not made", "needs"], [[one.name, one.needs] for one in missing], notes=notes, text_columns=2)


def _write(out: Path, exhibit: Exhibit) -> str:
    """Write the four files of an exhibit; return its picture."""
    stem = slug(exhibit.name)
    with drawing():
        figure: Figure = exhibit.plot() if exhibit.plot else table_picture(exhibit.table)
        picture = svg(figure)
    write_text(out / f"{stem}.svg", picture)
    write_text(out / f"{stem}.csv", as_csv(exhibit))
    write_text(out / f"{stem}.md", f"{_title(exhibit)}\n\n{exhibit.table.markdown()}")
    write_text(out / f"{stem}.tex", exhibit.table.latex(f"{exhibit.name}. {exhibit.title}", f"tab:{stem}"))
    return picture


def as_csv(exhibit: Exhibit) -> str:
    """The records of an exhibit as CSV; None is an empty field, and floats keep all their digits."""
    text = io.StringIO()
    if exhibit.records:
        writer = csv.DictWriter(text, list(exhibit.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(exhibit.records)
    return text.getvalue()


def _title(exhibit: Exhibit) -> str:
    return f"**{markdown_text(exhibit.name)}.** {markdown_text(exhibit.title)}"


def _markdown(heading: str, made: Sequence[Exhibit], absent: Table) -> str:
    parts = [f"# {markdown_text(heading)}\n"]
    for exhibit in made:
        picture = f"\n![{markdown_text(exhibit.name)}]({slug(exhibit.name)}.svg)\n" if exhibit.plot else ""
        parts.append(f"## {markdown_text(exhibit.name)}\n\n{markdown_text(exhibit.title)}\n{picture}")
        parts.append(exhibit.table.markdown())
    return "\n".join([*parts, *([f"## Not made\n\n{absent.markdown()}"] if absent.rows else [])])


def _html(made: Sequence[Exhibit], pictures: Sequence[str], absent: Table) -> str:
    parts = []
    for exhibit, picture in zip(made, pictures, strict=True):
        name = slug(exhibit.name)
        parts.append(f'<h2 id="{name}">{html_text(exhibit.name)}</h2><p>{html_text(exhibit.title)}</p>')
        if exhibit.plot:
            parts.append(f"<figure>{picture[picture.index('<svg') :]}</figure>")
        parts.append(exhibit.table.html())
    return "\n".join([*parts, *(["<h2>Not made</h2>", absent.html()] if absent.rows else [])])


_MOST_ROWS = 60
_CHARACTER, _LINE = 0.085, 0.24
"""Inches that a character of a cell takes in width, and a row in height."""


def table_picture(table: Table) -> Figure:
    """Draw a table; of a long one the first rows, with a line that says how many there are.

    Args:
        table: With at least one column. It is drawn within `epbench.reports.figures.drawing`.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    rows = [list(map(printable, row)) for row in table.rows[:_MOST_ROWS]]
    head = list(map(printable, table.head))
    if len(table.rows) > _MOST_ROWS:
        rows.append([f"… {len(table.rows)} rows in all", *[""] * (len(head) - 1)])
    widths = [max(len(row[column]) for row in [head, *rows]) + 2 for column in range(len(head))]
    figure = Figure(figsize=(max(3.0, sum(widths) * _CHARACTER), max(1.0, (len(rows) + 1.5) * _LINE)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    shares = [width / sum(widths) for width in widths]
    drawn = axes.table(rows or [[""] * len(head)], colLabels=head, colWidths=shares, bbox=Bbox.unit())
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for (line, column), cell in drawn.get_celld().items():
        cell.visible_edges = "B" if line else "BT"
        cell.set_edgecolor("#222" if line == 0 else "#ccc")
        cell.get_text().set_horizontalalignment("left" if column < table.text_columns else "right")
        if line == 0:
            cell.get_text().set_fontweight("bold")
    return figure
