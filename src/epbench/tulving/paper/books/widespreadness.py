"""Table 12: how the selected questions are spread over cues and bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table, cell
from epbench.tulving.paper.books.book import (
    Asked,
    PaperBook,
    identity_of,
    originals,
    reported_identity,
    reported_notes,
    rows_of,
)
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUE_LETTERS, TEMPLATES_BY_CUE

_TITLE = "Selected questions by cue and by number of matching chapters"
CUES = ("t", "s", "e", "c", "tc", "sc", "ec", "se", "sec", "ts", "te", "tse", "tsc", "tec", "tsec")
"""The cues in the order of the paper, which sums up the last six as others."""


def widespreadness_table(books: Sequence[PaperBook], reported: Sequence[ReportedRow] = ()) -> Exhibit | Missing:
    """Return Table 12: for each cue and bin, the number of selected questions of one template.

    As in the paper, a cell is the number of questions divided by that of the cue's templates. Where the templates of one
    cue have different numbers of questions, the smallest and the largest stand there.
    """
    books = originals(books)
    if not books:
        return Missing("Table 12", _TITLE, "books")
    records: list[dict[str, Value]] = []
    rows: list[list[str]] = []
    for book in books:
        for cue in CUES:
            cells = []
            for bin_ in BINS:
                numbers = questions_by_template(book.selected, cue, bin_)
                least, most = min(numbers), max(numbers)
                cells.append(str(least) if least == most else f"{least}–{most}")
                records.append(
                    {**identity_of(book), "cue": cue, "bin": bin_, "questions": sum(numbers), "templates": len(numbers)}
                    | {"least_of_a_template": least, "most_of_a_template": most}
                )
            rows.append([book.marked, written(cue), str(len(TEMPLATES_BY_CUE[cue])), *cells])
    cues = (*CUES[:9], "others")
    theirs = rows_of("Table 12", reported, [f"{cue}.{bin_}" for cue in cues for bin_ in BINS])
    for row in theirs:
        for cue in cues:
            counts = [row.scores.get(f"{cue}.{bin_}") for bin_ in BINS]
            records += [
                {**reported_identity(row), "cue": cue, "bin": bin_, "questions": None, "templates": None}
                | {"least_of_a_template": n, "most_of_a_template": n}
                for bin_, n in zip(BINS, counts, strict=True)
            ]
            shown = cue if cue == "others" else written(cue)
            rows.append([marked(row.dataset, "reported"), shown, "–", *map(cell, counts)])
    notes = [
        "A cell is the number of selected questions of each template with this cue, by the number of chapters that match; "
        "at most five are selected. Times the number of templates it is the number of questions.",
        "Cues with date and space, or with date and entity, match one chapter at most: no two events share these. "
        "The paper sums them up as others.",
        *reported_notes(theirs),
    ]
    sections = list(range(len(CUES) - 1, len(CUES) * len(books), len(CUES)))
    table = Table(["book", "cue", "templates", *BINS], rows, notes=notes, text_columns=2, sections=sections)
    return Exhibit("Table 12", _TITLE, records, table)


def questions_by_template(selected: Sequence[Asked], cue: str, bin_: str) -> list[int]:
    """Return how many selected questions each template of a cue has in a bin, in the order of the templates."""
    counts = Counter(question.template for question in selected if (question.cue, question.bin) == (cue, bin_))
    return [counts[template.id] for template in TEMPLATES_BY_CUE[cue]]


def written(cue: str) -> str:
    """A cue as the paper writes it: `(t, *, e, *)`."""
    return f"({', '.join(letter if letter in cue else '*' for letter in CUE_LETTERS)})"
