"""Re-score the runs of a published archive from the replies of its own judge.

Nothing is asked or judged again: items, matching scores and orders are those in the archive. The numbers that the
reference code prints come with our scores, so that both can be compared with the paper. A run is scored completely or not
at all: if one of its files or its book is damaged, it is listed with the reason, and its earlier scores are removed.

Answer q of a run belongs to row q of the book's questions (`df_qa.parquet`), with one exception. The authors asked only
35 of the questions about the book of a million tokens, chosen by hand: 21 with get = all (3 from each of the bins 0, 1, 2
and 3-5, and 9 from 6+), 7 chronological and 7 latest. The choice is a list of row numbers in the authors' code, and is
not in the archive; it is repeated here. Since it could belong to another release, it is only believed if the archive's
own judge, who names the true items of every question that it judged, names those of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import Any

from epbench.errors import BadInput
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal, read_journal
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, PastJudge
from epbench.progress import Progress
from epbench.runs.benchmark import Check, check_records
from epbench.runs.folder import note_judge, open_run, read_run
from epbench.runs.results import QUESTIONS, RESULTS
from epbench.tulving.dataset.load import fingerprint_of_book
from epbench.tulving.judging.own_answers import check_length
from epbench.tulving.judging.verdicts import ScoredAnswer, judged
from epbench.tulving.questions.generate import Question
from epbench.tulving.released.archive import Archive, Files, ReleasedBook, open_archive
from epbench.tulving.released.books import read_book, read_questions
from epbench.tulving.released.verdicts import PublishedVerdict, read_published_verdict, reference_numbers
from epbench.tulving.scores.inventions import Chapters
from epbench.tulving.scores.results import finish


@dataclass(frozen=True)
class PublishedRun:
    """One run of an archive."""

    book: ReleasedBook  # the book that was asked about
    path: str  # the path of the run's folder in the archive
    label: str  # the name of the run in tables
    # The relative path of its results: `<book>/<run>` as named in the archive, preceded by the experiment's name if
    # several experiments have a book of that name
    folder: Path


@dataclass(frozen=True)
class PublishedAnswers:
    """The content of a run, question by question in the order of the run."""

    rows: list[dict[str, Any]]  # the questions as rows of the dataset
    answers: list[str]  # the answers, as the reader gave them
    verdicts: list[PublishedVerdict]  # the verdicts of the archive's own judge; their scores are not clipped
    notes: list[str]  # what a reader of the scores must know, in full sentences

    def judged(self) -> list[ScoredAnswer]:
        """The rows with the published verdicts; the scores are not clipped."""
        return [judged(row, verdict.record()) for row, verdict in zip(self.rows, self.verdicts, strict=True)]


@dataclass(frozen=True)
class Rescored:
    """The scores of the runs of an archive, and what could not be scored."""

    scores: dict[str, dict[str, Any]]  # the scores by the label of the run
    notes: dict[str, list[str]]  # what a reader of the scores must know, by the label of the run, if there is anything
    not_scored: dict[str, str]  # why a run is not scored, by its label
    no_runs: dict[str, list[str]]  # folders of answers that are not runs: the names of their files and folders, by path

    @property
    def lines(self) -> list[str]:
        """What there is to say beside the scores, and how many runs have some."""
        lines = [f"note on {label}: {note}" for label, notes in self.notes.items() for note in notes]
        lines += [
            f"no run: {path} holds no raw_answers, only {', '.join(names)}" for path, names in self.no_runs.items()
        ]
        lines += [f"not scored: {label}: {reason}" for label, reason in self.not_scored.items()]
        return [*lines, f"{len(self.scores)} runs scored, {len(self.not_scored)} not scored"]


def published_runs(archive: Archive) -> list[PublishedRun]:
    """Return all runs of the archive; BadInput if it has none."""
    located = _located(archive, are_runs=True)
    if not located:
        raise BadInput(f"{archive.files.source}: found no published run, expected folders answers/<book>/answered_by_…")
    return located


def _located(archive: Archive, *, are_runs: bool) -> list[PublishedRun]:
    """The folders of answers with their labels and the folders of their results, all of them unique."""
    names = Counter(book.folder for book in archive.books)
    experiments = Counter((_experiment(book), book.folder) for book in archive.books)
    located: dict[str, PublishedRun] = {}
    for book in archive.books:
        above = _experiment(book) if experiments[_experiment(book), book.folder] == 1 else book.root
        folders = archive.answers.get((book.root, book.folder), {})
        for path in sorted(path for path, is_run in folders.items() if is_run == are_runs):
            name = path.rsplit("/", 1)[1]
            folder = Path(above if names[book.folder] > 1 else "") / book.folder / name
            labels = (f"{book.name}, {_short(name)}", f"{book.name} by {book.generator}, {_short(name)}", path)
            label = next(label for label in labels if label not in located)
            located[label] = PublishedRun(book, path, label, folder)
    return list(located.values())


def _experiment(book: ReleasedBook) -> str:
    return book.root.rsplit("/", 1)[-1]


def _short(run: str) -> str:
    return run.removeprefix("answered_by_kind_").replace("_model_", " ")


def read_published_run(files: Files, run: PublishedRun) -> PublishedAnswers:
    """Read the questions, answers and verdicts of one run; BadInput if a file is faulty, or what was asked is unknown."""
    _, published = read_questions(files, run.book)
    questions = asked_questions(files, run.path, run.book, published)
    answers = [files.json(f"{run.path}/raw_answers/{number}.json", str) for number in range(len(questions))]
    for number, answer in enumerate(answers):
        check_length(files.where(f"{run.path}/raw_answers/{number}.json"), answer)
    verdicts = [read_published_verdict(files, run.path, number, q) for number, q in enumerate(questions)]
    notes = []
    if len(questions) < len(published):
        check_subset(files, run.path, questions, verdicts)
        notes.append(f"It was asked {len(questions)} of the {len(published)} questions of its book.")
    if n := sum(verdict.n_by_position for verdict in verdicts):
        n_true = sum(len(set(question.answer)) for question in questions)
        notes.append(
            f"Scores of {n} of the {n_true} true items are taken by position: the judge's names for them are those of no "
            "true item."
        )
    return PublishedAnswers([question._asdict() for question in questions], answers, verdicts, notes)


def score_published_runs(archive: Archive, out: Path, progress: Progress) -> Rescored:
    """Score every run of the archive into `out/<book>/<run>/`; an incomplete run is listed, but not scored.

    BadInput if the archive has no run, or a folder below `out` holds another run or is in use.
    """
    runs, others = published_runs(archive), _located(archive, are_runs=False)
    content_of = {run.path: {path.split("/", 1)[0] for path in archive.files.below(run.path)} for run in others}
    result = Rescored({}, {}, {}, {path: sorted(names) for path, names in content_of.items()})
    for run in others:
        _forget_scores(run, out / run.folder)
    of_book = cache(lambda book: _of_book(archive, book))
    for run in progress(runs, "published runs", len(runs)):
        try:
            content, book = read_published_run(archive.files, run), of_book(run.book)
        except BadInput as error:
            result.not_scored[run.label] = str(error)
            _forget_scores(run, out / run.folder)
            continue
        result.scores[run.label] = score_run(run, content, out / run.folder, *book)
        if content.notes:
            result.notes[run.label] = content.notes
    return result


def _of_book(archive: Archive, book: ReleasedBook) -> tuple[str, Chapters]:
    """The fingerprint of the dataset made from a book, as our own runs on it have it, and the book's chapters."""
    data = read_book(archive, book)
    fingerprint = fingerprint_of_book([question._asdict() for question in data.selected], data.book())
    return fingerprint, [(chapter.number, chapter.text) for chapter in data.chapters]


