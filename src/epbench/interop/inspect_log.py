"""A finished run as a log of inspect_ai, so that its questions and answers can be read with `inspect view`."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.interop.logged_runs import LoggedQuestion, LoggedRun, read_logged
from epbench.starting.extras import install_hint

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ChatMessage

_ABOUT = ("dataset", "dataset_revision", "label", "judge", "limit", "shard", "engine")


def write_inspect_log(run: Path, out: Path) -> Path:
    """Write the log of a run. The run's folder stays as it is, and a log of the same run is replaced.

    Each question is a sample with an integer as its id, ours in its metadata, and what it was asked, said and worth; a
    question that failed is the error of its sample. The metrics are the numbers of scores.json. A text that several
    questions show, such as the book, is in the file once, in the transcript of the first sample that shows it.

    Args:
        run: The folder of a finished run, of one config for MemFail.
        out: The folder for the log; it is made if it does not exist.

    Returns:
        The log.

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
    said = question.answer or ""
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
        messages=[*messages, *([ChatMessageAssistant(content=said, source="generate")] if said else [])],
        output=ModelOutput.from_content(model, said) if said else ModelOutput(model=model),
        scores=scores,
        metadata={"id": question.id, **question.about},
        error=EvalError(message=question.failure or "", traceback="", traceback_ansi="") if failed else None,
    )
