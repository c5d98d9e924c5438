"""A table or a figure of a paper, declared once: a frame of numbers, and how each of its columns is shown.

The screen, Markdown, HTML, CSV, LaTeX and the picture all come from the same frame, so that no number is formatted twice.
One that cannot be made is a `Missing` that says which run it needs, and `write_exhibits` writes all of them into one folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench.errors import BadInput
from epbench.files.text import html_text, markdown_text
from epbench.files.writing import filling, write_text
from epbench.reports.figures import drawing, svg, table_picture
from epbench.reports.page import page
from epbench.reports.tables import Table, in_markdown
from epbench.statistics.estimate import Value, framed, p_text, stars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
Show = Callable[[Row], str]  # from a row of the frame to the text of a cell
Shown = dict[str, Show | str]
"""By the title of a column, the text of its cells, or the name of the column of the frame that they show plainly."""
Source = Literal["own", "released", "reported"]
"""Where a row comes from: a run of the user, a run whose answers were released, or a number in a paper."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table for people."""

    # What stands above it. With `{}`, it is repeated for each value of the exhibit's `across`, and shows that value there.
    title: str
    show: Show | str  # the text of a cell, or the name of a column of the frame, which is shown by `plain`
    text: bool = False  # whether it holds text and is aligned left; such columns stand first

    def cell(self, row: Row) -> str:
        """Return the text for a row."""
        return plain(row[self.show]) if isinstance(self.show, str) else self.show(row)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure."""

    name: str  # the name in the paper, such as `Table 3`; parts have more words, such as `Table 14, chunks`
    title: str  # what it shows, in a sentence without a point at its end
    # The numbers: a row for each, with a column `source` (own, released, reported) where that may differ, and the columns
    # of `epbench.statistics.estimate.Estimate`. It is the CSV.
    frame: pd.DataFrame
    columns: Sequence[Column]  # how people see it
    notes: Sequence[str] = ()  # sentences below the table, such as on the test of a comparison and its correction
    plot: Callable[[], Figure] | None = None  # draws it, within `figures.drawing`; None draws the table itself
    # The column of the frame whose values stand side by side; see `Column.title`. Rows that agree in all other columns for
    # people are one row then. Empty for a row of the table for each row of the frame.
    across: str = ""
    names: Mapping[Any, str] | None = None  # how values of `across` are written in titles, in order; others plainly
    sections: str = ""  # the column of the frame at whose changes the screen shows an empty line; empty for none
    points: pd.DataFrame | None = None  # what a figure draws, if the frame only sums it up; it is the CSV then
    apart: Sequence[str] = ()  # with `across`, columns of the frame that tell rows apart beside what people see

    @property
    def records(self) -> list[dict[str, Value]]:
        """The rows of the CSV, with None for what was not measured."""
        return _records(self.frame if self.points is None else self.points)

    @property
    def table(self) -> Table:
        """The table for people."""
        rows = _records(self.frame)
        fixed = [column for column in self.columns if "{}" not in column.title]
        spread = [column for column in self.columns if "{}" in column.title]
        values = _in_order((row[self.across] for row in rows), list(self.names or ())) if self.across else []
        lines: dict[tuple[str, ...], dict[Any, Row]] = {}
        for number, row in enumerate(rows):
            shown = tuple(column.cell(row) for column in fixed)
            hidden = [str(row[name]) for name in self.apart] if self.across else [str(number)]
            key = (*shown, *hidden)
            while row.get(self.across) in lines.get(key, ()):
                key = (*key, "")  # nothing that people see tells it from another row
            lines.setdefault(key, {})[row.get(self.across)] = row
        beside = list(product(values, spread))
        cells = [
            [*shown[: len(fixed)], *(column.cell(of[value]) if value in of else "–" for value, column in beside)]
            for shown, of in lines.items()
        ]
        names = {value: (self.names or {}).get(value, plain(value)) for value in values}
        titles = [column.title.format(names[value]) for value, column in beside]
        sections = [next(iter(of.values())).get(self.sections) for of in lines.values()]
        ends = [i for i, (one, other) in enumerate(pairwise(sections)) if one != other]
        head = [*(column.title for column in fixed), *titles]
        return Table(head, cells, "", self.notes, sum(column.text for column in fixed), ends)


@dataclass(frozen=True, slots=True)
class Missing:
    """A table or a figure that could not be made."""

    name: str  # the name in the paper
    title: str  # what it would show
    needs: str  # which runs or data were not given, such as "runs with memory rag-chapter on the same book"


Made = Exhibit | Missing


def exhibit(
    name: str,
    title: str,
    rows: Iterable[Mapping[str, Value]],
    columns: Sequence[Column],
    notes: Sequence[str] = (),
    plot: Callable[[], Figure] | None = None,
    *,
    needs: str,
    **more: Any,
) -> Made:
    """A table or figure of these rows; without any, what says that it needs them. `more` are further fields of `Exhibit`."""
    frame = framed(rows)
    return Missing(name, title, needs) if frame.empty else Exhibit(name, title, frame, columns, notes, plot, **more)


def columns_of(shown: Shown, texts: int = 0) -> list[Column]:
    """Columns, of which the first ones, so many, hold text."""
    return [Column(title, show, text=number < texts) for number, (title, show) in enumerate(shown.items())]


def _records(frame: pd.DataFrame) -> list[dict[str, Value]]:
    values = frame.astype(object)
    return values.where(values.notna(), None).to_dict("records")  # type: ignore[return-value]


def _in_order(values: Iterable[Any], named: Sequence[Any]) -> list[Any]:
    """Different values: those that have a name in the order of the names, numbers in rising order, others as they come."""
    found = list(dict.fromkeys(values))
    if named:
        return [*(value for value in named if value in found), *(value for value in found if value not in named)]
    return sorted(found) if all(isinstance(value, int | float) for value in found) else found


def plain(value: Any) -> str:
    """A value as the text of a cell: thousands are marked, shares have three digits, None is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else str(value)


