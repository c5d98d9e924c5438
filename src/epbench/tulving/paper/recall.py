"""F1 by kinds of questions: bins, cues, and what is asked for (Tables 3, 13 to 19, 27); the order in time (Table 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from epbench.files.text import printable
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, Show, mean_sd, of_source
from epbench.reports.figures import INK, heat_map
from epbench.reports.plots import grouped, grouped_by
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.tulving.paper.inputs import ELEMENTS, Line, by_book, parts_of, runs_among, text_of
from epbench.tulving.paper.shared import POLICY, for_each, judge_notes, lost_notes, named, reported_notes, value
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUE_LETTERS

if TYPE_CHECKING:
    import pandas as pd
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


def notes_on(lines: Sequence[Line], rows: Sequence[Row], selection: str) -> list[str]:
    """What a reader of a table must know: which questions count, what was lost, who judged, and where rows come from."""
    notes = [selection, "Deviations are sample standard deviations over questions.", POLICY]
    notes += [f"* {note}" for note in lost_notes(rows)]
    if any(not line.reported and (line.questions["repeat"] > 0).any() for line in lines):
        notes.append("A question that was asked several times counts once for each answer.")
    texts = {line.text for line in lines if not line.reported}
    if len(texts) > len({line.book for line in lines}):
        notes.append("Books of one name are told apart by their writer or fingerprint: their questions differ.")
    return [*notes, *judge_notes(lines), *reported_notes(lines)]


BIN = Side("bin", {bin_: bin_ for bin_ in BINS})
CUE = Side("cue", {(cue := "".join(of)): cue_text(cue) for n in range(1, 5) for of in combinations(CUE_LETTERS, n)})
_ELEMENTS = Side(ELEMENTS, {str(n): str(n) for n in range(1, 5)}, "elements in the cue")
_NAMES = {"times": "times", "spaces": "spaces", "entities": "entities", "contents": "event contents"}
_FOUR = Side("trace", _NAMES)
TRACE = Side("trace", {**_NAMES, "other_entities": "other entities", "full_details": "full event details"})
# Of Figure 4, from top to bottom and from the left, as in the paper
_SINGLE, _FEW = Side("cue", {cue: cue_text(cue) for cue in "cest"}), Side("bin", {bin_: bin_ for bin_ in BINS[:3]})


def recall_table(
    name: str, title: str, lines: Sequence[Line], *sides: Side, notes: Sequence[str] = (ALL_ITEMS,), grid: bool = False
) -> Exhibit:
    """Mean and deviation of F1 of each line by kinds of questions, of which the last stands in the columns.

    Of two, the first stands in the rows, and cells have the number of questions. A `grid` is about the first line, which is only
    named beside others. `notes` come first, and the last of them says which questions count.
    """
    rows = f1_rows(lines, *sides)
    *in_rows, across = sides
    who = who_columns(rows) if len(lines) > 1 or not grid else []
    kinds = [Column(side.title or side.name, side.show, text=True) for side in in_rows]
    if grid:
        rows.sort(key=lambda row: [list(side.texts).index(row[side.name]) for side in in_rows])
    columns = [*(kinds + who if grid else who + kinds), Column("{}", with_n(mean_sd()) if in_rows else mean_sd())]
    names = across.texts if in_rows else counted(rows, across)
    counts = " The number of questions is in parentheses." if in_rows else ""
    notes = [*notes[:-1], *notes_on(lines, rows, f"{notes[-1]}{counts}")]
    return Exhibit(name, title, framed(rows), columns, notes, None, across.name, names, apart=APART)


def with_reported_once(lines: Iterable[Line]) -> list[Line]:
    """The lines that have F1 by bin; of reported rows that say the same, as a paper repeats its numbers, the first."""
    found: dict[object, Line] = {}
    for line in lines:
        if means := tuple((row["bin"], row["mean"]) for row in f1_rows([line], BIN)):
            row = line.reported
            about = id(line) if row is None else (row.source, line.book, line.writer, line.memory, line.model, means)
            found.setdefault(about, line)
    return list(found.values())


# What a table lacks that is about all books, about those that are not short, or about short ones
_NEEDS = {None: "runs", False: "runs on a book that is not a short one, such as long", True: "runs on a short book"}
_WHOLE, _PASSAGES = "in-context", ("rag-paragraph", "rag-chapter")
_CHUNKS = (
    "How many passages a reader saw is noted in run.json of each run; the paper shows 17 chapters or 68 paragraphs of the long "
    "book, and 3 or 12 of the short one."
)


def by_bin(lines: Sequence[Line]) -> list[Made]:
    """Tables 3, 13 and 14: each book that is not a short one, each short one, and passages beside the whole book or others."""
    # Reported rows about a book by another writer stand in Table 20.
    published = by_book(line for line in lines if not line.reported or not line.writer)
    books = {book: each for book, of in published.items() if runs_among(each := with_reported_once(of))}
    short, others = ({book: of for book, of in books.items() if of[0].is_short == is_} for is_ in (True, False))
    memories = {book: each for book, of in books.items() if runs_among(each := _with_whole_book(of))}
    both_kinds = {book: {line.memory for line in runs_among(of)}.issuperset(_PASSAGES) for book, of in books.items()}
    chunks = {book: [one for one in of if one.memory in _PASSAGES] for book, of in books.items() if both_kinds[book]}
    title = "Recall: mean and standard deviation of F1 by the number of events that match the cue"
    whole = "The whole book, and passages of it: F1 by the number of events that match the cue"
    passages = "Paragraphs or chapters as passages: F1 by the number of events that match the cue"
    of_two = "runs of one model with memory in-context and with rag-paragraph or rag-chapter on the same book"
    both = "runs with memory rag-paragraph and with rag-chapter on the same book"

    def make(name: str, title: str, lines: Sequence[Line]) -> Exhibit:
        return recall_table(name, title, lines, BIN, notes=[*([_CHUNKS] if "Table 14" in name else []), ALL_ITEMS])

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
# Names and titles, what stands in the rows and in the columns, and whether the books are short; None for all books
_GRIDS: tuple[tuple[str, str, Side, Side, bool | None], ...] = (
    ("Table 15", "F1 by elements in the cue and events that match it", _ELEMENTS, BIN, None),
    ("Table 16", _BY_CUE, CUE, BIN, False),
    ("Table 17", _BY_CUE, CUE, BIN, True),
    ("Table 18", "F1 by what is asked for and events that match the cue", TRACE, BIN, None),
    ("Table 19", "F1 by cue and by what is asked for", CUE, _FOUR, None),
)
_ALL_BINS = (
    "Only questions that ask for all items count (get = all), those of all bins together, so that a cue with more empty "
    "questions has other means. As in the paper, other entities and full event details are left out."
)


def by_kind(lines: Sequence[Line]) -> list[Made]:
    """Tables 15 to 19: for each run, beside what papers report about a book of its name."""
    made: list[Made] = []
    for table, about, *sides, short in _GRIDS:

        def make(name: str, _: str, line: Line, about: str = about, sides: Sequence[Any] = sides) -> Exhibit:
            both, notes = [line, *papers_on(lines, line.book, *sides)], [_ALL_BINS if _FOUR in sides else ALL_ITEMS]
            return recall_table(name, f"{about}: {line.who}, {line.text}", both, *sides, notes=notes, grid=True)

        on = [line for line in runs_among(lines) if short in (None, line.is_short)]
        runs = {line.label: line for line in on if not line.asked_for_all.empty}
        made += for_each(table, about, _NEEDS[short], runs, make)
    return made


def diverse_books(lines: Sequence[Line]) -> list[Made]:
    """Table 27: readers of books of other universes, on these and on the books of the default universe."""
    title = "Recall on diverse books: mean and standard deviation of F1 by the number of events that match the cue"
    parts, reader = {line: parts_of(line.book) for line in lines}, attrgetter("source", "memory", "model")
    plain = with_reported_once(line for line, (size, _, more) in parts.items() if size and not more)
    diverse = {reader(line) for line in plain if parts[line][1] != "default"}
    if {source for source, *_ in diverse} <= {"reported"}:
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
    return [recall_table("Table 27", title, named, BIN, notes=[note, ALL_ITEMS])]


def heat_maps(lines: Sequence[Line]) -> list[Made]:
    """Figure 4: for each book text, a panel for each bin, with a row for each cue and a column for each run."""
    selection = (
        "As in the published figure, only questions that give a single element and ask for all items count (get = all), in the "
        "bins 0, 1 and 2 of matching chapters. Runs are ordered by the mean of their cells, the highest first; nothing is "
        "clustered."
    )

    def place(line: Line) -> float:
        # A cell that lost questions counts with the middle of its range, for the order alone.
        rows = f1_rows([line], _SINGLE, _FEW)
        return -fmean((row["lowest"] + row["highest"]) / 2 if row["mean"] is None else row["mean"] for row in rows)

    def make(name: str, title: str, runs: Sequence[Line]) -> Exhibit:
        table = recall_table(name, title, sorted(runs, key=place), _SINGLE, _FEW, notes=[selection])
        return replace(table, plot=partial(_draw, table.records))

    title = "F1 by cue, for questions with no, one and two matching events"
    texts = grouped_by((line for line in runs_among(lines) if f1_rows([line], _SINGLE, _FEW)), attrgetter("text"))
    return for_each("Figure 4", title, "runs that asked for all items with a single cue", texts, make)


def _draw(rows: Sequence[Row]) -> Figure:
    """Grey is no question, a star is a range, whose middle gives the colour no number."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    runs = {label: printable(of_source()(of_run[0])) for label, of_run in grouped(rows, "label").items()}
    of_bin = sorted(grouped(rows, "bin").items())
    size = 1.4 + len(of_bin) * max(1.6, 0.42 * len(runs)), 1.9 + 0.075 * max(map(len, runs.values()))
    figure = Figure(figsize=size, layout="constrained")
    for axes, (bin_, own) in zip(figure.subplots(1, len(of_bin), squeeze=False)[0], of_bin, strict=True):
        known = {(row["cue"], row["label"]): row for row in own}
        cells = [[known.get((cue, run), {"mean": None, "n_failed": 0}) for run in runs] for cue in _SINGLE.texts]
        heat_map(axes, [[cell["mean"] for cell in of] for of in cells], colormaps["viridis"], "#e0e0e0", vmin=0, vmax=1)
        for (y, of), x in product(enumerate(cells), range(len(runs))):
            mean = of[x]["mean"]
            text = f"{mean:.2f}" if mean is not None else "*" if of[x]["n_failed"] else ""
            colour = "white" if mean is not None and mean < 0.6 else INK
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
        axes.set_xticks(range(len(runs)), runs.values(), rotation=90, fontsize=8)
        cues = _SINGLE.texts.values() if bin_ == of_bin[0][0] else []
        axes.set_yticks(range(len(_SINGLE.texts)), cues, fontsize=8)
        axes.set_title(f"{bin_} matching event{'' if bin_ == '1' else 's'}", fontsize=9)
    return figure