def _identity(run: PublishedRun) -> dict[str, str]:
    return {"benchmark": "tulving", "released": run.book.folder, "run": run.path}


def _forget_scores(run: PublishedRun, out: Path) -> None:
    """Remove the scores of an earlier call for a run that cannot be scored now; its journals stay."""
    if not (out / "run.json").exists():
        return
    with open_run(out, _identity(run), {}) as folder:
        for name in (*RESULTS, QUESTIONS):
            (folder / name).unlink(missing_ok=True)


def score_run(
    run: PublishedRun, content: PublishedAnswers, out: Path, fingerprint: str, chapters: Chapters
) -> dict[str, Any]:
    book = run.book
    with open_run(out, _identity(run), {"book": book.name}) as folder:
        if len(read_journal(folder / ANSWERS)) > len(content.rows):
            (folder / ANSWERS).unlink()  # of an earlier archive, in which the run was asked more
        answers, verdicts = Journal(folder / ANSWERS), Journal(folder / JUDGEMENTS)
        judged_answers = zip(content.rows, content.answers, content.verdicts, strict=True)
        for number, (row, answer, verdict) in enumerate(judged_answers):
            _add(answers, str(number), {"id": row["id"], "repeat": 0, "answer": answer})
            _add(verdicts, str(number), {"id": row["id"], "judge": book.generator, **verdict.record()})
        answers.close()
        verdicts.close()
        rows = content.judged()
        more = {
            "reference": reference_numbers(rows, [verdict.indexes for verdict in content.verdicts]),
            "judge": {"name": book.generator, "prompt_hash": None, "passport": None},
            "notes": content.notes,
        }
        judge = PastJudge(book.generator, PUBLISHED)
        scores = finish(folder, content.rows, judge, run.label, more=more, chapters=chapters)
        note_judge(folder, judge, fingerprint=fingerprint)
        return scores