def of_source(name: str = "label") -> Show:
    """A label with a mark unless the row is one's own: `gpt-4o (released)`."""
    return lambda row: marked(str(row[name]), row.get("source", "own"))


def mean_sd(prefix: str = "", digits: int = 2) -> Show:
    """`0.84 ± 0.37`, the mean and its standard deviation; `0.52–0.61*` where questions failed."""

    def show(row: Row) -> str:
        mean = row[f"{prefix}mean"]
        return _range(row, prefix, digits, "*") if mean is None else _plus_minus(mean, row[f"{prefix}sd"], digits)

    return show


def mean_margin() -> Show:
    """`0.930 ± 0.007`, the mean and how far its interval reaches; `0.48–0.61 (incomplete)` where questions failed."""

    def show(row: Row) -> str:
        mean, low, high = row["mean"], row["low"], row["high"]
        if mean is None:
            return _range(row, "", 2, " (incomplete)")
        return _plus_minus(mean, None if low is None or high is None else max(high - mean, mean - low), 3)

    return show


def mean_interval(prefix: str = "", ends: int = 2) -> Show:
    """`0.930 (0.91–0.95)`, the mean and its interval, if that has a width; `0.480 to 0.610` where questions failed."""

    def show(row: Row) -> str:
        mean, low, high = (row[f"{prefix}{name}"] for name in ("mean", "low", "high"))
        if row.get(f"{prefix}lowest") is not None:
            return f"{row[f'{prefix}lowest']:.3f} to {row[f'{prefix}highest']:.3f}"
        if mean is None:
            return "–"
        return f"{mean:.3f}" + ("" if low is None or low == high else f" ({low:.{ends}f}–{high:.{ends}f})")

    return show


def interval(low: str = "low", high: str = "high", digits: int = 3, between: str = "–") -> Show:
    """`0.888–0.931`; a dash without an interval."""
    return lambda row: "–" if row[low] is None else f"{row[low]:.{digits}f}{between}{row[high]:.{digits}f}"


def fixed(name: str, digits: int) -> Show:
    """An amount with so many digits; a dash for what is unknown."""
    return lambda row: "–" if row[name] is None else f"{row[name]:,.{digits}f}"


def counted(show: Show) -> Show:
    """What a cell shows, and the number of questions."""
    return lambda row: show(row) if row["n"] is None else f"{show(row)}, n = {row['n']:,}"