AWARE = {"chronological_awareness": "chronological awareness"}
_ORDER_SCORES = {"latest": "latest", "all_matched": "all", "kendall_tau": "Kendall τ", **AWARE}
_ORDER_COUNTED = (
    "Latest: mean F1 of the questions with get = latest about two or more chapters; so are the published numbers, which the "
    "paper calls the share of answers that match. All: of the questions with get = chronological and two or more different "
    "true items, the share whose true items were all found. τ: its mean over these alone, whose number is its n. "
    "Chronological awareness: the mean of latest and of all · τ, which is 0 where it would be negative. The number of "
    "questions is in parentheses."
)


def order_tables(lines: Sequence[Line]) -> list[Made]:
    """Table 4: a table for each book, the readers with the highest chronological awareness first."""
    scores = {line: of_line for line in lines if (of_line := _order_scores(line))}

    def rank(line: Line) -> float:
        """Chronological awareness; -1 where it is a range, so that these rows come last."""
        latest, all_, tau = (scores[line][name].mean for name in ("latest", "all_matched", "kendall_tau"))
        return -1.0 if latest is None or all_ is None else (latest + max(0.0, all_ * (tau or 0.0))) / 2

    def make(name: str, title: str, lines: Sequence[Line]) -> Exhibit:
        rows: list[dict[str, Value]] = [
            {**line.columns(), "score": score, **one.columns(*PLAIN)}
            for line in lines
            for score, one in scores[line].items()
            if one.n != 0 or one.n_failed or one.mean is not None
        ]
        columns, notes = [*who_columns(rows), Column("{}", with_n(value()))], notes_on(lines, rows, _ORDER_COUNTED)
        return Exhibit(name, title, framed(rows), columns, notes, across="score", names=_ORDER_SCORES, apart=APART)

    # A run that was limited to a few questions may have none of these.
    asked = {book: [line for line in of if line in scores] for book, of in by_book(lines).items()}
    found = {book: sorted(of, key=rank, reverse=True) for book, of in asked.items() if runs_among(of)}
    title = "The latest state of an entity, and all its states in chronological order"
    needs = "runs that asked for the latest state and for the chronological order"
    return for_each("Table 4", title, needs, found, make)


