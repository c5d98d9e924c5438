"""Which questions a checkpoint is asked: those that the script would ask, in a run of the same identity."""

import json

import pytest

from epbench.booksort.benchmark import BENCHMARK
from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.booksort.evaluate import prepare
from epbench.booksort.evaluation import Evaluation
from epbench.booksort.finetuning.measures import SortPlan
from epbench.errors import BadInput
from epbench.runs.merge import merge
from tests.booksort.published_sort_csv import write_segments
from tests.booksort.sort_set import pair_rows
from tests.scripts import in_process


def sort_plan(dataset, *, in_context=True, texts=None, **chosen):
    pack = load_prompts()
    evaluation = Evaluation(dataset=dataset, model=Oracle(pack), memory="none", pack=pack, **chosen)
    return SortPlan(run=prepare(evaluation), in_context=in_context, texts=texts or {})


@pytest.mark.parametrize(
    ("memory", "chosen", "flags"),
    [
        ("in-context", {"configs": ["all"], "limit": 10}, ["--config", "all", "--limit", 10]),
        (
            "none",
            {"configs": ["e250_s20", "e120_s20"], "split": "validation", "books": [102], "prompt": 5},
            ["--config", "e250_s20", "e120_s20", "--split", "validation", "--books", 102, "--prompt", 5],
        ),
    ],
)
def test_questions_and_identity_are_those_of_the_script(dataset, tmp_path, memory, chosen, flags):
    arguments = ["--dataset", dataset, "--memory", memory, "--model", "oracle", "--out", tmp_path / "r", *flags]
    done = in_process.script("eval_scripts/booksort.py", *arguments)
    assert done.returncode == 0, done.stderr
    plan = sort_plan(dataset, **chosen)
    oracle = plan.run.evaluation.model
    prepared = plan.prepared(memory, oracle)
    assert prepared.identity == json.loads((tmp_path / "r/run.json").read_text())["identity"]
    asked = [json.loads(line)["key"] for line in (tmp_path / "r/answers.jsonl").read_text().splitlines()]
    assert asked == [request.key(oracle.identity) for request in prepared.requests]
    assert {pair.id for pair in plan.run.pairs} == {request.id for request in prepared.requests}
    assert merge(BENCHMARK, [tmp_path / "r"], tmp_path / "whole")[0].scores["n_questions"] == len(plan.run.pairs)


def test_a_set_without_excerpts_can_only_be_asked_without_context(tmp_path):
    write_segments(tmp_path, 120, 20, pair_rows(120, 20))
    plan = sort_plan(str(tmp_path), configs=["e120_s20"], in_context=False)
    plan.check(plan.run.evaluation.model)
    assert list(plan.memories) == ["sort"]
    with pytest.raises(BadInput, match="works only without memory"):
        sort_plan(str(tmp_path), configs=["e120_s20"]).check(plan.run.evaluation.model)
