"""MemFail in inspect_ai: the memories, the prompts and the diagnosis of our own evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from inspect_ai._util.error import PrerequisiteError

from epbench.interop.inspect import memfail, shares
from tests.interop.inspect.runs import metrics_of, output, ran


@pytest.fixture(scope="module")
def dataset(script, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("memfail")
    done = script("builders/memfail.py", "--config", "conditional_facts_easy", "--rows", 20, "--out", out)
    assert done.returncode == 0, done.stderr
    return out / "memfail"


@pytest.fixture(scope="module")
def own_run(script, dataset, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("own") / "run"
    done = script(
        "eval_scripts/memfail.py", "--dataset", dataset, "--config", "conditional_facts_easy", "--system", "verbatim-bm25",
        "--k", 2, "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_same_answers_have_the_diagnosis_of_our_own_evaluation(dataset, own_run, tmp_path):
    own = pd.read_parquet(own_run / "questions.parquet").set_index("id")
    rows = own.to_dict("records")

    def answer(prompt: str) -> str:
        (row,) = [row for row in rows if row["question"] in prompt]
        assert all(memory in prompt for memory in row["retrieved"])
        return row["answer"]

    log = ran(memfail(dataset=str(dataset), k=2), answer, tmp_path)
    found = {sample.metadata["id"]: sample.scores["stage_that_failed"] for sample in log.samples}
    assert {id_: score.metadata["label"] for id_, score in found.items()} == dict(own["label"])
    assert len(set(own["label"])) > 1
    at_k = json.loads((own_run / "scores.json").read_text())["by_k"]["2"]
    metrics = metrics_of(log)
    assert metrics["success_rate"] == metrics["correct"] == pytest.approx(at_k["success_rate"], abs=1e-9)
    for stage in ("storage_error", "summary_error", "retrieval_error", "reasoning_error"):
        assert metrics[stage] == pytest.approx(at_k[stage], abs=1e-9)
    assert 0 < metrics["stderr"] < 0.5


@pytest.mark.slow
def test_a_system_without_memories_loses_at_storing(dataset, tmp_path):
    said = iter([output("")])  # one answer is lost, which is an error
    log = ran(
        memfail(dataset=str(dataset), system="none"), lambda prompt: next(said, output("Yes.")), tmp_path, limit=5
    )
    assert [bool(sample.error) for sample in log.samples].count(True) == 1 and log.results.completed_samples == 4
    assert metrics_of(log)["storage_error"] == 1 and metrics_of(log)["success_rate"] == 0


def test_before_the_first_answer_there_are_no_shares():
    assert shares()([]) == {}


def test_what_does_not_exist_is_refused_before_the_first_request(dataset):
    for wrong, said in (
        ({"config": "other"}, "unknown config"),
        ({"system": "none-such"}, "unknown memory system"),
        ({"k": 0}, "at least 1"),
        ({"judge": "x"}, "unknown model"),
    ):
        with pytest.raises(PrerequisiteError, match=said):
            memfail(**{"dataset": str(dataset), **wrong})
