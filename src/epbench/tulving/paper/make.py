"""Every table and figure of the paper about Tulving books, in its order, what goes beyond it, and the leaderboards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epbench.judges.protocol import people_line
from epbench.models.protocol import name_of
from epbench.reports.exhibit import Exhibit, Made, slug
from epbench.reports.leaderboard import Standing, bounded, by_board, leaderboard, reported_standing, score_of
from epbench.reports.reported import ReportedRow
from epbench.runs.folder import read_run
from epbench.tulving.judging.verdicts import ScoredAnswer
from epbench.tulving.paper import book_chapters, book_tables, contrasts, groups, inventions, recall
from epbench.tulving.paper.books import PaperBook, originals
from epbench.tulving.paper.inputs import Inputs, Line, lines_of, runs_among
from epbench.tulving.questions.generate import BINS
from epbench.tulving.reader.lexical import ACCOUNT, names_by_trace
from epbench.tulving.scores.scoring import means_of
from epbench.tulving.scores.tables import DIFFERENT_JUDGES, judge_names, naming_notes

if TYPE_CHECKING:
    import pandas as pd

_ORDER = [
    *"Table 2, Figure 3, Table 3, Figure 4, Table 4, Table 6, Table 7, Table 8, Figure 5, Table 9".split(", "),
    *"Table 12, Figure 6, Figure 7".split(", "),
    "B.4",
    *(f"Table {number}" for number in range(13, 24)),
    *"E.7, Table 24, Table 25, E.8, Invented items, Figure 8, Appendix F, Table 26, Table 27, Table 28".split(", "),
]
"""As they follow one another in the paper; everything else comes after them."""

_OF_LINES = (
    *(contrasts.ranks, contrasts.books_by_writer, contrasts.books_by_order, contrasts.estimation_plots),
    *(recall.by_bin, recall.by_kind, recall.diverse_books, recall.heat_maps, groups.order_tables),
)
_OF_ORIGINALS = (
    *(book_tables.MAIN_BOOKS, book_chapters.ROUNDS, book_chapters.COMPOSITION),
    *(book_tables.REPETITIONS, book_tables.WIDESPREADNESS, book_tables.OTHER_BOOKS),
)
_OF_ALL_BOOKS = (book_tables.EXPECTED, book_tables.OVERVIEW)


def is_about_books(row: ReportedRow) -> bool:
    """Whether a row of a paper is about a book and its writer, and not about a reader with a memory."""
    return not row.memory and row.table in {"E.7", *(table.name for table in (*_OF_ORIGINALS, *_OF_ALL_BOOKS))}


def exhibits(
    inputs: Inputs,
    books: Sequence[PaperBook],
    *,
    realism: contrasts.Ratings | None = None,
    by: Sequence[str] = (),
    entity: str | None = None,
) -> list[Made]:
    """Make the tables and figures of runs, reported rows and books.

    `realism` has the ratings by the fingerprint of the book; `by` has the columns of questions.parquet to group questions by,
    and `entity` is the person whose path Figure 6 shows. BadInput if a column cannot be used or a person is in no book.
    """
    about_books = [row for row in inputs.reported if is_about_books(row)]
    lines = lines_of(replace(inputs, reported=[row for row in inputs.reported if row not in about_books]))
    told = originals(books)  # one that only orders the chapters of another one by date stands in Tables 6 and 28 alone
    found: list[Made] = [
        *(one for of_lines in _OF_LINES for one in of_lines(lines)),
        *contrasts.by_realism(lines, realism),
        *(table.make(told, about_books) for table in _OF_ORIGINALS),
        *(table.make(books, about_books) for table in _OF_ALL_BOOKS),
        book_tables.distribution(realism or {}).make(told, about_books),
        *book_chapters.positions_figures(told),
        *book_chapters.path_figures(told, entity),
    ]
    if runs := runs_among(lines):
        found += [*inventions.hallucinations(lines), *([groups.grouped(runs, by)] if by else [])]
        found += [inventions.sources(lines, books), inventions.partial_verdicts(lines), inventions.dialogues(lines)]
        found += [inventions.harsh(runs), groups.seeds(runs)]
    places = {name: place for place, name in enumerate(_ORDER)}
    return sorted(_with_own_files(found), key=lambda one: places.get(one.name.partition(",")[0], len(places)))


def _with_own_files(made: Sequence[Made]) -> list[Made]:
    """Number exhibits whose names would make one file name, such as those of books `a b` and `a-b`."""
    names = [slug(one.name) for one in made]
    numbers = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [replace(one, name=f"{one.name}, {n}") if n > 1 else one for one, n in zip(made, numbers, strict=True)]


def datasets_of(inputs: Inputs) -> list[str]:
    """The datasets that own runs say they are on, each once."""
    names = [str(read_run(run.folder).get("dataset", "")) for run in inputs.runs if run.source == "own"]
    return [name for name in dict.fromkeys(names) if name]


# The leaderboard of each book: own, released and reported runs (the paper's ranking, with floors and ceilings)

_HARSH = "harsh_simple_recall_score"
_RECALL = {"simple recall": "simple_recall_score", "chronological awareness": "chronological_awareness"}
COLUMNS = {**_RECALL, "latest": "latest", "all found": "all_matched"}
_SHOWN = {**COLUMNS, "harsh simple recall": _HARSH, "named per true item": "items_ratio"}
_NOTES = (
    "Floor: the highest of three answers that need no memory of any event: one that abstains always, which is right in bin 0 "
    "alone; one that names everything, which is every name of the book that was asked for, in answer to each question; and the "
    "same model's run without memory on this book. The paper's F1 does not count surplus items, so that naming everything has "
    "a high one; harsh F1 counts them, and has a floor of its own in the CSV.",
    "Ceiling: the same model's run with the whole book in its context, and 1 where there is none, or it is that run.",
)


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """A leaderboard for each dataset that a run is on, with the reported rows about a book of its name."""
    boards = []
    for name, runs in by_board(inputs.runs, lambda run: (run.book, run.fingerprint)).items():
        judges = judge_names({str(run.folder): run.scores for run in runs})
        published = any(run.source != "own" for run in runs)  # with which own runs share the book
        standings = [standing(run, judges[str(run.folder)], published) for run in runs]
        notes = [*naming_notes({run.label: run.scores for run in runs})]
        notes += [DIFFERENT_JUDGES] if len(set(judges.values())) > 1 else []
        boards.append(board(name, runs[0].book, standings, inputs.reported, notes))
    return boards


def board(
    name: str, book: str, standings: Sequence[Standing], reported: Sequence[ReportedRow], notes: Sequence[str] = ()
) -> Exhibit:
    """The leaderboard of a dataset named like `book`: its `standings`, what is `reported` about it, and what it `notes`."""
    theirs = [row for row in reported if row.dataset == book and "simple_recall_score" in row.scores]
    another = theirs and any(row.about == _THIS for row in standings)
    rows = bounded([*standings, *map(_of_reported, theirs)], ["in-context"])
    about = [*_NOTES, *([_OTHER_BOOK] if another else []), *notes]
    return leaderboard(name, f"Simple recall and chronological awareness on {book}", rows, _SHOWN, about)


_OTHER_BOOK = (
    "Reported rows are about the published book of this name, which has other events and another text; other judges read the "
    "answers."
)
_PUBLISHED, _THIS = "the published book", "this book"


def standing(run: Line, judge: str, published: bool = False) -> Standing:
    """The row of a run whose judge is called `judge`; about a `published` book it stands beside reported rows."""
    scores = run.scores
    lost, intervals, judged = scores["incomplete"], scores["intervals"], judge_in_words(scores.get("judge"), judge)
    return Standing(
        *(run.label, run.source, str(run.folder), name_of(run.model), run.memory, judged),
        {name: score_of(scores.get(name), intervals.get(name), lost.get(name)) for name in _SHOWN.values()},
        _floors(scores["n_by_bin"], run.questions),
        about=_PUBLISHED if published else _THIS,
        n_asked=run.questions["id"].nunique() if "id" in run.questions else None,
        baseline=run.memory,
        alike=dict.fromkeys(_SHOWN.values(), (run.model, run.source)),
    )


def _of_reported(row: ReportedRow) -> Standing:
    # The short books have no cue with six or more chapters, and so one bin less.
    bins = BINS[:-1] if "short" in row.dataset else BINS
    return reported_standing(row, _floors(bins), "the paper's, without a passport", _PUBLISHED)


def _floors(bins: Collection[str], questions: pd.DataFrame | None = None) -> dict[str, float]:
    """The higher score of two that need no memory: to abstain always, which is right in bin 0, or to name everything."""
    named, recall = naming_everything(bins, questions), 1 / len(bins) if "0" in bins else 0.0
    abstaining = dict.fromkeys(COLUMNS.values(), 0.0) | dict.fromkeys(("simple_recall_score", _HARSH), recall)
    return {name: max(score, named.get(name, 0.0)) for name, score in abstaining.items()}


def naming_everything(bins: Collection[str], questions: pd.DataFrame | None = None) -> dict[str, float]:
    """The scores of the baseline `everything` of `epbench.tulving.reader.lexical`, which never gives a full account.

    Without questions, as of a reported row, it is right in all `bins` of get = all but 0, and has no harsh F1.
    """
    if questions is None or questions.empty:
        recall = sum(bin_ != "0" for bin_ in bins) / len(bins) if bins else 0.0
        return {"simple_recall_score": recall, "latest": 1.0, "all_matched": 1.0, "chronological_awareness": 0.5}
    columns = ["id", "trace", "get", "bin", "n_chapters", "reference"]
    asked: list[Any] = questions[columns].drop_duplicates("id").to_dict("records")
    names, answers = names_by_trace(asked, "reference"), []
    for question in asked:
        about = question["id"], question["get"], question["bin"], int(question["n_chapters"])
        true, is_there, named = list(question["reference"]), question["trace"] != ACCOUNT, names[question["trace"]]
        order = [name for name in named if is_there and name in true]
        scores = [float(is_there)] * len(true)
        answers.append(ScoredAnswer(*about, (), true, items=list(named), scores=scores, order=order))
    found = means_of(answers)
    return {name: value for name, value in found.items() if value is not None and name in (*COLUMNS.values(), _HARSH)}


def judge_in_words(judge: Mapping[str, Any] | None, name: str) -> str:
    """Who judged, and how well by the passport in scores.json, such as `lexical, sensitivity 0.92, specificity 0.92`."""
    if not judge:
        return name
    if not judge.get("passport"):
        same = f", which gave every true item {judge['one_score']['score']}" if "one_score" in judge else ""
        return f"{name}{same}, without a passport"
    said = f", {line}" if (line := people_line(judge)) else ""
    return f"{name}, sensitivity {judge['sensitivity']:.2f}, specificity {judge['specificity']:.2f}{said}"
