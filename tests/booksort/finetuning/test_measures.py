"""What is measured of a checkpoint: the same as the script measures, whoever shares the work and however often it stops."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.booksort.evaluate import prepare
from epbench.booksort.evaluation import Evaluation
from epbench.booksort.finetuning.measures import SortPlan, measure
from epbench.booksort.scores.comparison import compare
from epbench.booksort.scores.run_files import read_questions
from epbench.errors import BadInput
from epbench.finetuning.launching import Ranks
from epbench.finetuning.packing import Sample
from epbench.models.hf.model import TransformersModel
from epbench.statistics.readout import cross_validated_readout
from tests.booksort.published_sort_csv import write_segments
from tests.booksort.sort_set import book_text, pair_rows
from tests.finetuning.thread_ranks import together
from tests.scripts import in_process
from tests.tiny_model import make_tiny_model

torch.set_num_threads(1)  # threads that wait for one another are slow where tests run side by side

LABELS = "Segment A: word. Segment B: word. Answer: Segment A. Answer: Segment B. " * 50  # so that " A" is one token
CONFIG = "e120_s20"
N = 16  # pairs, of four excerpts
RUNS = {"sort": "none", "sort-in-context": "in-context"}
ONE = Ranks()


def sort_plan(dataset, *, in_context=True, texts=None, **chosen):
    pack = load_prompts()
    evaluation = Evaluation(dataset=dataset, model=Oracle(pack), memory="none", pack=pack, **chosen)
    return SortPlan(run=prepare(evaluation), in_context=in_context, texts=texts or {})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), LABELS + book_text(101))


@pytest.fixture(scope="module")
def texts(tiny):
    tokenizer = TransformersModel(str(tiny)).prompts.tokenizer
    rows = [tokenizer(book_text(102)[i : i + 200])["input_ids"] for i in range(0, 1000, 200)]
    books = [Sample(f"102/{i}", "text", ids, [False, *[True] * (len(ids) - 1)]) for i, ids in enumerate(rows)]
    some = [replace(one, kind="instruction", learned=[i % 3 == 2 for i in range(len(one.ids))]) for one in books[:2]]
    return {"books": books, "instructions": some, "held_out": []}


@pytest.fixture(scope="module")
def plan(dataset, texts):
    return sort_plan(dataset, configs=[CONFIG], limit=N, texts=texts)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, tiny, plan):
    """By one process, without a stop."""
    folder = tmp_path_factory.mktemp("measured")
    return folder, measure(TransformersModel(str(tiny)), folder, plan, ONE, {"epoch": 1, "label": "tiny, epoch 1"})


def read(path):
    return json.loads(path.read_text())


def answers(folder):
    return {record["key"]: record for record in map(json.loads, (folder / "answers.jsonl").read_text().splitlines())}


def close(found, expected):
    """The same up to rounding, and up to the seconds that it took."""
    assert {**found, "seconds": None} == {**approximately(expected), "seconds": None}


def approximately(value):
    if isinstance(value, dict):
        return {name: approximately(one) for name, one in value.items()}
    return value if value is None else pytest.approx(value, rel=1e-4, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_sort_is_what_the_script_measures(measured, dataset, tiny, plan, tmp_path, run):
    done = in_process.script(
        "eval_scripts/booksort.py", "--dataset", dataset, "--config", CONFIG, "--memory", RUNS[run],
        "--model", f"hf:{tiny}", "--limit", N, "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours = measured[0] / run
    assert (ours / "scores.json").read_bytes() == (tmp_path / "r/scores.json").read_bytes()
    probabilities, theirs = (
        {key: record["probabilities"] for key, record in answers(folder).items()} for folder in (ours, tmp_path / "r")
    )
    assert probabilities == theirs and len(theirs) == N
    described, other = read(ours / "run.json"), read(tmp_path / "r/run.json")
    assert described["identity"] == other["identity"]
    assert described["label"] == f"{RUNS[run]}, tiny, epoch 1" and described["epoch"] == 1
    assert {name: described[name] for name in ("dataset", "limit")} == {"dataset": dataset, "limit": N}
    files = {path.name for path in ours.iterdir()} | {"retrieved.jsonl"}  # which has nothing in it
    assert files == {path.name for path in (tmp_path / "r").iterdir()}
    # The script can go on with our folder, where nothing is left to do, and the two can be compared.
    journal = (ours / "answers.jsonl").read_bytes()
    again = in_process.script("eval_scripts/booksort.py", *done.args[1:-1], ours)
    assert again.returncode == 0, again.stderr
    assert (ours / "answers.jsonl").read_bytes() == journal
    (pair,) = compare({"ours": ours, "theirs": tmp_path / "r"}).pairs
    assert pair["n"] == N and pair["difference"] == 0
    # What is followed from checkpoint to checkpoint is that of the scores.
    scores, summary = read(ours / "scores.json"), measured[1][run.replace("-", "_")]
    assert summary["accuracy"] == scores["accuracy"] and summary["interval"] == scores["intervals"]["accuracy"]
    assert summary["greedy_accuracy"] == scores["greedy_accuracy"] and summary["label_mass"] == scores["label_mass"]
    assert (summary["n"], summary["n_failed"]) == (N, 0)
    records = {record["id"]: record["probabilities"] for record in answers(ours).values()}
    ratios = [math.log(records[p.id][p.answer] / sum(records[p.id].values())) for p in plan.run.pairs]
    low, high = summary["log_ratio_interval"]
    assert summary["log_ratio"] == pytest.approx(np.mean(ratios)) and low < summary["log_ratio"] < high


def log_probabilities(model, ids):
    with torch.no_grad():
        scores = model.reader.forward.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [math.nan, *(float(scores[i, token]) for i, token in enumerate(ids[1:]))]


def test_perplexities_and_their_correlation_are_those_of_plain_sums(measured, tiny, plan, texts):
    folder, found = measured
    model = TransformersModel(str(tiny))
    sums = {}
    for request, pair in zip(plan.prepared("none", model).requests, plan.run.pairs, strict=True):
        ids = model.prompts.ids(request)
        values, shown = log_probabilities(model, ids), [model.prompts.tokenizer.decode([i]) for i in ids]
        of_pair = []
        for segment in pair.segments:  # the shortest run of tokens that spells it
            first = max(i for i in range(len(ids)) if segment in "".join(shown[i:]))
            end = next(j for j in range(first, len(ids) + 1) if segment in "".join(shown[first:j]))
            of_pair += values[first:end]
        sums[pair.id] = of_pair
    every = [value for values in sums.values() for value in values]
    assert found["perplexity"]["segments"] == pytest.approx(math.exp(-np.mean(every)), rel=1e-4)
    for name in ("books", "instructions"):
        learned = [
            value
            for sample in texts[name]
            for value, yes in zip(log_probabilities(model, sample.ids), sample.learned, strict=True)
            if yes
        ]
        assert found["perplexity"][name] == pytest.approx(math.exp(-np.mean(learned)), rel=1e-4)
    assert found["perplexity"]["held_out"] is None
    ratios = read_questions(folder / "sort").set_index("id")["log_ratio"].to_dict()
    expected = pearsonr([-np.mean(sums[id_]) for id_ in ratios], list(ratios.values()))
    assert found["pearson"]["r"] == pytest.approx(expected.statistic, abs=1e-3) and found["pearson"]["n"] == N
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_readout_is_that_of_the_states_before_the_answers(measured, tiny, plan):
    model, found = TransformersModel(str(tiny)), measured[1]["readout"]
    states = []
    requests = {request.id: request for request in plan.prepared("none", model).requests}
    for pair in plan.run.pairs:
        with torch.no_grad():
            ids = torch.tensor([model.prompts.ids(requests[pair.id])])
            out = model.reader.forward.model(ids, output_hidden_states=True)
        states.append(out.hidden_states[-1][0, -1].numpy())
    books = [pair.book_idx for pair in plan.run.pairs]
    expected = cross_validated_readout(np.array(states), [pair.answer for pair in plan.run.pairs], books)
    assert len(set(books)) == 2
    assert found["accuracy"] == expected.accuracy and found["n"] == N
    assert found["by_group"] == {str(book): accuracy for book, accuracy in expected.by_group.items()}


@pytest.mark.slow
def test_two_processes_measure_the_same(measured, tiny, plan, tmp_path):
    asked = [0, 0]

    def work(ranks):
        model = watched(TransformersModel(str(tiny)), lambda requests: count(ranks.index, requests))
        return measure(model, tmp_path, plan, ranks, {"epoch": 1, "label": "tiny, epoch 1"})

    def count(index, requests):
        asked[index] += len(requests)
        assert set(Counter(request.id.rsplit("-", 1)[0] for request in requests).values()) == {4}

    found, other = together(2, work)
    assert other is None
    close(found, measured[1])
    assert sum(asked) == 2 * N and max(asked) - min(asked) <= 8  # an excerpt of difference in each of two runs
    for run in RUNS:
        ours, whole = answers(tmp_path / run), answers(measured[0] / run)
        assert ours.keys() == whole.keys()
        assert not list((tmp_path / run).glob("answers-*"))


def watched(model, notice):
    """The model, which says what it is asked."""
    answer = model.answer

    def noticed(requests):
        notice(requests)
        yield from answer(requests)

    model.answer = noticed
    return model


@pytest.mark.slow
def test_a_finished_measurement_asks_nothing(measured, tiny, plan):
    model = watched(TransformersModel(str(tiny)), lambda requests: pytest.fail("asked") if requests else None)
    before = (measured[0] / "sort/scores.json").read_bytes()
    close(measure(model, measured[0], plan, ONE, {}), measured[1])
    assert (measured[0] / "sort/scores.json").read_bytes() == before


def test_a_torn_last_record_of_a_process_is_asked_again(measured, tiny, plan, tmp_path):
    known = list(answers(measured[0] / "sort").values())
    folder = tmp_path / "sort"
    folder.mkdir()
    (folder / "run.json").write_bytes((measured[0] / "sort/run.json").read_bytes())
    whole = [json.dumps(record) for record in known]
    (folder / "answers.jsonl").write_text("\n".join(whole[:3]) + "\n")
    (folder / "answers-4-of-7.jsonl").write_text("\n".join(whole[2:6]) + "\n" + whole[6][:50])
    asked = []
    model = watched(TransformersModel(str(tiny)), asked.extend)
    found = measure(model, tmp_path, replace(plan, in_context=False, texts={}), ONE, {})
    assert {request.id for request in asked} == {record["id"] for record in known[6:]}
    assert len((folder / "answers.jsonl").read_text().splitlines()) == N
    assert found["sort_in_context"] is None and not (tmp_path / "sort-in-context").exists()
    close(found["sort"], measured[1]["sort"])
    assert found["perplexity"].keys() == {"segments"}


def test_one_book_has_no_readout(dataset, tiny, tmp_path):
    plan = sort_plan(dataset, configs=[CONFIG], books=[102], limit=4, in_context=False)
    found = measure(TransformersModel(str(tiny)), tmp_path, plan, ONE, {})
    assert found["readout"] is None and found["sort"]["n"] == 4
    assert found["sort"]["interval"] is None and found["sort"]["log_ratio_interval"] is None  # of one excerpt
    assert read(tmp_path / "sort/run.json")["identity"]["books"] == [102]


def test_another_checkpoint_is_refused(measured, plan, tmp_path):
    other = TransformersModel(str(make_tiny_model(tmp_path / "m", LABELS + book_text(101), seed=1)))
    with pytest.raises(BadInput, match="this folder holds another run: its"):
        measure(other, measured[0], plan, ONE, {})


def test_what_does_not_fit_is_refused_before_anything_is_asked(plan, texts, tmp_path):
    small = TransformersModel(str(make_tiny_model(tmp_path / "small", LABELS + book_text(101), window=400)))
    with pytest.raises(BadInput, match="the window of hf:.* has 400"):
        measure(small, tmp_path / "out", plan, ONE, {})
    long = replace(texts["books"][0], ids=[5] * 401, learned=[True] * 401)
    named = replace(plan, in_context=False, texts={"held_out": [long]})
    with pytest.raises(BadInput, match=r"text 'held_out', sample 102/0: expected at most the 400 tokens .*, got 401$"):
        measure(small, tmp_path / "out", named, ONE, {})
    assert not (tmp_path / "out").exists()


def test_a_set_without_excerpts_can_only_be_asked_without_context(tmp_path):
    write_segments(tmp_path, 120, 20, pair_rows(120, 20))
    plan = sort_plan(str(tmp_path), configs=[CONFIG], in_context=False)
    plan.check(plan.run.evaluation.model)
    assert list(plan.memories) == ["sort"]
    with pytest.raises(BadInput, match="e120_s20 works only without memory"):
        sort_plan(str(tmp_path), configs=[CONFIG]).check(plan.run.evaluation.model)
