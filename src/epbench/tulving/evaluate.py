"""The evaluation of a Tulving book, in the order of the paper: what a reader sees, its answers, the verdicts, the scores.

`prepare` loads the dataset and checks what can be checked before any weights are loaded; `run` does the rest, in the folder
of a run. Answers that somebody else's code gave take the same way from the verdicts on. `epbench.tulving.rejudge` has
another judge read the answers of an earlier run. Paper: Section 4.3 and Section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, RunFailed
from epbench.files.json_files import read_json
from epbench.hub.rows import Row, dataset_revision, subset
from epbench.journals.answers import ANSWERS, ask, retire_others
from epbench.journals.journal import read_journal
from epbench.judges.protocol import PEOPLE, identity_of, is_free
from epbench.judges.replies import failure_of
from epbench.memories.between import unrelated
from epbench.memories.protocol import SystemSpec
from epbench.models.estimate import check_window, estimate
from epbench.models.protocol import Model, Request, engine_of, variant_of
from epbench.progress import Progress, no_progress
from epbench.reports.comparison import after_tokens
from epbench.runs.folder import check_judge, is_finished, judge_of_scores, note_asked, note_judge, open_run, read_scores
from epbench.runs.usage import token_usage, usage_line
from epbench.tulving.calibration.passport import judge_scores
from epbench.tulving.context.requests import MEMORIES, Reading, note_passages, repeated, stand_in
from epbench.tulving.dataset.load import Loaded, load_book
from epbench.tulving.judging.own_answers import OwnAnswers, read_answers, record_own_answers
from epbench.tulving.judging.verdicts import CALLS, Judge, ask_judge, judge_failures, plan_in_advance
from epbench.tulving.reader import EVERYTHING, EverythingReader
from epbench.tulving.scores.inventions import CUE, Chapters
from epbench.tulving.scores.results import finish


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is run on one dataset: a reader is asked, or answers from elsewhere are scored.

    Attributes:
        dataset: A name on the Hub such as `epbench/short`, or the folder of a dataset.
        judge: Says which true items an answer contains.
        reading: What the reader is shown and asked; None if there are answers.
        model: The reader, likewise. The memory `everything` asks a reader of its own instead.
        base_url: The address of the reader's endpoint, if it is behind one.
        answers: A file of answers (see `read_answers`), to be scored instead of a reader's; None to ask the reader.
        limit: The number of questions, chosen at random; None for all.
        shard: Which part of the questions is run, as `i/n`; None for all.
    """

    dataset: str
    judge: Judge
    reading: Reading | None = None
    model: Model | None = None
    base_url: str | None = None
    answers: Path | None = None
    limit: int | None = None
    shard: str | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An evaluation of which everything was checked that takes no weights.

    Attributes:
        evaluation: What is to be run, with the reader that is asked.
        label: The name of the run in tables.
        data: The dataset.
        rows: The questions.
        system: The memory system that reads the book; None without one.
        requests: What the reader is asked, each question once; before a memory system has read the book, other passages
            stand for its memories.
        own: The answers that are scored instead of a reader's.
        warnings: What must be said before the run.
        judging: What judging costs at most, one line for each number.
    """

    evaluation: Evaluation
    label: str
    data: Loaded
    rows: Sequence[Row]
    system: SystemSpec | None = None
    requests: Sequence[Request] = ()
    own: OwnAnswers | None = None
    warnings: list[str]
    judging: list[str]

    @property
    def plan(self) -> list[str]:
        """What the run costs at most, one line for each number."""
        reading, model = self.evaluation.reading, self.evaluation.model
        if reading is None or model is None:
            return self.judging
        return [*estimate(self.requests, model, repeats=reading.repeats).lines(), *self.judging]

    @property
    def is_free(self) -> bool:
        """Whether neither the reader nor the judge costs anything."""
        model = self.evaluation.model
        return is_free(self.evaluation.judge) and (model is None or model.costs_nothing)


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation gave.

    Attributes:
        scores: The content of scores.json.
        label: The name of the run in tables.
        notes: What else there is to say of the run: what it took, what failed, and where its report is.
    """

    scores: dict[str, Any]
    label: str
    notes: Sequence[str]


