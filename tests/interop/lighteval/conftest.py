"""The harness with a model that says what a test tells it to; without lighteval these tests are skipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import epbench

TASKS = Path(epbench.__file__).parent / "interop" / "lighteval" / "tasks.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # lighteval and what it imports warn of their affairs.
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run tasks with the answers by the id of the question, or the probabilities of A and B by the id of the pair."""
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

    class Scripted(DummyModel):
        def __init__(self, answers: Mapping[str, Any]) -> None:
            super().__init__(DummyModelConfig(cache_dir=str(tmp_path / "cache")))
            self.answers, self.docs = answers, []

        def greedy_until(self, docs: list[Any]) -> list[Any]:
            self.docs += docs
            return [ModelResponse(text=[self.answers[doc.specific["id"]]]) for doc in docs]

        def loglikelihood(self, docs: list[Any]) -> list[Any]:
            self.docs += docs
            return [
                ModelResponse(logprobs=[math.log(p) if p > 0 else math.nan for p in self.answers[doc.specific["id"]]])
                for doc in docs
            ]

    def ran(answers: Mapping[str, Any], task: str, datasets: Path) -> tuple[dict[str, float], list[Any]]:
        monkeypatch.setenv("EPBENCH_DATASETS", str(datasets))
        model = Scripted(answers)
        pipeline = Pipeline(
            tasks=task,
            pipeline_parameters=PipelineParameters(
                launcher_type=ParallelismManager.NONE, custom_tasks_directory=str(TASKS), bootstrap_iters=0
            ),
            evaluation_tracker=EvaluationTracker(output_dir=str(tmp_path / "out")),
            model=model,
        )
        pipeline.evaluate()
        return pipeline.get_results()["results"][f"{task}:0"], model.docs

    return ran
