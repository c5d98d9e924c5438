"""Book-SORT as a benchmark of the Hub: what inspect_ai makes of the published eval.yaml, on a Hub on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from epbench.booksort.dataset.card import benchmark_yaml
from epbench.booksort.dataset.schema import Recipe, make_configs
from epbench.hub import push
from epbench.hub.card import BENCHMARK_FILE, card
from epbench.hub.dataset_folder import write_dataset
from tests.booksort.made_texts import made_book
from tests.hub.hub_double import TOKEN, HubDouble

RUN = """
import json
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def reply(messages, tools, choice, config):
    output = ModelOutput.from_content("mockllm/model", "ANSWER: A")
    output.usage = ModelUsage()
    return output

logs = eval("hf/lab/booksort", model=get_model("mockllm/model", custom_outputs=reply), log_dir="logs", display="none")
print(json.dumps([
    {
        "task": log.eval.task, "status": log.status, "accuracy": log.results.scores[0].metrics["accuracy"].value,
        "samples": [[s.input if isinstance(s.input, str) else s.input[0].text, s.choices, s.target] for s in log.samples],
        "asked": log.samples[0].messages[0].text,
    }
    for log in logs
]))
"""


@pytest.mark.slow
def test_inspect_runs_the_published_benchmark(tmp_path):
    configs = make_configs([made_book(4000), made_book(4000, 1, 1)], Recipe((250,), (20, 50), excerpts=2, validation=1))
    text = card(configs, "# Book-SORT", pretty_name="Book-SORT", license="mit", tags=[])
    folder = tmp_path / "booksort"
    write_dataset(folder, configs, text, {BENCHMARK_FILE: benchmark_yaml(configs)})
    with HubDouble("lab") as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path / "home")}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")} | env
        command = (
            f"from pathlib import Path; from {push.__name__} import dataset_push, push; "
            f"push(dataset_push(Path({str(folder)!r}), 'lab'))"
        )
        for code in (command, RUN):
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, done.stderr
    logs = json.loads(done.stdout.splitlines()[-1])
    ended = [(log["task"].rpartition("/")[2], log["status"]) for log in logs]
    assert ended == [("e250_s20", "success"), ("e250_s50", "success")]  # not `books`
    for log in logs:
        assert log["accuracy"] == 0.5  # whoever always says A is right about half
        assert len(log["samples"]) == 2 * 2 * 4  # books, excerpts and bins
        excerpt, choices, target = log["samples"][0]
        assert excerpt in log["asked"] and "ANSWER: $LETTER" in log["asked"] and "{" not in log["asked"]
        assert f"A) {choices[0]}" in log["asked"] and f"B) {choices[1]}" in log["asked"]
        for excerpt, choices, target in log["samples"]:
            places = [excerpt.index(segment) for segment in choices]
            assert "".join(target) == ("A" if places[0] < places[1] else "B")