def _add(journal: Journal, key: str, values: dict[str, Any]) -> None:
    """Journal a record unless the journal has it already; it supersedes one from an earlier archive."""
    if journal.records.get(key) != {"key": key, **values}:
        journal.add(key, **values)


def clipped(row: ScoredAnswer) -> ScoredAnswer:
    """The same answer with its scores clipped to [0, 1]."""
    return replace(row, scores=[min(1.0, max(0.0, score)) for score in row.scores])


MILLION_TOKENS_ROWS = (
    612, 569, 314, 0, 118, 433, 459, 510, 341, 619, 247, 19, 135, 140, 524, 470, 301, 414, 293, 304, 139,
    254, 270, 283, 133, 158, 134, 159, 265, 278, 289, 148, 153, 149, 154,
)  # fmt: skip


def asked_questions(files: Files, run: str, book: ReleasedBook, published: Sequence[Question]) -> list[Question]:
    """Return the questions of a run in the order of its answers, of those published; BadInput if an answer is missing."""
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
    """Refuse a run on some questions if for over half of the answerable ones the judge names none of their true items."""
    answered = [(q, verdict) for q, verdict in zip(questions, verdicts, strict=True) if q.answer]
    foreign = sum(verdict.n_by_position == len(set(question.answer)) for question, verdict in answered)
    if 2 * foreign > len(answered):
        raise BadInput(
            f"{files.where(run)}: found {len(questions)} answers, fewer than the book has questions, but for {foreign} of "
            f"{len(answered)} answers the true items that the judge names do not belong to the question that the authors "
            "chose; it is unknown which questions were asked"
        )


def score_again(archive: Path, folder: Path, scratch: Path) -> list[Check]:
    """Check a folder's answers and verdicts against its archive, whose run is scored into a new scratch folder.

    BadInput if the archive has no such run.
    """
    opened, identity = open_archive(archive), read_run(folder)["identity"]
    for run in published_runs(opened):
        if (run.book.folder, run.path) == (identity["released"], identity["run"]):
            scratch.mkdir()
            copyfile(folder / "run.json", scratch / "run.json")  # its command is part of the page
            score_run(run, read_published_run(opened.files, run), scratch, *_of_book(opened, run.book))
            return [check_records(folder, scratch, name, "the archive") for name in (ANSWERS, JUDGEMENTS)]
    raise BadInput(f"{archive}: expected the published run {identity['run']}, found no such run")
