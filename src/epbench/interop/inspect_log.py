"""A finished run of any of our benchmarks as a log of inspect_ai, so that its questions can be read with `inspect view`.

The run is read question by question. A run's folder holds no prompts: what the model was asked is made again from the dataset.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.context import prompts as sort_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import both_orders, fingerprint, load_pairs
from epbench.booksort.scores import run_files as booksort
from epbench.errors import BadInput
from epbench.hub.rows import parquet_errors
from epbench.journals.answers import fingerprint_of
from epbench.memfail.context.requests import load_prompts as memfail_prompts
from epbench.memfail.context.requests import requests_of as memfail_requests
from epbench.memfail.dataset.load import QuestionRecord, load_memfail
from epbench.memfail.scores import run_files as memfail
from epbench.models.protocol import Request, Sampling
from epbench.runs.checksums import change_note
from epbench.runs.folder import dataset_of, read_run
from epbench.runs.question_table import read_questions
from epbench.runs.results import QUESTIONS
from epbench.starting.extras import install_hint
from epbench.tulving.context import requests as tulving_prompts
from epbench.tulving.context.requests import MEMORIES, Reading
from epbench.tulving.dataset.load import load_book
from epbench.tulving.scores import run_files as tulving

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ChatMessage


def requests_of(described: Row, rows: Sequence[Row]) -> tuple[dict[str, Request], str]:
    """Return the request about each question in questions.parquet, and why they are not those of the run, if so.

    They are those of the run if its dataset is still where it was, its prompts are ours, and what the model was shown
    follows from them. Otherwise a request has the question alone, as far as the run's folder knows it. The requests come
    by the id of the question, for MemFail with `@k` behind it.
    """
    benchmark = described["identity"]["benchmark"]
    try:
        return _MAKE[benchmark](described, rows), ""
    except BadInput as error:
        plain = {}
        for row in rows:
            id_ = f"{row['id']}@{row['k']}" if benchmark == "memfail" else row["id"]
            plain[id_] = Request(id_, "", "", row.get("question") or f"pair {row['id']}")
        return plain, f"the questions alone, not the prompts of the run: {error}"


def _check(identity: Row, dataset_fingerprint: str, pack: Any) -> None:
    """Refuse another dataset, and other prompts than ours."""
    if dataset_fingerprint != identity.get("fingerprint"):
        raise BadInput("the dataset is not the one of the run any more")
    if fingerprint_of(pack) != identity.get("prompts"):
        raise BadInput("the run had prompts of its own, or none")


def _tulving(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    memory = identity.get("memory")
    if memory not in MEMORIES or identity.get("retriever", "bm25") != "bm25":
        raise BadInput(f"what the memory {memory!r} showed the model is not made again")
    data, pack = load_book(str(dataset_of(described))), tulving_prompts.load_prompts()
    _check(identity, data.fingerprint, pack)
    if identity.get("chapters", data.chapters) != data.chapters:
        raise BadInput("the chapters of the dataset are not those of the run any more")
    reading = Reading(
        memory=memory, top_k=identity.get("top_k"), keep_order=bool(identity.get("keep_order")), prompts=pack,
        sampling=Sampling(identity["max_tokens"], identity["temperature"], identity["seed"]),
    )  # fmt: skip
    asked = {row["id"] for row in rows}
    return {request.id: request for request in reading.requests(data, [row for row in data.rows if row["id"] in asked])}


def _booksort(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    if identity["memory"] not in ("none", "in-context") or not isinstance(identity.get("prompt"), int):
        raise BadInput(f"what the memory {identity['memory']!r} showed the model is not made again")
    everything = load_pairs(str(dataset_of(described)), identity["config"], identity["split"])
    pack = sort_prompts.load_prompts()
    _check(identity, fingerprint(everything), pack)
    asked = {row["id"] for row in rows}
    pairs = [pair for pair in both_orders(everything) if pair.id in asked]
    requests = requests_for(identity["memory"], pairs, pack, identity["prompt"], max_tokens=identity["max_tokens"])
    return {request.id: request for request in requests}


def _memfail(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    data, pack = load_memfail(str(dataset_of(described)), identity["config"]), memfail_prompts()
    _check(identity, data.fingerprint, pack)
    by_id = {question.id: question for question in data.questions}
    records = [QuestionRecord(by_id[row["id"]], row["k"], "", tuple(row["retrieved"] or ())) for row in rows]
    return memfail_requests(records, pack, Sampling(identity["max_tokens"]))


_MAKE: Mapping[str, Callable[[Row, Sequence[Row]], dict[str, Request]]] = {
    "tulving": _tulving,
    "booksort": _booksort,
    "memfail": _memfail,
}


Row = Mapping[str, Any]


@dataclass(frozen=True)
class LoggedQuestion:
    """One question that was asked once."""

    id: str  # of the question in its dataset
    attempt: int  # how often it was asked, with this one, from 1
    request: Request  # what was asked; only id and question are filled in where the rest cannot be told any more
    target: str | list[str]  # the true answer, or the true items
    answer: str | None
    failure: str | None  # why the question failed, and is neither right nor wrong
    score: float | None  # 0 to 1; None if it failed
    explanation: str = ""  # the judge's words
    details: Row = field(default_factory=dict)  # what else is known of the score
    about: Row = field(default_factory=dict)  # what is known of the question


@dataclass(frozen=True)
class LoggedRun:
    """A run."""

    described: Row  # the content of its run.json
    task: str  # the name of the benchmark
    scorer: str  # the name of its score
    scores: Mapping[str, float]  # of its scores.json, under the names that our tasks give them in a harness
    questions: list[LoggedQuestion]
    prompts: str  # what is to be said of the requests; empty if they are those of the run
    changed: str | None = None  # which files were changed since the run was scored


def read_logged(folder: Path) -> LoggedRun:
    """Read a finished run of tulving, booksort or memfail; nothing in its folder changes."""
    described = read_run(folder)
    benchmark = described["identity"].get("benchmark")
    if benchmark not in _READERS:
        raise BadInput(f"{folder / 'run.json'}: expected a run of {', '.join(_READERS)}, found {benchmark!r}")
    scorer, scores_of, question_of = _READERS[benchmark]
    scores = {name: value for name, value in scores_of(folder) if value is not None}
    rows = _rows(folder)
    requests, note = requests_of(described, rows)
    questions = [question_of(row, requests) for row in rows]
    return LoggedRun(described, benchmark, scorer, scores, questions, note, change_note(folder))


def _rows(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    read_questions(folder, ["id", "outcome"])  # says what is wrong with the file
    try:
        rows: list[dict[str, Any]] = pq.read_table(folder / QUESTIONS).to_pylist()
    except parquet_errors() as error:
        raise BadInput(f"{folder / QUESTIONS}: expected a Parquet file ({error})") from None
    return rows


def _fields(row: Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names if row.get(name) is not None}


def _tulving_scores(folder: Path) -> Iterator[tuple[str, float | None]]:
    scores = tulving.read_scores(folder)
    yield "simple_recall", scores["simple_recall_score"]
    for bin_, f1 in scores["f1_by_bin"].items():
        yield f"f1_bin_{bin_}", f1
    for name in ("latest", "all_matched", "kendall_tau", "chronological_awareness"):
        yield name, scores[name]


def _tulving_question(row: Row, requests: Mapping[str, Request]) -> LoggedQuestion:
    return LoggedQuestion(
        row["id"], row["repeat"] + 1, requests[row["id"]], row["reference"], row["answer"], row["failure"], row["f1"],
        row["reason"] or "",
        _fields(row, "items", "scores", "order", "precision", "recall", "harsh_f1", "tau"),
        _fields(row, "template", "cue", "time", "space", "entity", "content", "trace", "get", "bin", "n_chapters", "origin"),
    )  # fmt: skip


def _booksort_scores(folder: Path) -> Iterator[tuple[str, float | None]]:
    scores = booksort.read_scores(folder)
    for name in ("accuracy", "greedy_accuracy", "share_a", "label_mass"):
        yield name, scores.get(name)
    for cell, values in scores["by_group"]["excerpt_length x segment_length"].items():
        excerpt, segment = cell.split(" x ")
        yield f"accuracy_e{excerpt}_s{segment}", values["accuracy"]


def _booksort_question(row: Row, requests: Mapping[str, Request]) -> LoggedQuestion:
    failed = row["outcome"] == "failed"
    return LoggedQuestion(
        row["id"], 1, requests[row["id"]], row["answer"], None if failed else row["greedy"] or row["predicted"],
        (row["failure"] or "it failed") if failed else None, None if failed else float(row["outcome"] == "right"),
        details=_fields(row, "predicted", "p_a", "p_b", "label_mass", "written"),
        about=_fields(row, "book_idx", "excerpt_idx", "distance", "distance_bin", "excerpt_length", "segment_length"),
    )  # fmt: skip


def _memfail_scores(folder: Path) -> Iterator[tuple[str, float | None]]:
    by_k = memfail.read_scores(folder)["by_k"]
    for k, values in by_k.items():
        at = f"_at_{k}" if len(by_k) > 1 else ""
        for name in ("success_rate", "answer_accuracy", *_STAGES):
            yield name + at, values[name]


def _memfail_question(row: Row, requests: Mapping[str, Request]) -> LoggedQuestion:
    failed = row["outcome"] == "failed"
    because = ": ".join(part for part in (row["label"], row["reason"]) if part)
    return LoggedQuestion(
        f"{row['id']}@{row['k']}", 1, requests[f"{row['id']}@{row['k']}"], row["reference"], row["answer"],
        (row["failure"] or "it failed") if failed else None, None if failed else float(row["outcome"] == "right"),
        "" if failed else because, _fields(row, "label", "vacuous", "answer_right", "needs"),
        _fields(row, "row", "kind", "group", "k", "n_stored"),
    )  # fmt: skip


_STAGES = ("storage_error", "summary_error", "retrieval_error", "reasoning_error")
_Scores = Callable[[Path], Iterator[tuple[str, float | None]]]
_READERS: Mapping[str, tuple[str, _Scores, Callable[[Row, Mapping[str, Request]], LoggedQuestion]]] = {
    "tulving": ("episodic_f1", _tulving_scores, _tulving_question),
    "booksort": ("sort_accuracy", _booksort_scores, _booksort_question),
    "memfail": ("stage_that_failed", _memfail_scores, _memfail_question),
}


_ABOUT = ("dataset", "dataset_revision", "label", "judge", "limit", "shard", "engine")


def write_inspect_log(run: Path, out: Path) -> Path:
    """Write the log of a run, of one config for MemFail. The run stays as it is, and a log of the same run is replaced.

    Each question is a sample with an integer as its id, ours in its metadata, and what it was asked, said and worth; a
    question that failed is the error of its sample. The metrics are the numbers of scores.json. A text that several
    questions show, such as the book, is in the file once, in the transcript of the first sample that shows it.

    Raises:
        BadInput: The folder holds no finished run, or inspect_ai is not installed.
    """
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise BadInput(f"a log of inspect_ai needs this library; {install_hint('inspect')}") from None
    logged = read_logged(run)
    began = datetime.fromtimestamp((run / "run.json").stat().st_mtime, UTC).replace(microsecond=0)
    named = re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(run.absolute().parts[-2:]))
    file = out / f"{began.strftime('%Y-%m-%dT%H-%M-%S-00-00')}_{logged.task}_{named}.eval"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{named}-", suffix=".scratch", dir=out) as scratch:
        draft = Path(scratch) / file.name
        write_eval_log(_log(logged, named, began.isoformat()), draft)
        draft.replace(file)
    return file


def _log(logged: LoggedRun, name: str, created: str) -> EvalLog:
    from inspect_ai.log import EvalLog, EvalMetric, EvalResults, EvalScore, EvalStats

    samples = _samples(logged)
    scored = sum(sample.error is None for sample in samples)
    metrics = {metric: EvalMetric(name=metric, value=value) for metric, value in logged.scores.items()}
    score = EvalScore(
        name=logged.scorer, scorer=logged.scorer, metrics=metrics, scored_samples=scored,
        unscored_samples=len(samples) - scored,
    )  # fmt: skip
    return EvalLog(
        status="success",
        eval=_spec(logged, name, created, len(samples)),
        results=EvalResults(total_samples=len(samples), completed_samples=scored, scores=[score]),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )


def _spec(logged: LoggedRun, name: str, created: str, n: int) -> EvalSpec:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

    described = logged.described
    metadata: dict[str, Any] = {field: described[field] for field in _ABOUT if described.get(field) is not None}
    metadata |= {"identity": dict(described["identity"])} | ({"prompts": logged.prompts} if logged.prompts else {})
    metadata |= {"warning": logged.changed} if logged.changed else {}
    return EvalSpec(
        created=created,
        eval_id=name,
        run_id=name,
        task=f"epbench/{logged.task}",
        task_id=name,
        dataset=EvalDataset(name=described.get("dataset"), samples=n),
        model=str(described["identity"].get("model", "unknown")).replace(":", "/", 1),
        config=EvalConfig(fail_on_error=False),
        packages={"epbench": described.get("versions", {}).get("epbench", "unknown")},
        metadata=metadata,
    )


def _samples(logged: LoggedRun) -> list[EvalSample]:
    from inspect_ai.event import InfoEvent
    from inspect_ai.log import condense_sample

    from epbench.interop.inspect.contexts import messages_of, texts_in

    requests = {question.id: question.request for question in logged.questions}
    messages, numbers = messages_of(requests), {id_: number for number, id_ in enumerate(requests, 1)}
    noted: set[str] = set()
    samples = []
    for question in logged.questions:
        sample = _sample(question, numbers[question.id], messages[question.id], logged)
        for digest, text in texts_in(messages[question.id]).items():
            if digest not in noted:
                sample.events.append(InfoEvent(source="epbench", data={"context": digest, "text": text}))
                noted.add(digest)
        samples.append(condense_sample(sample))
    return samples


def _sample(question: LoggedQuestion, number: int, messages: list[ChatMessage], logged: LoggedRun) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ModelOutput
    from inspect_ai.scorer import Score

    model = str(logged.described["identity"].get("model", "unknown"))
    answer = question.answer or ""
    scores = None
    if question.score is not None:
        scores = {
            logged.scorer: Score(
                value=question.score,
                answer=question.answer,
                explanation=question.explanation or None,
                metadata=dict(question.details) or None,
            )
        }
    failed = question.failure is not None
    return EvalSample(
        id=number,
        epoch=question.attempt,
        input=messages,
        target=question.target,
        messages=[*messages, *([ChatMessageAssistant(content=answer, source="generate")] if answer else [])],
        output=ModelOutput.from_content(model, answer) if answer else ModelOutput(model=model),
        scores=scores,
        metadata={"id": question.id, **question.about},
        error=EvalError(message=question.failure or "", traceback="", traceback_ansi="") if failed else None,
    )
