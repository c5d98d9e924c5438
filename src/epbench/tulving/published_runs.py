"""Re-score the runs of a published archive from the replies of its own judge.

Nothing is asked or judged anew: items, matching scores and orders are those in the archive. Beside our scores stand
the numbers as the reference code prints them, so that both can be held against the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.metric_folders import metric_module
from epbench.runs.asking import ANSWERS, Progress
from epbench.runs.folder import open_run
from epbench.runs.journal import Journal
from epbench.tulving.archive import Files
from epbench.tulving.evaluation import JUDGEMENTS, finish, judged
from epbench.tulving.judge import PastJudge
from epbench.tulving.judging import PUBLISHED, note_judge
from epbench.tulving.questions import BINS, Question
from epbench.tulving.released import Archive, ReleasedBook, load_chapters, published_questions
from epbench.tulving.scoring import Judged, has_order, is_latest

Scores = dict[str, Any]


@dataclass(frozen=True)
class PublishedRun:
    """One run of an archive.

    Attributes:
        book: that was asked about.
        path: of its folder in the archive.
        label: its name in tables.
        folder: where its results go, `<book>/<run>` as named in the archive, below the experiment's name where two
            experiments have books of one name.
    """

    book: ReleasedBook
    path: str
    label: str
    folder: Path


@dataclass(frozen=True)
class PublishedAnswers:
    """The content of a run, question by question in the published order.

    Attributes:
        rows: the questions as rows of the dataset.
        answers: as the reader gave them.
        verdicts: of the archive's own judge, in the shape of our journal; scores as published, not clipped.
    """

    rows: list[dict[str, Any]]
    answers: list[str]
    verdicts: list[dict[str, Any]]

    def judged(self) -> list[Judged]:
        """The rows with the published verdicts, scores as published."""
        return [judged(row, verdict) for row, verdict in zip(self.rows, self.verdicts, strict=True)]


def published_runs(archive: Archive) -> list[PublishedRun]:
    """All runs of the archive.

    Raises:
        BadInput: there is none.
    """
    runs = [(book, path) for book in archive.books for path in archive.runs.get(f"{book.root}/{book.folder}", ())]
    if not runs:
        raise BadInput(f"{archive.files.source}: no published run in it (answers/<book>/answered_by_… are expected)")
    experiments = Counter(book.folder for book in archive.books)
    found: dict[str, PublishedRun] = {}
    for book, path in runs:
        name = path.rsplit("/", 1)[1]
        above = Path(book.root.rsplit("/", 1)[-1]) if experiments[book.folder] > 1 else Path()
        label = f"{book.name}, {_short(name)}"
        if label in found:
            label = f"{book.name} by {book.generator}, {_short(name)}"
        found[label] = PublishedRun(book, path, label, above / book.folder / name)
    return list(found.values())


def _short(run: str) -> str:
    return run.removeprefix("answered_by_kind_").replace("_model_", " ")


def read_published_run(files: Files, run: PublishedRun) -> PublishedAnswers:
    """Questions, answers and verdicts of one run.

    Raises:
        BadInput: a missing, truncated or foreign file.
    """
    content = PublishedAnswers([], [], [])
    for number, question in published_questions(files, run.book, load_chapters(files, run.book)):
        content.rows.append(question._asdict())
        content.answers.append(files.json(f"{run.path}/raw_answers/{number}.json", str))
        content.verdicts.append(_verdict(files, run.path, number, question))
    return content


def score_published_runs(archive: Archive, out: Path, progress: Progress) -> dict[str, Scores]:
    """Score every run of the archive into `out/<book>/<run>/`.

    Returns:
        Scores by the label of the run.

    Raises:
        BadInput: no run in the archive, or a missing, truncated or foreign file.
    """
    runs = published_runs(archive)
    return {
        run.label: _score_run(archive.files, run, out / run.folder)
        for run in progress(runs, "published runs", len(runs))
    }


def _score_run(files: Files, run: PublishedRun, out: Path) -> Scores:
    content, book = read_published_run(files, run), run.book
    with open_run(
        out, {"benchmark": "tulving", "released": book.folder, "run": run.path}, {"book": book.name}
    ) as folder:
        answers, verdicts = Journal(folder / ANSWERS), Journal(folder / JUDGEMENTS)
        for number, row in enumerate(content.rows):
            if not verdicts.done(str(number)):
                answers.add(str(number), id=row["id"], repeat=0, answer=content.answers[number])
                verdicts.add(str(number), id=row["id"], judge=book.generator, **content.verdicts[number])
        answers.close()
        verdicts.close()
        rows = content.judged()
        note_judge(folder, PastJudge(book.generator, PUBLISHED))
        published = {"name": book.generator, "prompt_hash": None, "passport": None}
        more = {"reference": reference_numbers(rows), "judge": published}
        return finish(folder, [clipped(row) for row in rows], 0, run.label, more)


def clipped(row: Judged) -> Judged:
    """With scores in [0, 1], whatever the published judge gave."""
    return replace(row, scores=[min(1.0, max(0.0, score)) for score in row.scores])


def _verdict(files: Files, path: str, number: int, question: Question) -> dict[str, Any]:
    """The published judge's reply on one answer, in the shape of our journal; repeats in the truth share a score."""
    where = f"{path}/evaluated_answers/{number}.json"
    evaluated = files.json(where, dict)
    try:
        items = [str(item) for item in evaluated["predicted_items"]]
        pairs = [pair for entry in evaluated["matching_groundtruth_items_score"] for pair in entry.items()]
        first = dict(reversed([(item, float(score)) for item, score in pairs]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{files.where(where)}: predicted_items and matching scores are expected ({error!r})") from None
    truth = list(dict.fromkeys(question.answer))
    if len(first) != len(truth):
        raise BadInput(f"{files.where(where)}: {len(first)} matching scores, {len(truth)} expected, one per true item")
    score_of = dict(zip(truth, dict.fromkeys(item for item, _ in pairs), strict=True))
    scores = [first[score_of[item]] for item in question.answer]
    order = _order(files, path, number, truth) if question.get == "chronological" else []
    return {"items": items, "scores": scores, "order": order, "reason": str(evaluated.get("explanation", ""))}


def _order(files: Files, path: str, number: int, truth: Sequence[str]) -> list[str]:
    """The true items in the order of the answer, from the published judge's second reply."""
    where = f"{path}/chronological_answers/{number}.json"
    reply = files.json(where, dict)
    indexes = reply.get("predicted_indexes")
    if not isinstance(indexes, list) or not all(isinstance(index, int) for index in indexes):
        raise BadInput(f"{files.where(where)}: predicted_indexes, a list of numbers, is expected")
    return [truth[index] for index in indexes if 0 <= index < len(truth)]


def reference_numbers(rows: Sequence[Judged]) -> dict[str, Any]:
    """The numbers as the reference code prints them: F1 not clipped, bin means rounded before they are averaged."""
    import numpy as np

    f1 = [_unclipped_f1(row) for row in rows]

    def bin_means(counted: Callable[[Judged], bool]) -> dict[str, tuple[float, int]]:
        values = {
            bin_: [v for row, v in zip(rows, f1, strict=True) if row.bin == bin_ and counted(row)] for bin_ in BINS
        }
        return {bin_: (float(np.round(np.mean(v), 2)), len(v)) for bin_, v in values.items() if v}

    recall = bin_means(lambda row: row.get == "all")
    latest_bins = bin_means(is_latest)
    latest = _rounded(np.average([m for m, _ in latest_bins.values()], weights=[n for _, n in latest_bins.values()]), 4)
    tau_of = metric_module("episodic_kendall_tau").tau_if_all_found
    taus = [tau_of(row.order, row.truth) for row in rows if has_order(row)]
    found = [tau for tau in taus if tau is not None]
    all_matched = _rounded(len(found) / len(taus), 4)
    tau = _rounded(np.mean(found), 2) if found else None
    return {
        "simple_recall": _rounded(np.mean([mean for mean, _ in recall.values()]), 3),
        "chronological_awareness": _rounded((latest + max(0.0, all_matched * (tau or 0.0))) / 2, 3),
        "latest": f"{_rounded(100 * latest, 2):g}%",
        "all": f"{_rounded(100 * all_matched, 2):g}%",
        "kendall_tau": tau,
    }


def _rounded(value: Any, digits: int) -> float:
    import numpy as np

    return float(np.round(value, digits))


def _unclipped_f1(row: Judged) -> float:
    """As the reference computes it: it removes repeats among the true items, but not among those of the answer."""
    first = dict(reversed(list(zip(row.truth, row.scores, strict=True))))
    f1: float = metric_module("episodic_f1").lenient_f1(len(row.items), len(first), sum(first.values()))[2]
    return f1