def counted_for(questions: pd.DataFrame, score: str) -> pd.DataFrame:
    """The questions of a run that count for a score, by its name in scores.json; for a bin `f1_by_bin.` and the bin."""
    latest = (questions["get"] == "latest") & (questions["n_chapters"] >= 2)
    ordered = (questions["get"] == "chronological") & (questions["reference"].map(lambda items: len(set(items))) >= 2)
    named = {"latest": latest, "all_matched": ordered, "chronological_awareness": latest | ordered}
    found, bin_ = named.get(score, questions["get"] == "all"), score.removeprefix("f1_by_bin.")
    return questions[found if bin_ == score else found & (questions["bin"] == bin_)]


def book_score(line: Line, score: str) -> Estimate:
    """A score of a run, named as for `counted_for`, with the interval and the bounds that scores.json has."""
    scores, questions, bin_ = line.scores, counted_for(line.questions, score), score.removeprefix("f1_by_bin.")
    mean = scores[score] if bin_ == score else scores["f1_by_bin"].get(bin_)
    interval, bounds = (scores.get(name, {}).get(score) or (None, None) for name in ("intervals", "incomplete"))
    n_failed = int((questions["outcome"] == "failed").sum())
    return Estimate(len(questions) - n_failed, n_failed, mean, None, *interval, *bounds)


