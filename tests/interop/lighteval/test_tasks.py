import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from epbench.booksort.dataset.load import load_pairs
from epbench.tulving.context.requests import Reading
from epbench.tulving.dataset.load import load_book
from tests.interop.lighteval.conftest import TASKS
from tests.interop.scripted_answers import scored_by_script, scripted_answers
from tests.tiny_model import make_tiny_model

pytest.importorskip(
    "lighteval", reason="lighteval is not installed here; `make test-lighteval` has an environment for it"
)


def test_the_same_answers_get_the_same_scores_as_from_our_own_script(run, script, short_book, tmp_path):
    data = load_book(str(short_book))
    answers = scripted_answers(data.rows)
    expected, _ = scored_by_script(script, short_book, answers, tmp_path / "run")
    found, docs = run(answers, "epbench_tulving_short", short_book.parent)
    assert found["simple_recall"] == pytest.approx(expected["simple_recall_score"], abs=1e-9)
    for name in ("latest", "all_matched", "kendall_tau", "chronological_awareness"):
        assert found[name] == pytest.approx(expected[name], abs=1e-9)
    for bin_, value in expected["f1_by_bin"].items():
        assert found[f"f1_bin_{bin_}"] == pytest.approx(value, abs=1e-9)
    assert found["missing"] == 0 and 0 < found["f1"] < 1

    asked = {request.id: request for request in Reading(memory="in-context").requests(data, data.rows)}
    assert len(docs) == len(data.rows)
    for doc in docs:
        request = asked[doc.specific["id"]]
        assert doc.query == f"{request.system}\n\n{request.user}" and doc.generation_size == 1024


def test_an_empty_answer_is_wrong_and_counted_even_where_nothing_has_happened(run, short_book):
    rows = load_book(str(short_book)).rows
    answers = dict.fromkeys((row["id"] for row in rows), "I do not know.")
    some = [row["id"] for row in rows if row["bin"] == "0" and row["get"] == "all"]
    found, _ = run(answers | dict.fromkeys(some[:5], " "), "epbench_tulving_short", short_book.parent)
    assert found["missing"] == pytest.approx(5 / len(rows))
    assert found["f1_bin_0"] == pytest.approx(1 - 5 / len(some)) and found["f1_bin_1"] == 0


def test_the_answer_to_a_pair_is_the_label_with_the_higher_probability(run, datasets):
    pairs = load_pairs(str(datasets / "booksort"))
    right = {"A": (0.6, 0.3), "B": (0.1, 0.2)}
    answers = {pair.id: right[pair.answer][:: 1 if number % 4 else -1] for number, pair in enumerate(pairs)}
    answers |= {pairs[1].id: (0.4, 0.4), pairs[2].id: (-1, 0.1)}  # two equal ones, and one that is not a number
    found, docs = run(answers, "epbench_booksort", datasets)
    wrong = len(range(0, len(pairs), 4)) + 2
    assert found["acc"] == pytest.approx(1 - wrong / len(pairs))
    assert found["failed"] == pytest.approx(1 / len(pairs))
    assert docs[0].choices == ["Answer: Segment A", "Answer: Segment B"] and docs[0].query.endswith("\n")


@pytest.mark.slow
def test_the_command_line_runs_both_benchmarks_with_a_model_of_transformers(short_book, datasets, tmp_path):
    for dataset in (short_book, datasets / "booksort"):
        (tmp_path / dataset.name).symlink_to(dataset)
    text = load_book(str(short_book)).book.text
    make_tiny_model(tmp_path / "model", text, window=65536, ends=True)
    done = subprocess.run(
        ["lighteval", "accelerate", "model_name=model,cache_dir=cache,dtype=float32,batch_size=1",
         "epbench_booksort,epbench_tulving_short_none,epbench_tulving_short",
         "--custom-tasks", str(TASKS), "--max-samples", "3", "--output-dir", "out"],
        cwd=tmp_path, capture_output=True, text=True, timeout=500,
        env=os.environ | {"EPBENCH_DATASETS": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (file,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(file.read_text())["results"]
    assert 0 <= results["epbench_booksort|0"]["acc"] <= 1
    assert {"simple_recall", "missing"} <= set(results["epbench_tulving_short|0"])
