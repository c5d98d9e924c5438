"""The scores of a run in the form in which the Hub shows them on the page of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epbench.booksort.scores import run_files as booksort
from epbench.errors import BadInput
from epbench.files.writing import write_text
from epbench.memfail.scores import run_files as memfail
from epbench.models.load import is_model_name
from epbench.runs.checksums import change_note
from epbench.runs.folder import read_run
from epbench.tulving.scores import run_files as tulving

FOLDER = ".eval_results"
"""The folder of a model's repository that the Hub reads."""

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def write_eval_results(run: Path, repo: str, out: Path, source: str | None = None) -> Path:
    """Write the scores of a run as `out/.eval_results/NAME.yaml`, for the repository of a model, such as `Qwen/Qwen3-8B`.

    Each score comes with the dataset's revision, where that is known, with the address `source` of the run itself, and
    with notes that say what the model was shown, who judged, and how wide the interval is. Scores are in [0, 1], as in
    scores.json. The run is complete, on a dataset of the Hub; of MemFail, it is one config. BadInput if the folder
    holds no complete run, its dataset is not one of the Hub, its questions are only a part of the dataset's, some have
    failed, another model has answered, or a file was changed since the run was scored.
    """
    import yaml  # type: ignore[import-untyped]
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    described = read_run(run)
    if note := change_note(run):
        raise BadInput(f"{run}: {note}; put back what was there, or give the run's command again, which scores it anew")
    identity = described["identity"]
    where = run / "run.json"
    dataset = _hub_dataset(where, described)
    _check_complete(where, described)
    _check_model(where, str(identity.get("model", "")), repo)
    entries = []
    for task, value, note in _scores(run, identity):
        if value is None:
            raise BadInput(
                f"{run / 'scores.json'}: {task} is incomplete, as questions have failed; run the command in run.json again, "
                "which asks only these"
            )
        notes = "; ".join(part for part in (*_setting(described), note) if part)
        revision = described.get("dataset_revision")
        entries.append(EvalResultEntry(dataset, task, value, revision, source_url=source, notes=notes))
    memory = str(identity.get("memory") or identity.get("system"))
    config = [identity["config"]] if identity["benchmark"] == "memfail" else []  # which has a run for each config
    name = "_".join([dataset.rpartition("/")[2], *config, memory])
    file = out / FOLDER / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True))
    return file


def _hub_dataset(where: Path, described: dict[str, Any]) -> str:
    dataset = str(described.get("dataset", ""))
    if not _HUB_NAME.fullmatch(dataset) or Path(dataset).exists():
        raise BadInput(
            f"{where}, field 'dataset': expected a dataset of the Hub, such as epbench/booksort, found {dataset!r}; the Hub "
            "shows no scores on a folder"
        )
    return dataset


def _check_complete(where: Path, described: dict[str, Any]) -> None:
    identity = described["identity"]
    parts = {name: described.get(name) for name in ("limit", "shard")} | {"books": identity.get("books")}
    for name, value in parts.items():
        if value is not None:
            raise BadInput(f"{where}: expected a run on the whole dataset, found {name} {value}")
    if identity.get("split", "test") != "test":
        raise BadInput(f"{where}: expected a run on the test split, found {identity['split']}")


def _check_model(where: Path, model: str, repo: str) -> None:
    """The answers must be those of the repository's model, as far as the run can tell."""
    if not _HUB_NAME.fullmatch(repo):
        raise BadInput(f"expected the name of a model's repository, such as Qwen/Qwen3-8B, found {repo!r}")
    backend = next((kind for kind in ("hf:", "vllm:") if model.startswith(kind)), "")
    target = re.split("[@?]", model.removeprefix(backend))[0]
    if not backend and not is_model_name(model):
        raise BadInput(f"{where}: {model!r} answered, which is no model of the Hub")
    if backend and _HUB_NAME.fullmatch(target) and not Path(target).exists() and target != repo:
        raise BadInput(f"{where}: the answers are those of {target}, not of {repo}")


def _scores(run: Path, identity: dict[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    """The name of each task of the dataset, its score, and what else is to be said of it."""
    benchmark = identity.get("benchmark")
    if benchmark == "booksort":
        if booksort.about_whole_books(booksort.read_questions(run)).any():
            raise BadInput(
                f"{run / 'run.json'}: expected configs of excerpts; those of whole books are no tasks of the Hub"
            )
        scores = booksort.read_scores(run)
        for cell, values in scores["by_group"]["excerpt_length x segment_length"].items():
            excerpt, segment = cell.split(" x ")
            note = _interval([values["ci_low"], values["ci_high"]])
            yield f"e{excerpt}_s{segment}", None if values["n_failed"] else values["accuracy"], note
    elif benchmark == "memfail":
        for k, values in memfail.read_scores(run)["by_k"].items():
            note = f"k = {k}; {_interval(values['intervals'].get('success_rate'))}"
            yield identity["config"], None if values["failed"] else values["success_rate"], note
    elif benchmark == "tulving" and "released" not in identity:
        scores = tulving.read_scores(run)
        for name in ("simple_recall_score", "chronological_awareness"):
            if name in scores.get("incomplete", {}) or scores[name] is not None:
                yield name, scores[name], _interval(scores["intervals"].get(name))
    else:
        raise BadInput(f"{run / 'run.json'}: expected a run of tulving, booksort or memfail, found {benchmark!r}")


def _setting(described: dict[str, Any]) -> Iterator[str]:
    """What one must know to repeat the run."""
    identity = described["identity"]
    yield f"memory {identity['memory']}" if "memory" in identity else f"system {identity['system']}"
    if str(identity.get("memory", "")).startswith("rag"):
        yield f"retriever {identity['retriever']}, k = {identity['top_k']}"
    if "judge" in described:
        yield f"judge {described['judge']['name']}"
    yield f"epbench {described.get('versions', {}).get('epbench', 'unknown')}"


def _interval(bounds: list[float | None] | None) -> str:
    low, high = bounds or (None, None)
    return f"95 % interval {low:.3f} to {high:.3f}" if low is not None and high is not None else ""
