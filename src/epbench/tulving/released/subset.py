"""Which questions the answers of a published run belong to.

Answer q belongs to row q of the book's questions (`df_qa.parquet`), with one exception. Of the questions about the
book of a million tokens the authors asked 35 only, chosen by hand: 21 with get = all (3 of each of the bins 0, 1, 2
and 3-5, and 9 of 6+), 7 chronological and 7 latest. Their answers are numbered 0 to 34 in the order of that choice,
which is not the order of the rows. The choice is a list of row numbers in the code that asked them, and stands
nowhere in the archive; it is repeated here.

A list that is not in the archive could be of another release. So it is believed only if the archive's own judge
bears it out: it names the true items of every question that it judged, and those names must be those of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from epbench.errors import BadInput
from epbench.tulving.questions.generate import Question
from epbench.tulving.released.books import ReleasedBook
from epbench.tulving.released.files import Files
from epbench.tulving.released.verdicts import PublishedVerdict

MILLION_TOKENS_ROWS = (
    612, 569, 314, 0, 118, 433, 459, 510, 341, 619, 247, 19, 135, 140, 524, 470, 301, 414, 293, 304, 139,
    254, 270, 283, 133, 158, 134, 159, 265, 278, 289, 148, 153, 149, 154,
)  # fmt: skip


def asked_questions(files: Files, run: str, book: ReleasedBook, published: Sequence[Question]) -> list[Question]:
    """The questions of a run in the order of its answers.

    Args:
        files: of the archive.
        run: path of the run's folder.
        book: that was asked about.
        published: all its questions, in the published order.

    Raises:
        BadInput: the run does not hold as many answers as there are questions.
    """
    n = sum(PurePosixPath(path).suffix == ".json" for path in files.below(f"{run}/raw_answers"))
    rows: Sequence[int] = range(len(published))
    if book.book == "very-long" and n <= len(MILLION_TOKENS_ROWS) and max(MILLION_TOKENS_ROWS) < len(published):
        rows = MILLION_TOKENS_ROWS
    for number in range(len(rows)):
        path = f"{run}/raw_answers/{number}.json"
        if path not in files:
            raise BadInput(f"{files.where(path)}: the file is missing; the run holds {n} answers, {len(rows)} expected")
    return [published[row] for row in rows]


def check_subset(files: Files, run: str, questions: Sequence[Question], verdicts: Sequence[PublishedVerdict]) -> None:
    """Refuse answers to a part of the questions unless the judge's names of the true items are those of that part.

    Raises:
        BadInput: of more than half of the questions with an answer, not one true item is named.
    """
    answered = [(q, verdict) for q, verdict in zip(questions, verdicts, strict=True) if q.answer]
    foreign = sum(verdict.n_by_position == len(set(question.answer)) for question, verdict in answered)
    if 2 * foreign > len(answered):
        raise BadInput(
            f"{files.where(run)}: {len(questions)} answers to a part of the questions found, but the true items that "
            f"its judge names in {foreign} of {len(answered)} of them are those of other questions than were asked about "
            "the book of a million tokens; nothing says which they are"
        )
