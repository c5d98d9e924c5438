"""Which questions the answers of a published run belong to.

Answer q belongs to row q of the book's questions (`df_qa.parquet`), with one exception. The authors asked only 35 of
the questions about the book of a million tokens, chosen by hand: 21 with get = all (3 from each of the bins 0, 1, 2
and 3-5, and 9 from 6+), 7 chronological and 7 latest. Their answers are numbered 0 to 34 in the order of that choice,
which is not the order of the rows. The choice is a list of row numbers in the authors' code, and is not in the
archive; it is repeated here.

Since the list does not come with the archive, it could belong to another release. So it is only believed if the
archive's own judge confirms it: the judge names the true items of every question that it judged, and these names must
be those of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from epbench.errors import BadInput
from epbench.tulving.questions.generate import Question
from epbench.tulving.released.archive import ReleasedBook
from epbench.tulving.released.files import Files
from epbench.tulving.released.verdicts import PublishedVerdict

MILLION_TOKENS_ROWS = (
    612, 569, 314, 0, 118, 433, 459, 510, 341, 619, 247, 19, 135, 140, 524, 470, 301, 414, 293, 304, 139,
    254, 270, 283, 133, 158, 134, 159, 265, 278, 289, 148, 153, 149, 154,
)  # fmt: skip


def asked_questions(files: Files, run: str, book: ReleasedBook, published: Sequence[Question]) -> list[Question]:
    """Return the questions of a run in the order of its answers.

    Args:
        files: The files of the archive.
        run: The path of the run's folder.
        book: The book that was asked about.
        published: All questions about the book, in the published order.

    Raises:
        BadInput: The run does not have an answer for every question.
    """
    n = sum(PurePosixPath(path).suffix == ".json" for path in files.below(f"{run}/raw_answers"))
    rows: Sequence[int] = range(len(published))
    if book.book == "very-long" and n <= len(MILLION_TOKENS_ROWS) and max(MILLION_TOKENS_ROWS) < len(published):
        rows = MILLION_TOKENS_ROWS
    for number in range(len(rows)):
        path = f"{run}/raw_answers/{number}.json"
        if path not in files:
            raise BadInput(
                f"{files.where(path)}: the file is missing; expected {len(rows)} answers in the run, found {n}"
            )
    return [published[row] for row in rows]


def check_subset(files: Files, run: str, questions: Sequence[Question], verdicts: Sequence[PublishedVerdict]) -> None:
    """Refuse a run on some of the questions unless the judge names the true items of just these questions.

    Raises:
        BadInput: For more than half of the answerable questions, the judge names none of the true items.
    """
    answered = [(q, verdict) for q, verdict in zip(questions, verdicts, strict=True) if q.answer]
    foreign = sum(verdict.n_by_position == len(set(question.answer)) for question, verdict in answered)
    if 2 * foreign > len(answered):
        raise BadInput(
            f"{files.where(run)}: found {len(questions)} answers, fewer than the book has questions, but for {foreign} of "
            f"{len(answered)} answers the true items that the judge names do not belong to the question that the authors "
            "chose; it is unknown which questions were asked"
        )
