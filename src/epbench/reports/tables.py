"""Tables for the screen, for Markdown, HTML and LaTeX, and the texts of their cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epbench.files.text import html_text, latex_text, markdown_text, printable

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

Scores = Mapping[str, Any]  # the content of scores.json of a run

Runs = Mapping[str, Scores]  # the scores of several runs, by the label of the run


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts that shows itself on the screen (print it on a rich console), as Markdown, as HTML and as LaTeX.

    All texts may come from elsewhere; each format escapes what it would take for markup.
    """

    head: Sequence[str]  # the titles of the columns; empty for a table without titles, which Markdown cannot show
    rows: Sequence[Sequence[str]]  # the cells of each row, as many as there are titles
    title: str = ""  # a line above the table; empty for none
    notes: Sequence[str] = ()  # sentences below the table
    text_columns: int = 1  # how many columns from the left hold text and are aligned left; the others are aligned right
    sections: Sequence[int] = ()  # the numbers of the rows, counted from 0, after which the screen shows an empty line

    def __rich__(self) -> RenderableType:
        """The table as rich prints it; columns that do not fit are folded."""
        from rich import box
        from rich.console import Group
        from rich.table import Table as ScreenTable
        from rich.text import Text

        grid = ScreenTable(show_header=bool(self.head), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
        grid.title = Text(printable(self.title), "italic") if self.title else None
        for column in range(len(self.head) or max(map(len, self.rows), default=0)):
            head = Text(printable(self.head[column])) if self.head else ""
            grid.add_column(head, justify="left" if column < self.text_columns else "right", overflow="fold")
        for number, row in enumerate(self.rows):
            grid.add_row(*(Text(printable(cell)) for cell in row), end_section=number in self.sections)
        return Group(grid, *(Text(printable(note)) for note in self.notes)) if self.notes else grid

    def markdown(self) -> str:
        """The table in Markdown, its title above it and its notes below it as a list."""
        ruler = ["---" if column < self.text_columns else "---:" for column in range(len(self.head))]
        lines = [[markdown_text(cell) for cell in row] for row in (self.head, *self.rows)]
        table = "".join(f"| {' | '.join(cells)} |\n" for cells in [lines[0], ruler, *lines[1:]])
        title = f"{markdown_text(self.title)}\n\n" if self.title else ""
        return title + table + (f"\n{markdown_list(self.notes)}" if self.notes else "")

    def html(self) -> str:
        """The table in HTML, its title as a caption and its notes below it as paragraphs."""
        caption = f"<caption>{html_text(self.title)}</caption>" if self.title else ""
        head = self._html_row("th", self.head) if self.head else ""
        rows = "".join(self._html_row("td", row) for row in self.rows)
        return f"<table>{caption}{head}{rows}</table>" + html_paragraphs(self.notes)

    def latex(self, caption: str, label: str) -> str:
        """The table as a LaTeX environment for the package booktabs, its notes below it in small print.

        `label` is the name for `\\ref`, which may hold letters, digits, hyphens and colons.
        """
        import pandas as pd

        head = self.head or [""] * max(map(len, self.rows), default=0)
        frame = pd.DataFrame([list(map(latex_text, row)) for row in self.rows], columns=list(map(latex_text, head)))
        columns = "l" * min(self.text_columns, len(head)) + "r" * (len(head) - self.text_columns)
        shown = frame.to_latex(
            index=False, escape=False, column_format=columns, caption=latex_text(caption), label=label, position="htbp"
        )
        notes = "".join(f"\\par {latex_text(note)}\n" for note in self.notes)
        end = f"{{\\footnotesize\n{notes}}}\n" if notes else ""
        return shown.replace("\\end{table}", f"{end}\\end{{table}}")

    def _html_row(self, tag: str, cells: Sequence[str]) -> str:
        shown = ""
        for column, text in enumerate(cells):
            left = ' class="text"' if 0 < column < self.text_columns else ""  # the first column is always left
            shown += f"<{tag}{left}>{html_text(text)}</{tag}>"
        return f"<tr>{shown}</tr>"


def on_screen(tables: Iterable[Table], warnings: Iterable[str] = ()) -> Group:
    """Several tables for a rich console, one below the other, and warnings in yellow, each after the word "warning"."""
    from rich.console import Group
    from rich.text import Text

    return Group(*tables, *(Text(printable(f"warning: {warning}"), "yellow") for warning in warnings))


def in_markdown(tables: Iterable[Table], warnings: Sequence[str] = ()) -> str:
    """Several tables in Markdown, one below the other, and a list of warnings with a heading."""
    parts = [table.markdown() for table in tables]
    return "\n".join([*parts, f"Warnings:\n\n{markdown_list(warnings)}"] if warnings else parts)


def markdown_list(lines: Iterable[str]) -> str:
    """A list in Markdown; the lines are texts, and are escaped."""
    return "".join(f"- {markdown_text(line)}\n" for line in lines)


def html_paragraphs(lines: Iterable[str]) -> str:
    """A paragraph of HTML for each line; the lines are texts, and are escaped."""
    return "".join(f"<p>{html_text(line)}</p>" for line in lines)


def warnings_of(runs: Runs) -> list[str]:
    """The warnings of several runs, each with the label of its run."""
    return [f"{label}: {text}" for label, scores in runs.items() for text in scores.get("warnings", [])]


def cell(value: Any) -> str:
    """A value as the text of a cell: three digits after the point of a float, and a dash for None."""
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def interval_cell(interval: Sequence[float] | None, between: str = "–", digits: int = 3) -> str:
    """An interval as the text of a cell, such as `0.888–0.931`; a dash for None."""
    return "–" if interval is None else f"{interval[0]:.{digits}f}{between}{interval[1]:.{digits}f}"
