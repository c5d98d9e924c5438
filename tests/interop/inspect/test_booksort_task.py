"""Book-SORT in inspect_ai: what an answer counts for is what it counts for in our own evaluation."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pandas as pd
import pytest
from inspect_ai.model import Logprob, Logprobs, TopLogprob

from epbench.interop.inspect import booksort
from tests.interop.inspect.runs import content_of, metrics_of, output, ran
from tests.models.loopback_endpoint import LoopbackEndpoint

pytestmark = pytest.mark.slow

SAID = ("A", "**B**", "Segment B comes first, then A.", "I would say that segment A is first.", "I cannot tell.", "b")


def answer(prompt: str) -> str:
    return SAID[zlib.crc32(prompt.encode()) % len(SAID)]


@pytest.fixture
def dataset(datasets) -> Path:
    return datasets / "booksort"


def test_the_same_answers_have_the_accuracy_of_our_own_evaluation(script, dataset, tmp_path):
    with LoopbackEndpoint(answer) as endpoint:
        done = script(
            "eval_scripts/booksort.py", "--dataset", dataset, "--config", "e250_s20", "--memory", "in-context", "--model",
            "openai:some", "--base-url", endpoint.url, "--out", tmp_path / "run",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    own = pd.read_parquet(tmp_path / "run" / "questions.parquet").set_index("id")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    log = ran(booksort(dataset=str(dataset)), answer, tmp_path / "logs")
    assert {s.metadata["id"]: s.scores["sort_accuracy"].answer for s in log.samples} == dict(own["predicted"])
    assert set(own["predicted"]) == {"A", "B", "X"}
    found = metrics_of(log)
    assert found["accuracy"] == pytest.approx(scores["accuracy"], abs=1e-9) and found["stderr"] > 0
    bins = {name: of["accuracy"] for name, of in scores["by_group"]["distance_bin"].items()}
    for name, expected in bins.items():
        right_edge = name.split(" x ")[1]
        assert found[f"accuracy_distance_{right_edge}"] == pytest.approx(expected, abs=1e-9)
    assert len([name for name in found if name.startswith("accuracy_distance_")]) == len(bins) == 4
    everything = content_of(Path(log.location))
    excerpts = pd.read_parquet(next((dataset / "e250_s20").glob("test-*.parquet")))["excerpt_text"].unique()
    assert len(excerpts) == 12 and all(everything.count(excerpt) == 1 for excerpt in excerpts)


def test_an_answer_that_was_cut_off_before_it_named_a_segment_is_an_error(dataset, tmp_path):
    said = iter([output("Well, let me see", "max_tokens"), output("Segment A, because", "max_tokens"), output("A")])
    log = ran(booksort(dataset=str(dataset)), lambda prompt: next(said), tmp_path, limit=3, max_connections=1)
    assert sum(sample.error is not None for sample in log.samples) == 1
    (lost,) = [sample for sample in log.samples if sample.error is not None]
    assert "cut off before it named a segment" in lost.error.message and log.results.completed_samples == 2


def test_probabilities_decide_where_they_are_asked_for_and_given(dataset, tmp_path):
    likely = output("A")
    tokens = [TopLogprob(token=token, logprob=value) for token, value in (("A", -1.0), (" B", -1.2), ("B", -1.2))]
    likely.choices[0].logprobs = Logprobs(content=[Logprob(token="A", logprob=-1.0, top_logprobs=tokens)])
    log = ran(booksort(dataset=str(dataset), memory="none", logprobs=True), lambda prompt: likely, tmp_path, limit=2)
    assert log.eval.model_generate_config.logprobs or log.plan.config.logprobs
    assert [sample.scores["sort_accuracy"].answer for sample in log.samples] == ["B", "B"]  # both spellings count
