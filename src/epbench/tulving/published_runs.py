"""Re-score the runs of a published archive from the replies of its own judge.

Nothing is asked or judged anew: items, matching scores and orders are those in the archive. Beside our scores stand
the numbers as the reference code prints them, so that both can be held against the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.metric_folders import metric_module
from epbench.runs.asking import ANSWERS, Progress
from epbench.runs.folder import open_run
from epbench.runs.journal import Journal
from epbench.tulving.archive import Files
from epbench.tulving.evaluation import JUDGEMENTS, finish, judged
from epbench.tulving.questions import BINS, Question
from epbench.tulving.released import Archive, ReleasedBook, load_chapters, published_questions
from epbench.tulving.scoring import Judged, has_order, is_latest

Scores = dict[str, Any]


def score_published_runs(archive: Archive, out: Path, progress: Progress) -> dict[str, Scores]:
    """Score every run of the archive into `out/<book>/<run>/`, both named as in the archive.

    Where two experiments have books of one name, their folders stand under the experiment's name.

    Returns:
        Scores by `<book> <run>`.

    Raises:
        BadInput: no run in the archive, or a missing, truncated or foreign file.
    """
    runs = [(book, path) for book in archive.books for path in archive.runs.get(f"{book.root}/{book.folder}", ())]
    if not runs:
        raise BadInput(f"{archive.files.source}: no published run in it (answers/<book>/answered_by_… are expected)")
    experiments = Counter(book.folder for book in archive.books)
    scores = {}
    for book, path in progress(runs, "published runs", len(runs)):
        name = path.rsplit("/", 1)[1]
        folder = out / book.root.rsplit("/", 1)[-1] if experiments[book.folder] > 1 else out
        label = f"{book.name}, {_short(name)}"
        if label in scores:
            label = f"{book.name} by {book.generator}, {_short(name)}"
        scores[label] = _score_run(archive.files, book, path, folder / book.folder / name, label)
    return scores


def _short(run: str) -> str:
    return run.removeprefix("answered_by_kind_").replace("_model_", " ")


def _score_run(files: Files, book: ReleasedBook, path: str, out: Path, label: str) -> Scores:
    questions = published_questions(files, book, load_chapters(files, book))
    rows = []
    with open_run(out, {"benchmark": "tulving", "released": book.folder, "run": path}, {"book": book.name}) as folder:
        answers, verdicts = Journal(folder / ANSWERS), Journal(folder / JUDGEMENTS)
        for number, question in questions:
            reply = files.json(f"{path}/raw_answers/{number}.json", str)
            verdict = _verdict(files, path, number, question)
            if not verdicts.done(str(number)):
                answers.add(str(number), id=question.id, repeat=0, answer=reply)
                verdicts.add(str(number), id=question.id, judge=book.generator, **verdict)
            rows.append(judged(question._asdict(), verdicts.records[str(number)]))
        answers.close()
        verdicts.close()
        clipped = [replace(row, scores=[min(1.0, max(0.0, score)) for score in row.scores]) for row in rows]
        return finish(folder, clipped, 0, label, {"reference": reference_numbers(rows)})


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