def prepare(evaluation: Evaluation) -> Prepared:
    """Load a dataset, make what the reader sees, and check that it fits; nothing is asked, and nothing is written.

    BadInput if the dataset, the memory or the file of answers cannot be used, or a prompt does not fit the window of the reader
    or of the judge; the message has the needed and the available tokens.
    """
    data = load_book(evaluation.dataset)
    rows = subset(data.rows, itemgetter("id"), evaluation.limit, evaluation.shard)
    if evaluation.answers is not None:
        return _prepare_answers(evaluation, evaluation.answers, data, rows)
    reading, model = evaluation.reading, evaluation.model
    assert reading is not None and model is not None, "an evaluation needs a reader, or answers"
    if reading.memory == EVERYTHING:
        model = EverythingReader(data.rows)
    if reading.between:
        answers = {item for row in data.rows for item in (*row["answer"], *(row[name] or "" for name in CUE))}
        reading = replace(reading, unrelated=unrelated(reading.between, model, answers))
    # A memory system's memories are not known yet: passages stand for them.
    system = reading.system(data)
    once = replace(reading, repeats=1)
    requests = once.requests(data, rows, stand_in(system) if system else None)
    others: dict[str, Callable[[], Sequence[Request]]] = {
        name: partial(once.requests, data, rows, name) for name in MEMORIES if name != reading.memory
    }
    warning = None if system else check_window(requests, model, others)
    return Prepared(
        evaluation=replace(evaluation, model=model, reading=reading),
        label=f"{reading.memory}, {model.name}{after_tokens(reading.between)}",
        data=data,
        rows=rows,
        system=system,
        requests=requests,
        warnings=[warning] if warning else [],
        judging=plan_in_advance(evaluation.judge, rows, reading.sampling.max_tokens, reading.repeats),
    )


def _prepare_answers(evaluation: Evaluation, file: Path, data: Loaded, rows: Sequence[Row]) -> Prepared:
    own_answers = read_answers(file, [row["id"] for row in data.rows])
    answered = [row for row in rows if row["id"] in own_answers.answers]
    missing = sum(row["id"] not in own_answers.answers and row["id"] not in own_answers.failures for row in rows)
    warning = (
        f"{file} answers {len(answered)} of {len(rows)} questions, not counting empty answers; the {missing} "
        "missing ones count as wrong. Complete the file and score it into another --out."
    )
    return Prepared(
        evaluation=evaluation,
        label=f"{PEOPLE}, {file.name}" if own_answers.by_people else file.name,
        data=data,
        rows=rows,
        own=own_answers,
        warnings=[warning] if missing else [],
        judging=plan_in_advance(evaluation.judge, answered, 0, answers=own_answers.answers),
    )


def run(
    prepared: Prepared,
    out: Path,
    *,
    progress: Progress = no_progress,
    warn: Callable[[str], None] = lambda warning: None,
    say: Callable[[str], None] = lambda line: None,
) -> Evaluated:
    """Ask the reader, have its answers judged, and score them; what the folder holds already is not done again.

    The folder of a finished run is read, and left as it is. `warn` is told what a memory system did that readers of the results
    must know, before its memories are shown, and `say` why the judge gave no verdict, also if there is nothing to score.

    Raises:
        BadInput: The folder holds another run or scores of another judge, or memories do not fit the reader's window.
        NothingToScore: There is no judged answer; no results are written then.
        RunFailed: An endpoint broke down; the journals are kept.
    """
    evaluation, judge, label = prepared.evaluation, prepared.evaluation.judge, prepared.label
    identity, about = _identity(prepared), _about(prepared)
    part: dict[str, Any] = {"limit": evaluation.limit, "shard": evaluation.shard}
    if _is_scored(out, identity, judge, **part):
        return Evaluated(read_scores(out), label, notes_on(out))
    with open_run(out, identity, about) as folder, telling_failures(folder, judge, say):
        try:
            check_judge(folder, judge)
        except BadInput as error:
            raise BadInput(f"{error}; to have another judge judge all answers, add --rejudge") from None
        # 1. The answers, journaled as they come.
        if prepared.own is None:
            _ask(prepared, folder, progress, warn)
        else:
            record_own_answers(folder, prepared.own, [row["id"] for row in prepared.rows], label)
        # 2. Which true items each answer contains; 3. the scores, from the journals alone.
        part |= {"repeats": evaluation.reading.repeats if evaluation.reading else 1, "progress": progress}
        chapters = prepared.data.book.chapters
        scores = judge_and_score(folder, prepared.rows, judge, label, **part, chapters=chapters)
        return Evaluated(scores, label, notes_on(folder))