def difference(prefix: str, digits: int = 3, *, starred: bool = True) -> Show:
    """`+0.410 [0.360, 0.450]**`: a difference, its interval, and stars by its `p_holm`."""

    def show(row: Row) -> str:
        mean, low, high = (row[f"{prefix}{name}"] for name in ("mean", "low", "high"))
        interval = "" if low is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
        mark = stars(row[f"{prefix}p_holm"]) if starred else ""
        return "–" if mean is None else f"{mean:+.{digits}f}{interval}{mark}"

    return show


def p_value(name: str = "p_holm") -> Show:
    """A p-value with its stars."""
    return lambda row: p_text(row[name])


def _plus_minus(mean: float, width: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if width is None else f" ± {width:.{digits}f}")


def _range(row: Row, prefix: str, digits: int, mark: str) -> str:
    lowest, highest = row.get(f"{prefix}lowest"), row.get(f"{prefix}highest")
    return "–" if lowest is None or highest is None else f"{lowest:.{digits}f}–{highest:.{digits}f}{mark}"


def slug(name: str) -> str:
    """The name of an exhibit's files: `Table 3` is `table-03`, `Table 14, chunks` is `table-14-chunks`."""
    padded = re.sub(r"\b\d+", lambda number: number[0].zfill(2), name.lower())
    return re.sub(r"[^\w]+", "-", padded).strip("-")


def marked(label: str, source: Source) -> str:
    """A label for a cell, with a mark unless the row is one's own: `gpt-4o (released)`."""
    return label if source == "own" else f"{label} ({source})"


def write_exhibits(out: Path, heading: str, exhibits: Sequence[Made], boards: Sequence[Exhibit] = ()) -> Table:
    """Write `<name>.svg`, `.csv`, `.md` and `.tex` of each exhibit, and all of them as `tables.md` and `tables.html`.

    Either all of these files are written or none. Leaderboards come first and are also written as `LEADERBOARD.md`. The
    table for the screen tells what could not be made and what it needs, and a note names what was made. BadInput if two
    exhibits have one name.
    """
    exhibits = [*boards, *exhibits]
    made = [one for one in exhibits if not isinstance(one, Missing)]
    names = [slug(one.name) for one in made]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"two exhibits are called {doubled!r}")
    unmade = [[one.name, one.title, one.needs] for one in exhibits if isinstance(one, Missing)]
    absent = Table(["not made", "what it shows", "needs"], unmade, text_columns=3)
    with filling(out) as draft:
        pictures = [_write(draft, one) for one in made]
        write_text(draft / "tables.md", _markdown(heading, made, absent))
        write_text(draft / "tables.html", page(heading, _html(made, pictures, absent)))
        if boards:
            write_text(draft / "LEADERBOARD.md", in_markdown([replace(one.table, title=one.title) for one in boards]))
    notes = [f"Made: {', '.join(one.name for one in made) or 'nothing'}."]
    return Table(["not made", "needs"], [[name, needs] for name, _, needs in unmade], notes=notes, text_columns=2)


def _write(out: Path, exhibit: Exhibit) -> str:
    """Write the four files of an exhibit; return its picture."""
    stem = slug(exhibit.name)
    with drawing():
        figure: Figure = exhibit.plot() if exhibit.plot else table_picture(exhibit.table)
        picture = svg(figure)
    write_text(out / f"{stem}.svg", picture)
    write_text(out / f"{stem}.csv", as_csv(exhibit))
    title = f"**{markdown_text(exhibit.name)}.** {markdown_text(exhibit.title)}"
    write_text(out / f"{stem}.md", f"{title}\n\n{exhibit.table.markdown()}")
    write_text(out / f"{stem}.tex", exhibit.table.latex(f"{exhibit.name}. {exhibit.title}", f"tab:{stem}"))
    return picture


def as_csv(exhibit: Exhibit) -> str:
    """The records of an exhibit as CSV; None is an empty field, and floats keep all their digits."""
    numbers = exhibit.frame if exhibit.points is None else exhibit.points
    return "" if numbers.empty else str(numbers.to_csv(index=False, lineterminator="\n"))


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
