"""Tables 7 and 8: how the chapters were written, round by round, and what came out.

Table 7 counts the chapters accepted in each round and the checks that the others failed; Table 8 counts chapters by number of
paragraphs, by style and by number of secondary entities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count, takewhile

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table, cell
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.paper.books.book import (
    PaperBook,
    identity_of,
    originals,
    reported_identity,
    reported_notes,
    rows_of,
)

_TITLE_7 = "Accepted chapters by round, and the checks that candidates failed"
_TITLE_8 = "Chapters by number of paragraphs, by style and by number of secondary entities"
MOST_CHECKS = 3
"""The checks that Table 7 names in a round; its data has all of them."""

PROPERTIES = ("paragraphs", "style", "secondary entities")


def rounds_table(books: Sequence[PaperBook], reported: Sequence[ReportedRow] = ()) -> Exhibit | Missing:
    """Return Table 7, with a row for each round of each book that was written in rounds.

    A book that orders the chapters of another by date was not written again, and is left out.
    """
    told = originals(books)
    written = [book for book in told if book.rounds]
    unwritten: dict[str, list[str]] = {}
    for book in told:
        if not book.rounds:
            unwritten.setdefault(book.no_rounds, []).append(book.marked)
    reasons = [f"{', '.join(names)}: {why}" for why, names in unwritten.items()]
    if not written:
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return Missing("Table 7", _TITLE_7, f"a book that a model wrote, with its checks{why}")
    records: list[dict[str, Value]] = []
    rows: list[list[str]] = []
    sections = []
    for book in written:
        accepted, n_events = 0, book.rounds[0].candidates
        for number, one in enumerate(book.rounds):
            accepted += one.accepted
            counts = {"candidates": one.candidates, "failed_exact": one.failed_exact, "failed_model": one.failed_llm}
            about: dict[str, Value] = {**identity_of(book), "round": number, "n_events": n_events, **counts}
            about |= {"accepted": one.accepted, "accepted_so_far": accepted}
            checks: list[tuple[str | None, int]] = list(one.failed_checks.items())
            records += [about | {"check": check, "failed_check": n} for check, n in checks or [(None, 0)]]
            failed = _commonest(one.failed_checks)
            cells = [*map(str, counts.values()), f"{accepted} of {n_events}"]
            rows.append([book.marked, book.writer, str(number), failed, *cells])
        sections.append(len(rows) - 1)
    theirs = rows_of("Table 7", reported, [f"0.{column}" for column in _COUNTS])
    for row in theirs:
        for record in _reported_rounds(row):
            records.append(record)
            counts_shown = [cell(record[column]) for column in _COUNTS[:3]]
            so_far = f"{cell(record['accepted_so_far'])} of {record['n_events']}"
            rows.append([marked(row.dataset, "reported"), row.model, str(record["round"]), "–", *counts_shown, so_far])
        sections.append(len(rows) - 1)
    head = ["book", "writer", "round", "failed checks", "candidates", "failed exact", "failed model", "accepted so far"]
    notes = [
        "In each round there is one candidate for every event without a chapter. The model's check (names with llm_) is "
        "made only of candidates that pass the exact checks. A candidate may fail several checks; the commonest ones are named.",
        *(f"Without rounds: {reason}." for reason in reasons),
        *reported_notes(theirs),
    ]
    table = Table(head, rows, notes=notes, text_columns=4, sections=sections[:-1])
    return Exhibit("Table 7", _TITLE_7, records, table)


def _commonest(checks: Mapping[str, int]) -> str:
    """The checks that failed most often, with their numbers: `has_date 8, has_content 3, …`."""
    counted = Counter(checks).most_common()
    shown = [f"{check} {n}" for check, n in counted[:MOST_CHECKS]]
    return ", ".join([*shown, *(["…"] if len(counted) > MOST_CHECKS else [])]) or "–"


_COUNTS = ("candidates", "failed_exact", "failed_model", "accepted_so_far")


def _reported_rounds(row: ReportedRow) -> list[dict[str, Value]]:
    """The rounds that the paper reports, which says nothing of single checks."""
    records: list[dict[str, Value]] = []
    before: float | None = 0
    for number in takewhile(lambda number: f"{number}.candidates" in row.scores, count()):
        candidates, exact, model, so_far = (row.scores.get(f"{number}.{column}") for column in _COUNTS)
        accepted = None if so_far is None or before is None else so_far - before
        about: dict[str, Value] = {"round": number, "n_events": row.scores["0.candidates"], "candidates": candidates}
        about |= {"failed_exact": exact, "failed_model": model, "accepted": accepted, "accepted_so_far": so_far}
        records.append({**reported_identity(row), **about, "check": None, "failed_check": None})
        before = so_far
    return records


def composition_table(books: Sequence[PaperBook], reported: Sequence[ReportedRow] = ()) -> Exhibit | Missing:
    """Return Table 8, with a column for each book; one that orders another's chapters by date is left out."""
    books = originals(books)
    if not books:
        return Missing("Table 8", _TITLE_8, "books")
    theirs = [row for row in reported if row.table == "Table 8" and any(map(_counted, row.scores))]
    about = [*map(identity_of, books), *map(reported_identity, theirs)]
    counts = [*(counts_of(book.chapters) for book in books), *map(_reported_counts, theirs)]
    records: list[dict[str, Value]] = []
    rows: list[list[str]] = []
    sections = []
    for what in PROPERTIES:
        values = sorted({value for of in counts for value in of[what]}, key=lambda value: (len(value), value))
        values = sorted(values) if what == "style" else values
        for value in values:
            rows.append([what, value, *(str(of[what][value]) for of in counts)])
        sections.append(len(rows) - 1)
        records += [
            {**identity, "property": what, "value": value, "chapters": of[what][value]}
            for identity, of in zip(about, counts, strict=True)
            for value in values
        ]
    rows.append(["all", "", *(str(of["paragraphs"].total()) for of in counts)])
    notes = ["A secondary entity is a side character with a full name that occurs in one chapter only."]
    names = [*(book.marked for book in books), *(marked(row.dataset, "reported") for row in theirs)]
    head, notes = ["property", "value", *names], [*notes, *reported_notes(theirs)]
    return Exhibit("Table 8", _TITLE_8, records, Table(head, rows, notes=notes, text_columns=2, sections=sections))


def counts_of(chapters: Sequence[Chapter]) -> dict[str, Counter[str]]:
    """Return the number of chapters by property and value, the values as texts."""
    return {
        "paragraphs": Counter(str(chapter.n_paragraphs) for chapter in chapters),
        "style": Counter(chapter.style for chapter in chapters),
        "secondary entities": Counter(str(len(chapter.secondary)) for chapter in chapters),
    }


def _reported_counts(row: ReportedRow) -> dict[str, Counter[str]]:
    """The counts of a row of the paper, whose scores are named `style.comedy` and the like."""
    counts: dict[str, Counter[str]] = {what: Counter() for what in PROPERTIES}
    for name, n in row.scores.items():
        if _counted(name):
            what, _, value = name.partition(".")
            counts[what][value] = int(n)
    return counts


def _counted(name: str) -> bool:
    """Whether a score of the paper is a number of chapters."""
    return name.partition(".")[0] in PROPERTIES
