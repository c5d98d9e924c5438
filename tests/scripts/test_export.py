"""Runs in the formats of other tools: what is in a log of inspect_ai, and what the commands print."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from tests.interop.inspect.runs import content_of, metrics_of
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import change, files_below, read, scores_of

EXPORT = "eval_scripts/export.py"


def exported(out: Path, *runs: Path):
    """The logs of these runs by the name of their benchmark and folder, with attachments in their places."""
    ran(EXPORT, "inspect", *runs, "--out", out)
    assert len(list_eval_logs(str(out))) == len(runs)
    files = [next(out.glob(f"*-{run.name}.eval")) for run in runs]
    return [read_eval_log(str(file), resolve_attachments=True) for file in files]


@pytest.fixture(scope="module")
def in_context(small_sets, tmp_path_factory) -> Path:
    """A run whose questions all show the whole book, each asked twice."""
    out = tmp_path_factory.mktemp("runs") / "in-context"
    ran(f"eval_scripts/tulving.py --dataset {small_sets / 'short'} --memory in-context --repeats 2 --out {out}")
    return out


@pytest.mark.slow
def test_logs_have_the_scores_of_the_runs_which_stay_as_they_are(small_runs, in_context, tmp_path):
    runs = [in_context, *(path.parent for path in sorted(small_runs.glob("*/run.json")))]
    before = files_below(small_runs), files_below(in_context)
    logs = exported(tmp_path / "logs", *runs)
    assert (files_below(small_runs), files_below(in_context)) == before
    for run, log in zip(runs, logs, strict=True):
        scores, metrics = scores_of(run), metrics_of(log)
        questions = pd.read_parquet(run / "questions.parquet")
        assert log.status == "success" and len(log.samples) == len(questions) == log.results.total_samples
        if "tulving" in log.eval.task:
            expected = {"simple_recall": scores["simple_recall_score"], "latest": scores["latest"]}
            expected |= {f"f1_bin_{bin_}": f1 for bin_, f1 in scores["f1_by_bin"].items()}
        elif "booksort" in log.eval.task:
            expected = {"accuracy": scores["accuracy"], "share_a": scores["share_a"]}
        else:
            at_5 = scores["by_k"]["5"]
            expected = {name: at_5[name] for name in ("success_rate", "storage_error", "answer_accuracy")}
        expected = {name: value for name, value in expected.items() if value is not None}
        assert expected and {name: metrics.get(name) for name in expected} == expected
        assert all(isinstance(sample.id, int) and sample.metadata["id"] for sample in log.samples)
        assert "prompts" not in log.eval.metadata and log.eval.metadata["label"]
        assert log.eval.metadata["identity"] == read(run, "run.json")["identity"]


@pytest.mark.slow
def test_each_question_has_its_prompt_answer_and_score_and_the_book_is_there_once(in_context, small_sets, tmp_path):
    (log,) = exported(tmp_path / "logs", in_context)
    questions = pd.read_parquet(in_context / "questions.parquet").set_index(["id", "repeat"])
    assert {sample.epoch for sample in log.samples} == {1, 2}
    for sample in log.samples:
        row = questions.loc[(sample.metadata["id"], sample.epoch - 1)]
        assert sample.scores["episodic_f1"].value == row["f1"] and sample.scores["episodic_f1"].answer == row["answer"]
        assert row["question"] in sample.messages[-2].text and sample.output.completion == row["answer"]
        assert list(sample.target) == list(row["reference"]) and sample.metadata["bin"] == row["bin"]
    book = pd.read_parquet(next((small_sets / "short" / "book").glob("*.parquet")))["text"][0]
    (file,) = (tmp_path / "logs").glob("*.eval")
    assert content_of(file).count(json.dumps(book, ensure_ascii=False)[1:-1]) == 1
    assert sum(event.event == "info" and book in event.data["text"] for event in log.samples[0].events) == 1


@pytest.mark.slow
def test_failed_questions_are_errors_and_without_its_dataset_a_run_has_the_questions_alone(in_context, tmp_path):
    """Some answers of a run were never given: those questions have no score in its log."""
    run = shutil.copytree(in_context, tmp_path / "failed")
    table = pd.read_parquet(run / "questions.parquet")
    table.loc[:2, ["answer", "f1", "precision", "recall", "tau", "items", "scores", "order", "reason"]] = None
    table.loc[:2, "outcome"], table.loc[:2, "failure"] = "failed", "the endpoint was gone"
    table.to_parquet(run / "questions.parquet")
    change(run / "run.json", **dict.fromkeys(("dataset", "dataset_folder"), str(tmp_path / "nowhere")))
    for _ in range(2):  # the same run has one log
        (log,) = exported(tmp_path / "logs", run)
    lost = [sample for sample in log.samples if sample.error]
    assert [sample.error.message for sample in lost] == ["the endpoint was gone"] * 3
    assert all(not sample.scores and not sample.output.choices for sample in lost)
    assert log.results.completed_samples == len(table) - 3
    assert "the questions alone" in log.eval.metadata["prompts"]
    assert {sample.messages[0].text for sample in log.samples} == set(table["question"])


def test_paths_of_the_tasks_of_other_harnesses():
    for command, end in (("lm-eval-path", "interop/lm_eval"), ("lighteval-path", "interop/lighteval/tasks.py")):
        path = Path(ran(EXPORT, command).strip())
        assert path.is_absolute() and path.as_posix().endswith(f"src/epbench/{end}")


def test_scores_for_the_page_of_a_model_come_with_the_command_that_uploads_them(small_runs, tmp_path):
    run = shutil.copytree(small_runs / "tulving", tmp_path / "run")
    identity = read(run, "run.json")["identity"] | {"model": "openai:some"}
    change(run / "run.json", dataset="lab/short", limit=None, identity=identity)
    (run / "checksums.json").unlink()  # by which run.json was changed
    out = " ".join(ran(EXPORT, "eval-results", run, "--repo", "lab/some", "--out", tmp_path / "page").split())
    (file,) = (tmp_path / "page" / ".eval_results").glob("*.yaml")
    assert file.name in out
    assert f"hf upload lab/some {tmp_path}/page/.eval_results .eval_results --repo-type model --create-pr" in out


def test_what_cannot_be_exported_is_one_line(small_sets, small_runs, tmp_path):
    refused(script(EXPORT, "inspect", small_sets, "--out", tmp_path), "no run.json")
    refused(script(EXPORT, "inspect", "--out", tmp_path), "RUN")
    done = script(EXPORT, "eval-results", small_runs / "tulving", "--repo", "x/y", "--out", tmp_path)
    refused(done, "field 'dataset'")
    refused(script(EXPORT), "WHAT")
