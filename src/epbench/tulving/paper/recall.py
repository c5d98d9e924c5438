"""F1 by kinds of questions: bins, cues, what is asked for, and how realistic the events are (Tables 3, 13 to 20, 22, 24, 27).

First come the rows of F1, and what stands in front of them and below them in all tables that have a row for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from epbench.files.text import printable
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, Show, mean_sd, of_source
from epbench.reports.figures import INK, heat_map
from epbench.reports.plots import grouped, grouped_by
from epbench.statistics.estimate import Estimate, estimate, framed
from epbench.tulving.paper.inputs import (
    ELEMENTS,
    POLICY,
    Line,
    by_book,
    for_each,
    judge_notes,
    lost_notes,
    named,
    parts_of,
    reported_notes,
    runs_among,
    text_of,
)
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUE_LETTERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL_ITEMS = "Only questions that ask for all items count (get = all); bins count the matching chapters."
PLAIN = ("mean", "sd", "lowest", "highest", "n", "n_failed")  # the fields of an estimate without an interval
APART = ("source", "label", "fingerprint", "paper")  # the columns that tell lines apart


def cue_text(cue: str, entity: str = "ent") -> str:
    """A cue as the paper writes it: `te` is `(t, *, ent, *)`."""
    letters = ({"e": entity}.get(letter, letter) if letter in cue else "*" for letter in CUE_LETTERS)
    return f"({', '.join(letters)})"


@dataclass(frozen=True)
class Side:
    """A kind of question by which F1 is shown."""

    name: str  # the column of the questions, and of the frame
    texts: Mapping[str, str]  # the text of each value, in the order of the tables
    title: str = ""  # what stands above a column of these texts; the name by default

    def show(self, row: Row) -> str:
        """The text of the value that a row has."""
        return self.texts[row[self.name]]


def f1_rows(lines: Sequence[Line], *sides: Side) -> list[dict[str, Any]]:
    """A row of a frame with the F1 of each line for each combination of values that it has questions for, or reports."""
    found, names = [], [side.name for side in sides]
    for line in lines:
        parts = dict(list(line.asked_for_all[[*names, "f1"]].groupby(names))) if not line.reported else {}
        for key in product(*(side.texts for side in sides)):
            if line.reported:  # such as `f1_by_bin.1`, `f1_by_bin.1.realistic` or `f1_by_cue_and_bin.te.1`
                of_bin = "bin" in names and names[0] in ("bin", "realism")
                score = ".".join(("f1_by_bin", *key[::-1]) if of_bin else (f"f1_by_{'_and_'.join(names)}", *key))
                one = line.reported_score(score)
            else:
                one = estimate(parts[key], "f1") if key in parts else Estimate()
            if one.n != 0 or one.n_failed:
                found.append(line.columns() | dict(zip(names, key, strict=True), score="f1", **one.columns(*PLAIN)))
    return found


def papers_on(lines: Iterable[Line], book: str, *sides: Side) -> list[Line]:
    """The reported rows about a published book that have F1 by these kinds of questions."""
    published = (line for line in lines if line.reported and line.book == book and not line.writer)
    return [line for line in published if f1_rows([line], *sides)]


def who_columns(rows: Sequence[Row]) -> list[Column]:
    """The first columns; the run and the book are left out where they tell nothing apart."""
    run = Column("run", lambda row: row["label"] if row["source"] == "own" else "", text=True)
    runs = [run] if any(row["source"] == "own" for row in rows) else []
    books = [Column("book", text_of, text=True)] if len(set(map(text_of, rows))) > 1 else []
    return [*named("memory", "model"), *runs, *books]


def with_n(show: Show) -> Show:
    """What another format shows, with the number of questions in parentheses."""
    return lambda row: f"{show(row)} ({row['n'] + row['n_failed']})" if row["n"] or row["n_failed"] else show(row)


def counted(rows: Sequence[Row], side: Side) -> dict[str, str]:
    """The titles of columns with the number of questions in each, such as `3-5 (12–18)`."""
    titles = {}
    for one, text in side.texts.items():
        known = sorted({row["n"] + row["n_failed"] for row in rows if row[side.name] == one and row["n"] is not None})
        shown = "–".join(map(str, known if len(known) < 2 else (known[0], known[-1])))
        titles[one] = f"{text} ({shown or 'n not reported'})"
    return titles


def notes_on(lines: Sequence[Line], rows: Sequence[Row], selection: str = ALL_ITEMS) -> list[str]:
    """What a reader of a table must know: which questions count, what was lost, who judged, and where rows come from."""
    notes = [selection, "Deviations are sample standard deviations over questions.", POLICY]
    notes += [f"* {note}" for note in lost_notes(rows)]
    if any(not line.reported and (line.questions["repeat"] > 0).any() for line in lines):
        notes.append("A question that was asked several times counts once for each answer.")
    texts = {line.text for line in lines if not line.reported}
    if len(texts) > len({line.book for line in lines}):
        notes.append("Books of one name are told apart by their writer or fingerprint: their questions differ.")
    return [*notes, *judge_notes(lines), *reported_notes(lines)]


# The tables

BIN = Side("bin", {bin_: bin_ for bin_ in BINS})
CUE = Side("cue", {(cue := "".join(of)): cue_text(cue) for n in range(1, 5) for of in combinations(CUE_LETTERS, n)})
_ELEMENTS = Side(ELEMENTS, {str(n): str(n) for n in range(1, 5)}, "elements in the cue")
_NAMES = {"times": "times", "spaces": "spaces", "entities": "entities", "contents": "event contents"}
_FOUR = Side("trace", _NAMES)
TRACE = Side("trace", {**_NAMES, "other_entities": "other entities", "full_details": "full event details"})


def recall_table(
    name: str,
    title: str,
    lines: Sequence[Line],
    *sides: Side,
    notes: Sequence[str] = (),
    selection: str = ALL_ITEMS,
    grid: bool = False,
    plot: Callable[[Sequence[Row]], Figure] | None = None,
) -> Exhibit:
    """Mean and deviation of F1 of each line by kinds of questions, of which the last stands in the columns.

    Of two, the first stands in the rows, and cells have the number of questions. A `grid` is about the first line, which is only
    named beside others. `notes` come first, and `selection` says which questions count; `plot` draws the rows.
    """
    rows = f1_rows(lines, *sides)
    *in_rows, across = sides
    who = who_columns(rows) if len(lines) > 1 or not grid else []
    kinds = [Column(side.title or side.name, side.show, text=True) for side in in_rows]
    if grid:
        rows.sort(key=lambda row: [list(side.texts).index(row[side.name]) for side in in_rows])
    columns = [*(kinds + who if grid else who + kinds), Column("{}", with_n(mean_sd()) if in_rows else mean_sd())]
    selection += " The number of questions is in parentheses." if in_rows else ""
    names = across.texts if in_rows else counted(rows, across)
    said, draw = [*notes, *notes_on(lines, rows, selection)], plot and partial(plot, rows)
    return Exhibit(name, title, framed(rows), columns, said, draw, across.name, names, apart=APART)


def with_reported_once(lines: Iterable[Line]) -> list[Line]:
    """The lines that have F1 by bin; of reported rows that say the same, as a paper repeats its numbers, the first."""
    found: dict[object, Line] = {}
    for line in lines:
        means = tuple((row["bin"], row["mean"]) for row in f1_rows([line], BIN))
        if means:
            row = line.reported
            about = id(line) if row is None else (row.source, line.book, line.writer, line.memory, line.model, means)
            found.setdefault(about, line)
    return list(found.values())


_NEEDS = {None: "runs", False: "runs on a book that is not a short one, such as long", True: "runs on a short book"}
"""What a table lacks that is about all books, about those that are not short, or about short ones."""

_WHOLE, _PASSAGES = "in-context", ("rag-paragraph", "rag-chapter")
_CHUNKS = (
    "How many passages a reader saw is noted in run.json of each run; the paper shows 17 chapters or 68 paragraphs of the long "
    "book, and 3 or 12 of the short one."
)


def by_bin(lines: Sequence[Line]) -> list[Made]:
    """Tables 3, 13 and 14: each book that is not a short one, each short one, and passages beside the whole book.

    Table 14 has the models with passages and the whole book, and then all models with both kinds of passages.
    """
    # Reported rows about a book by another writer stand in Table 20.
    published = by_book(line for line in lines if not line.reported or not line.writer)
    books = {book: each for book, of in published.items() if runs_among(each := with_reported_once(of))}
    short = {book: of for book, of in books.items() if of[0].is_short}
    others = {book: of for book, of in books.items() if book not in short}
    memories = {book: each for book, of in books.items() if runs_among(each := _with_whole_book(of))}
    both_kinds = {book: {line.memory for line in runs_among(of)}.issuperset(_PASSAGES) for book, of in books.items()}
    chunks = {book: [one for one in of if one.memory in _PASSAGES] for book, of in books.items() if both_kinds[book]}
    title = "Recall: mean and standard deviation of F1 by the number of events that match the cue"
    whole = "The whole book, and passages of it: F1 by the number of events that match the cue"
    passages = "Paragraphs or chapters as passages: F1 by the number of events that match the cue"
    of_two = "runs of one model with memory in-context and with rag-paragraph or rag-chapter on the same book"
    both = "runs with memory rag-paragraph and with rag-chapter on the same book"

    def make(name: str, title: str, lines: Sequence[Line]) -> Exhibit:
        return recall_table(name, title, lines, BIN, notes=[_CHUNKS] if name.startswith("Table 14") else [])

    return [
        *for_each("Table 3", title, _NEEDS[False], others, make),
        *for_each("Table 13", title, _NEEDS[True], short, make),
        *for_each("Table 14, memories", whole, of_two, memories, make),
        *for_each("Table 14, chunks", passages, both, chunks, make),
    ]


def _with_whole_book(lines: Sequence[Line]) -> list[Line]:
    """The lines of models that were asked with the whole book and with passages, model by model."""
    read = [line for line in lines if line.memory in (_WHOLE, *_PASSAGES)]
    found = grouped_by(read, lambda line: (line.source == "reported", line.source, line.model, line.text))
    memories = {key: {line.memory for line in of} for key, of in found.items()}
    return [line for key in sorted(found) if _WHOLE in memories[key] and len(memories[key]) > 1 for line in found[key]]


_BY_CUE = "F1 by cue and events that match it"
_GRIDS: tuple[tuple[str, str, Side, Side, bool | None], ...] = (
    ("Table 15", "F1 by elements in the cue and events that match it", _ELEMENTS, BIN, None),
    ("Table 16", _BY_CUE, CUE, BIN, False),
    ("Table 17", _BY_CUE, CUE, BIN, True),
    ("Table 18", "F1 by what is asked for and events that match the cue", TRACE, BIN, None),
    ("Table 19", "F1 by cue and by what is asked for", CUE, _FOUR, None),
)
"""Names and titles, what stands in the rows and in the columns, and whether the books are short; None for all books."""
_ALL_BINS = (
    "Only questions that ask for all items count (get = all), those of all bins together, so that a cue with more empty "
    "questions has other means. As in the paper, other entities and full event details are left out."
)


def by_kind(lines: Sequence[Line]) -> list[Made]:
    """Tables 15 to 19: for each run, beside what papers report about a book of its name."""
    made: list[Made] = []
    for table, about, *sides, short in _GRIDS:

        def make(name: str, _: str, line: Line, about: str = about, sides: Sequence[Any] = sides) -> Exhibit:
            both, selection = [line, *papers_on(lines, line.book, *sides)], _ALL_BINS if _FOUR in sides else ALL_ITEMS
            title = f"{about}: {line.who}, {line.text}"
            return recall_table(name, title, both, *sides, selection=selection, grid=True)

        on = [line for line in runs_among(lines) if short in (None, line.is_short)]
        runs = {line.label: line for line in on if not line.asked_for_all.empty}
        made += for_each(table, about, _NEEDS[short], runs, make)
    return made


def diverse_books(lines: Sequence[Line]) -> list[Made]:
    """Table 27: readers of books of other universes, on these and on the books of the default universe."""
    title = "Recall on diverse books: mean and standard deviation of F1 by the number of events that match the cue"

    def reader(line: Line) -> tuple[str, str, str]:
        return line.source, line.memory, line.model

    parts = {line: parts_of(line.book) for line in lines}
    plain = with_reported_once(line for line, (size, _, more) in parts.items() if size and not more)
    diverse = {reader(line) for line in plain if parts[line][1] != "default"}
    if all(source == "reported" for source, *_ in diverse):
        return [Missing("Table 27", title, "runs on books of other universes, such as news-short or scifi-long")]
    chosen = [line for line in plain if reader(line) in diverse and (not line.reported or not line.writer)]

    def place(line: Line) -> tuple[object, ...]:
        (size, universe, _), sizes = parts[line], ("short", "long", "very-long")
        return (line.source == "reported", *reader(line), sizes.index(size), universe != "default")

    note = (
        "Each universe has its own dates, spaces, entities, contents and questions, so that its books are not paired."
    )
    # The book, not the label, tells runs of one reader apart here.
    named = [replace(line, label=line.book) if line.source == "own" else line for line in sorted(chosen, key=place)]
    return [recall_table("Table 27", title, named, BIN, notes=[note])]


def heat_maps(lines: Sequence[Line]) -> list[Made]:
    """Figure 4: for each book text, a panel for each bin, with a row for each cue and a column for each run."""
    cues = Side("cue", {cue: cue_text(cue) for cue in "cest"})  # from top to bottom, as in the paper
    bins = Side("bin", {bin_: bin_ for bin_ in ("0", "1", "2")})
    selection = (
        "As in the published figure, only questions that give a single element and ask for all items count (get = all), in the "
        "bins 0, 1 and 2 of matching chapters. Runs are ordered by the mean of their cells, the highest first; nothing is "
        "clustered."
    )

    def place(line: Line) -> float:
        # A cell that lost questions counts with the middle of its range, for the order alone.
        rows = f1_rows([line], cues, bins)
        return -fmean((row["lowest"] + row["highest"]) / 2 if row["mean"] is None else row["mean"] for row in rows)

    def make(name: str, title: str, runs: Sequence[Line]) -> Exhibit:
        ordered, draw = sorted(runs, key=place), partial(_draw, cues, bins)
        return recall_table(name, title, ordered, cues, bins, selection=selection, plot=draw)

    title = "F1 by cue, for questions with no, one and two matching events"
    asked = [line for line in runs_among(lines) if f1_rows([line], cues, bins)]
    texts = grouped_by(asked, lambda line: line.text)
    return for_each("Figure 4", title, "runs that asked for all items with a single cue", texts, make)


def _draw(cues: Side, bins: Side, rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    runs = {label: printable(of_source()(of_run[0])) for label, of_run in grouped(rows, "label").items()}
    of_bin = grouped(rows, "bin")
    shown = [bin_ for bin_ in bins.texts if bin_ in of_bin]
    size = 1.4 + len(shown) * max(1.6, 0.42 * len(runs)), 1.9 + 0.075 * max(map(len, runs.values()))
    figure = Figure(figsize=size, layout="constrained")
    for axes, bin_ in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        _panel(axes, {(row["cue"], row["label"]): row for row in of_bin[bin_]}, cues, runs)
        axes.set_yticks(range(len(cues.texts)), cues.texts.values() if bin_ == shown[0] else [], fontsize=8)
        axes.set_title(f"{bin_} matching event{'' if bin_ == '1' else 's'}", fontsize=9)
    return figure


def _panel(axes: Axes, cells: Mapping[tuple[str, str], Row], cues: Side, runs: Mapping[str, str]) -> None:
    """One bin: grey is no question, a star is a range, whose middle gives the colour no number."""
    from matplotlib import colormaps

    rows = [[cells.get((cue, run), {"mean": None, "n_failed": 0}) for run in runs] for cue in cues.texts]
    means = [[row["mean"] for row in of_cue] for of_cue in rows]
    heat_map(axes, means, colormaps["viridis"], "#e0e0e0", vmin=0, vmax=1)
    for (y, of_cue), x in product(enumerate(rows), range(len(runs))):
        mean = means[y][x]
        text = f"{mean:.2f}" if mean is not None else "*" if of_cue[x]["n_failed"] else ""
        colour = "white" if mean is not None and mean < 0.6 else INK
        axes.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(len(runs)), runs.values(), rotation=90, fontsize=8)