def _ask(prepared: Prepared, folder: Path, progress: Progress, warn: Callable[[str], None]) -> None:
    """Put the questions to the reader; a memory system reads the book first."""
    reading, model, requests = prepared.evaluation.reading, prepared.evaluation.model, prepared.requests
    assert reading is not None and model is not None
    if prepared.system:
        data, rows = prepared.data, prepared.rows
        requests, warnings = reading.requests_of_system(folder, prepared.system, data, rows, progress, model)
        for warning in warnings:
            warn(warning)
        if requests:
            check_window(requests, model, {})
    else:
        if reading.memory.startswith("rag-"):
            note_passages(folder, requests)
        requests = repeated(requests, reading.repeats)
    retire_others(folder / ANSWERS, requests, model)
    ask(folder / ANSWERS, requests, model, progress, failure_of=failure_of)


def _identity(prepared: Prepared) -> dict[str, Any]:
    evaluation, data = prepared.evaluation, prepared.data
    if (own := prepared.own) is not None:  # people under the names that reported rows give them
        memory, model = ("read-once", PEOPLE) if own.by_people else ("answers", prepared.label)
        about_answers = {"memory": memory, "model": model, "answers": own.fingerprint, "repeats": 1}
        return {"benchmark": "tulving", **data.identity, **about_answers}
    assert evaluation.reading is not None and evaluation.model is not None
    return evaluation.reading.run_identity(data, evaluation.model, evaluation.base_url, prepared.system)


def _about(prepared: Prepared) -> dict[str, Any]:
    dataset, model = prepared.evaluation.dataset, prepared.evaluation.model
    about: dict[str, Any] = {"dataset": dataset, "dataset_revision": dataset_revision(dataset, "qa")}
    about |= {"book": Path(dataset).name} | ({"people": 1} if prepared.own and prepared.own.by_people else {})
    return about | {"label": prepared.label} | (engine_of(model) | variant_of(model) if model else {})


def judge_and_score(
    folder: Path,
    rows: Sequence[Row],
    judge: Judge,
    label: str,
    *,
    repeats: int = 1,
    limit: int | None = None,
    shard: str | None = None,
    progress: Progress = no_progress,
    chapters: Chapters | None = None,
) -> dict[str, Any]:
    """Have the journaled answers of an open run judged, score them, and write the results; nothing is judged twice.

    `repeats` is how often the run asked each question. `limit` and `shard`, by which it was given a part of the questions, go
    into run.json. The report shows the chapters of the book if they are at hand. NothingToScore if there is no judged answer.
    """
    note_asked(folder, limit=limit, shard=shard)
    ask_judge(folder, rows, judge, progress)
    scores = finish(folder, rows, judge, label, repeats=repeats, chapters=chapters)
    note_judge(folder, judge)
    return scores


def _is_scored(folder: Path, identity: Mapping[str, Any], judge: Judge, **noted: Any) -> bool:
    """Whether a run is finished, as in `epbench.runs.folder.is_finished`, by this judge and with its present passport."""
    if not is_finished(folder, identity, **noted) or judge_of_scores(folder) != identity_of(judge):
        return False
    scores = read_scores(folder)
    about = judge_scores(judge, scores)
    of_run = {name: value for name, value in scores["judge"].items() if name != "one_score"}
    return bool(about == {"judge": of_run, "corrected": scores["corrected"]})


@contextmanager
def telling_failures(folder: Path, judge: Judge, say: Callable[[str], None]) -> Iterator[None]:
    """Tell at the end why the judge gave no verdict on answers of a run, also if the run fails; the commonest reason first."""
    failed: RunFailed | None = None
    try:
        yield
    except RunFailed as error:
        failed = error
    for reason, n in judge_failures(folder, judge).items():
        say(f"judge {judge.name} failed {n} times: {reason}")
    if failed:
        raise failed


def notes_on(folder: Path) -> list[str]:
    """What a scored run took, what failed, and where its report is."""
    usage = read_json(folder / "usage.json")
    line = usage_line(usage)
    failed = [f"failed {n} times: {reason}" for reason, n in usage["failed"].items()]
    return [*([line] if line else []), *judging_notes(folder), *failed, f"report: {folder / 'report.html'}"]


def judging_notes(folder: Path) -> list[str]:
    """What the calls of the run's judges took; empty if no model was asked."""
    line = usage_line(token_usage(read_journal(folder / CALLS).values()))
    return [f"judging: {line}"] if line else []
