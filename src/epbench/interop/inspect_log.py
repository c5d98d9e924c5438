"""A finished run of any of our benchmarks as a log of inspect_ai, so that its questions can be read with `inspect view`.

The run is read question by question. A run's folder holds no prompts: what the model was asked is made again from the dataset.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.context import prompts as sort_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import both_orders, fingerprint, load_pairs
from epbench.booksort.scores import run_files as booksort
from epbench.errors import BadInput, install_hint
from epbench.journals.answers import fingerprint_of
from epbench.memfail.context.requests import load_prompts as memfail_prompts
from epbench.memfail.context.requests import requests_of as memfail_requests
from epbench.memfail.dataset.load import QuestionRecord, load_memfail
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.scores import run_files as memfail
from epbench.models.protocol import Request, Sampling
from epbench.runs.benchmark import read_rows
from epbench.runs.checksums import change_note
from epbench.runs.folder import dataset_of, read_run
from epbench.tulving.context import requests as tulving_prompts
from epbench.tulving.context.requests import MEMORIES, Reading
from epbench.tulving.dataset.load import load_book
from epbench.tulving.scores import run_files as tulving

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample


Row = Mapping[str, Any]
_Scores = Iterator[tuple[str, float | None]]


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


def _tulving_scores(folder: Path) -> _Scores:
    scores = tulving.read_scores(folder)
    yield "simple_recall", scores["simple_recall_score"]
    for bin_, f1 in scores["f1_by_bin"].items():
        yield f"f1_bin_{bin_}", f1
    for name in ("latest", "all_matched", "kendall_tau", "chronological_awareness"):
        yield name, scores[name]


def _booksort_scores(folder: Path) -> _Scores:
    scores = booksort.read_scores(folder)
    for name in ("accuracy", "greedy_accuracy", "share_a", "label_mass"):
        yield name, scores.get(name)
    for cell, values in scores["by_group"]["excerpt_length x segment_length"].items():
        excerpt, segment = cell.split(" x ")
        yield f"accuracy_e{excerpt}_s{segment}", values["accuracy"]


def _memfail_scores(folder: Path) -> _Scores:
    by_k = memfail.read_scores(folder)["by_k"]
    for k, values in by_k.items():
        at = f"_at_{k}" if len(by_k) > 1 else ""
        for name in ("success_rate", "answer_accuracy", *ERRORS):
            yield name + at, values[name]


@dataclass(frozen=True)
class _Benchmark:
    """How the runs of a benchmark are read."""

    scorer: str  # the name of its score
    # The request about each question, by its id, for MemFail with `@k` behind it.
    requests: Callable[[Row, Sequence[Row]], dict[str, Request]]
    scores: Callable[[Path], _Scores]  # of its scores.json, under the names that our tasks give them in a harness
    target: str  # the column of the true answer, or of the true items
    explanation: Callable[[Row], str]  # the judge's words
    details: str  # columns that say what else is known of the score
    about: str  # columns that describe the question


_BENCHMARKS: Mapping[str, _Benchmark] = {
    "tulving": _Benchmark(
        "episodic_f1", _tulving, _tulving_scores, "reference", lambda row: row["reason"] or "",
        "items scores order precision recall harsh_f1 tau",
        "template cue time space entity content trace get bin n_chapters origin",
    ),
    "booksort": _Benchmark(
        "sort_accuracy", _booksort, _booksort_scores, "answer", lambda row: "",
        "predicted p_a p_b label_mass written",
        "book_idx excerpt_idx distance distance_bin excerpt_length segment_length",
    ),
    "memfail": _Benchmark(
        "stage_that_failed", _memfail, _memfail_scores, "reference",
        lambda row: ": ".join(filter(None, (row["label"], row["reason"]))),
        "label vacuous answer_right needs", "row kind group k n_stored",
    ),
}  # fmt: skip
_ABOUT = ("dataset", "dataset_revision", "label", "judge", "limit", "shard", "engine")


def write_inspect_log(run: Path, out: Path) -> Path:
    """Write the log of a run, of one config for MemFail. The run stays as it is, and a log of the same run is replaced.

    Each question is a sample with an integer as its id, ours in its metadata, and what it was asked, said and worth; a
    question that failed is the error of its sample. The metrics are the numbers of scores.json. A text that several
    questions show, such as the book, is in the file once, in the transcript of the first sample that shows it.

    The requests are those of the run if its dataset is still where it was, its prompts are ours, and what the model was
    shown follows from them. Otherwise a sample has the question alone, as far as the run's folder knows it. BadInput if
    the folder holds no finished run, or inspect_ai is not installed.
    """
    try:
        from inspect_ai import log as logs
    except ImportError:
        raise BadInput(f"a log of inspect_ai needs this library; {install_hint('inspect')}") from None
    described = read_run(run)
    identity, name = described["identity"], described["identity"].get("benchmark")
    if name not in _BENCHMARKS:
        raise BadInput(f"{run / 'run.json'}: expected a run of {', '.join(_BENCHMARKS)}, found {name!r}")
    benchmark, rows = _BENCHMARKS[name], read_rows(run, ["id", "outcome"], "to_pylist")
    metadata: dict[str, Any] = {field: described[field] for field in _ABOUT if described.get(field) is not None}
    metadata["identity"] = dict(identity)
    try:
        requests = benchmark.requests(described, rows)
    except BadInput as error:
        requests = {_id(row): Request(_id(row), "", "", row.get("question") or f"pair {row['id']}") for row in rows}
        metadata["prompts"] = f"the questions alone, not the prompts of the run: {error}"
    if changed := change_note(run):
        metadata["warning"] = changed
    samples = _samples(benchmark, str(identity.get("model", "unknown")), rows, requests)
    scored = sum(sample.error is None for sample in samples)
    metrics = {n: logs.EvalMetric(name=n, value=value) for n, value in benchmark.scores(run) if value is not None}
    score = logs.EvalScore(
        name=benchmark.scorer, scorer=benchmark.scorer, metrics=metrics, scored_samples=scored,
        unscored_samples=len(samples) - scored,
    )  # fmt: skip
    began = datetime.fromtimestamp((run / "run.json").stat().st_mtime, UTC).replace(microsecond=0)
    created, named = began.isoformat(), re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(run.absolute().parts[-2:]))
    log = logs.EvalLog(
        status="success",
        eval=logs.EvalSpec(
            created=created,
            eval_id=named,
            run_id=named,
            task=f"epbench/{name}",
            task_id=named,
            dataset=logs.EvalDataset(name=described.get("dataset"), samples=len(samples)),
            model=str(identity.get("model", "unknown")).replace(":", "/", 1),
            config=logs.EvalConfig(fail_on_error=False),
            packages={"epbench": described.get("versions", {}).get("epbench", "unknown")},
            metadata=metadata,
        ),
        results=logs.EvalResults(total_samples=len(samples), completed_samples=scored, scores=[score]),
        stats=logs.EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )
    file = out / f"{began.strftime('%Y-%m-%dT%H-%M-%S-00-00')}_{name}_{named}.eval"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{named}-", suffix=".scratch", dir=out) as scratch:
        draft = Path(scratch) / file.name
        logs.write_eval_log(log, draft)
        draft.replace(file)
    return file


def _id(row: Row) -> str:
    return f"{row['id']}@{row['k']}" if "k" in row else row["id"]


def _samples(
    benchmark: _Benchmark, model: str, rows: Sequence[Row], requests: Mapping[str, Request]
) -> list[EvalSample]:
    from inspect_ai.event import InfoEvent
    from inspect_ai.log import EvalError, EvalSample, condense_sample
    from inspect_ai.model import ChatMessageAssistant, ModelOutput
    from inspect_ai.scorer import Score

    from epbench.interop.inspect_contexts import messages_of, texts_in

    asked = {_id(row): requests[_id(row)] for row in rows}
    messages, numbers = messages_of(asked), {id_: number for number, id_ in enumerate(asked, 1)}
    noted: set[str] = set()
    samples = []
    for row in rows:
        id_, failed = _id(row), row["outcome"] == "failed"
        said = (row["greedy"] or row["predicted"]) if "predicted" in row else row["answer"]
        answer = "" if failed and "predicted" in row else said or ""
        score = None
        if not failed:
            value = row["f1"] if "f1" in row else float(row["outcome"] == "right")
            details = {n: row[n] for n in benchmark.details.split() if row.get(n) is not None}
            score = Score(
                value=value, answer=said, explanation=benchmark.explanation(row) or None, metadata=details or None
            )
        about = {n: row[n] for n in benchmark.about.split() if row.get(n) is not None}
        sample = EvalSample(
            id=numbers[id_],
            epoch=row.get("repeat", 0) + 1,
            input=messages[id_],
            target=row[benchmark.target],
            messages=[*messages[id_], *([ChatMessageAssistant(content=answer, source="generate")] if answer else [])],
            output=ModelOutput.from_content(model, answer) if answer else ModelOutput(model=model),
            scores={benchmark.scorer: score} if score else None,
            metadata={"id": id_, **about},
            error=EvalError(message=row["failure"] or "it failed", traceback="", traceback_ansi="") if failed else None,
        )
        for digest, text in texts_in(messages[id_]).items():
            if digest not in noted:
                sample.events.append(InfoEvent(source="epbench", data={"context": digest, "text": text}))
                noted.add(digest)
        samples.append(condense_sample(sample))
    return samples
