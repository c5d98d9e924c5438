"""Exhibits in a folder: each as SVG, CSV and Markdown, all of them in one page and one Markdown file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing, slug
from epbench.exhibits.pictures import table_picture
from epbench.files.writing import filling, write_text
from epbench.reports.figures import drawing, svg
from epbench.reports.page import page
from epbench.reports.tables import Table, in_markdown
from epbench.safe_text import html_text, markdown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_exhibits(
    out: Path, heading: str, exhibits: Sequence[Exhibit | Missing], boards: Sequence[Exhibit] = ()
) -> Table:
    """Write `<name>.svg`, `.csv` and `.md` of each exhibit, and all of them as `tables.md` and `tables.html`.

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
    made = [one for one in exhibits if isinstance(one, Exhibit)]
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
    """Write the three files of an exhibit; return its picture."""
    stem = slug(exhibit.name)
    with drawing():
        figure: Figure = exhibit.draw() if exhibit.draw else table_picture(exhibit.table)
        picture = svg(figure)
    write_text(out / f"{stem}.svg", picture)
    write_text(out / f"{stem}.csv", as_csv(exhibit))
    write_text(out / f"{stem}.md", f"{_title(exhibit)}\n\n{exhibit.table.markdown()}")
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
        picture = f"\n![{markdown_text(exhibit.name)}]({slug(exhibit.name)}.svg)\n" if exhibit.draw else ""
        parts.append(f"## {markdown_text(exhibit.name)}\n\n{markdown_text(exhibit.title)}\n{picture}")
        parts.append(exhibit.table.markdown())
    return "\n".join([*parts, *([f"## Not made\n\n{absent.markdown()}"] if absent.rows else [])])


def _html(made: Sequence[Exhibit], pictures: Sequence[str], absent: Table) -> str:
    parts = []
    for exhibit, picture in zip(made, pictures, strict=True):
        name = slug(exhibit.name)
        parts.append(f'<h2 id="{name}">{html_text(exhibit.name)}</h2><p>{html_text(exhibit.title)}</p>')
        if exhibit.draw:
            parts.append(f"<figure>{picture[picture.index('<svg') :]}</figure>")
        parts.append(exhibit.table.html())
    return "\n".join([*parts, *(["<h2>Not made</h2>", absent.html()] if absent.rows else [])])