def _order_scores(line: Line) -> dict[str, Estimate]:
    """The scores of a line; empty if it has neither the latest state nor the order."""
    if line.reported is not None:
        found = {name: line.reported_score(name) for name in _ORDER_SCORES}
        return found if found["latest"].mean is not None or found["all_matched"].mean is not None else {}
    latest, ordered = (counted_for(line.questions, score) for score in ("latest", "all_matched"))
    if latest.empty and ordered.empty:
        return {}
    matches = ordered["tau"].notna().astype(float).where(ordered["outcome"] != "failed")
    matched = estimate(ordered.assign(matched=matches), "matched")
    tau, awareness = estimate(ordered[ordered["tau"].notna()], "tau"), book_score(line, "chronological_awareness")
    if matched.n_failed:  # the bounds of scores.json know what the failed questions may have been
        lowest, highest = line.scores.get("incomplete", {}).get("kendall_tau") or (None, None)
        tau = Estimate(tau.n, matched.n_failed, lowest=lowest, highest=highest)
    if awareness.mean is None and awareness.lowest is None:
        awareness = Estimate()
    matched = replace(matched, sd=None)  # a share has no deviation of interest
    return dict(zip(_ORDER_SCORES, (estimate(latest, "f1"), matched, tau, awareness), strict=True))
