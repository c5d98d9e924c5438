"""A run as the file with which the Hub shows its scores on the page of a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResultEntry
from huggingface_hub._eval_results import parse_eval_result_entries

from epbench.errors import BadInput
from epbench.interop.eval_results import write_eval_results
from tests.booksort.sort_set import book_text, write_set
from tests.tiny_model import make_tiny_model

COMMIT = "5503434ddd753f426f4b38109466949a1217c2bb"


@pytest.fixture(scope="module")
def sort_run(script, tmp_path_factory) -> Path:
    """A real run of a tiny model on both configs; its dataset was a folder."""
    base = tmp_path_factory.mktemp("sort")
    dataset, model = write_set(base / "booksort"), make_tiny_model(base / "tiny", book_text(101))
    done = script(
        "eval_scripts/booksort.py", "--dataset", dataset, "--config", "all", "--memory", "in-context",
        "--model", f"hf:{model}", "--out", base / "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return base / "run"


def changed(run: Path, folder: Path, **values: Any) -> Path:
    """A copy of the run with other values in run.json; those of `identity` are replaced one by one."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("checksums.json"))
    described = json.loads((folder / "run.json").read_text())
    described["identity"] |= values.pop("identity", {})
    (folder / "run.json").write_text(json.dumps(described | values))
    return folder


@pytest.fixture
def hub_run(sort_run, tmp_path) -> Path:
    """The run as it would be on the published dataset."""
    return changed(sort_run, tmp_path / "hub-run", dataset="lab/booksort", dataset_revision=COMMIT)


def entries(file: Path) -> list[EvalResultEntry]:
    return parse_eval_result_entries(yaml.safe_load(file.read_text("utf-8")))


def test_each_config_is_a_task_with_its_score_and_setting(hub_run, tmp_path):
    file = write_eval_results(hub_run, "lab/tiny", tmp_path / "model")
    assert file == tmp_path / "model" / ".eval_results" / "booksort_in-context.yaml"
    found = entries(file)
    cells = json.loads((hub_run / "scores.json").read_text())["by_group"]["excerpt_length x segment_length"]
    expected = {f"e{cell.replace(' x ', '_s')}": values["accuracy"] for cell, values in cells.items()}
    assert len(found) == 2 and {entry.task_id: entry.value for entry in found} == expected
    for entry in found:
        assert (entry.dataset_id, entry.dataset_revision) == ("lab/booksort", COMMIT)
        assert "memory in-context" in entry.notes and "95 % interval 0." in entry.notes


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"dataset": "a/folder/booksort"}, "field 'dataset': expected a dataset of the Hub"),
        ({"limit": 3}, "whole dataset, found limit 3"),
        ({"identity": {"books": [101]}}, "found books"),
        ({"identity": {"split": "validation"}}, "expected a run on the test split"),
        ({"identity": {"model": "hf:other/model"}}, "those of other/model, not of lab/tiny"),
        ({"identity": {"model": "oracle"}}, "'oracle' answered, which is no model of the Hub"),
    ],
)
def test_what_would_mislead_is_refused(values, said, hub_run, tmp_path):
    with pytest.raises(BadInput, match=said):
        write_eval_results(changed(hub_run, tmp_path / "changed", **values), "lab/tiny", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_score_with_failed_questions_is_refused(hub_run, tmp_path):
    scores = json.loads((hub_run / "scores.json").read_text())
    next(iter(scores["by_group"]["excerpt_length x segment_length"].values()))["n_failed"] = 1
    (hub_run / "scores.json").write_text(json.dumps(scores))
    with pytest.raises(BadInput, match="is incomplete, as questions have failed"):
        write_eval_results(hub_run, "lab/tiny", tmp_path)


@pytest.mark.slow
def test_tulving_and_memfail_say_memory_judge_and_k(script, short_book, tmp_path):
    built = script("builders/memfail.py", "--config", "long_hop", "--rows", 5, "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    for benchmark, dataset, options in (
        ("tulving", short_book, ("--memory", "rag-chapter")),
        ("memfail", tmp_path / "memfail", ("--config", "long_hop", "--system", "verbatim-bm25", "--k", "2", "5")),
    ):
        out = tmp_path / f"{benchmark}-run"
        done = script(f"eval_scripts/{benchmark}.py", "--dataset", dataset, *options, "--out", out)
        assert done.returncode == 0, done.stderr
        run = changed(out, tmp_path / f"{benchmark}-hub", dataset="lab/set", identity={"model": "openai:some"})
        found = entries(write_eval_results(run, "lab/some", tmp_path / "out"))
        assert all("judge lexical" in entry.notes and entry.dataset_revision is None for entry in found)
        if benchmark == "tulving":
            assert {entry.task_id for entry in found} == {"simple_recall_score", "chronological_awareness"}
            assert "memory rag-chapter; retriever bm25, k = " in found[0].notes
        else:
            assert [entry.task_id for entry in found] == ["long_hop", "long_hop"]
            assert ["k = 2" in found[0].notes, "k = 5" in found[1].notes] == [True, True]
