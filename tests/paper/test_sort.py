"""What is read of Book-SORT, and what its exhibits promise whatever the numbers: ranges, the runs that count, what lacks."""

import json
import math
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.booksort.paper.make import exhibits
from epbench.booksort.paper.results import is_base
from epbench.booksort.paper.training import by_base
from epbench.errors import BadInput
from epbench.reports.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
from tests.paper.plain import MARKUP
from tests.paper.sort_runs import make_run, make_training, mostly_right

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("drawn_pictures")]


def made_of(*inputs, **more):
    return {one.name: one for one in exhibits(Inputs(*inputs, **more))}


def pictures(made):
    with drawing():
        return {name: svg(one.plot()) for name, one in made.items() if not isinstance(one, Missing) and one.plot}


@pytest.fixture(scope="module")
def run_of(sort_inputs):
    """The runs by label."""
    return {run.label: run for run in sort_inputs.runs}


# Inputs


def test_runs_on_several_configs_in_one_folder_are_one_and_others_stay_apart(tmp_path, small_set, chosen):
    half, one, more = mostly_right(0.5), tmp_path / "one", {"memory": "in-context", "model": "m/x"}
    shutil.copytree(chosen["prompt"], one / "e120_s20")
    make_run(one / "e250_s20", small_set, half, configs=["e250_s20"], **more)
    ((run,), *parts) = (read_inputs([folder], reported=()).runs for folder in (one, *sorted(one.iterdir())))
    assert (run.label, run.configs, run.dataset) == ("one", ("e120_s20", "e250_s20"), "booksort")
    assert run.fingerprint == "+".join(part.fingerprint for (part,) in parts)
    assert list(run.questions["id"]) == [id_ for (part,) in parts for id_ in part.questions["id"]]
    made = made_of([run])  # in which one of both has chosen
    assert [row[2] for row in made["Table 7"].table.rows] == ["e120_s20"]
    assert made["Table 10"].needs.startswith("runs with retrieval")
    shutil.copytree(one / "e120_s20", tmp_path / "m/a")
    make_run(tmp_path / "m/b", small_set, half, configs=["e120_s20"], **more)  # the same config again
    make_run(tmp_path / "m/c", small_set, half, configs=["e250_s20"])
    assert [run.label for run in read_inputs([tmp_path / "m"], reported=()).runs] == ["m/a", "m/b", "m/c"]


def test_a_training_is_read_with_its_measures_in_order_and_alone_or_beside_others(tmp_path, small_set):
    folder, half = tmp_path / "all/books", mostly_right(0.5)
    make_training(folder, small_set, dict.fromkeys((0, 10, 2), half))
    make_training(tmp_path / "all/control", small_set, {0: half}, control="summaries")
    (found,) = read_inputs([folder]).trainings
    assert (found.label, found.model, found.trained) == ("books", "tiny", "books")
    measures = [(epoch, memory) for epoch in (0, 2, 10) for memory in ("none", "in-context")]
    assert [(run.epoch, run.memory) for run in found.runs] == measures
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 2"
    together = read_inputs([tmp_path / "all"]).trainings  # from the folder that they lie in
    assert [(one.label, one.trained) for one in together] == [("all/books", "books"), ("all/control", "summaries")]
    with pytest.raises(BadInput, match="expected 'sort_lm'"):
        read_inputs([changed(folder, {"method": "tulving_qa"})])


def changed(folder, identity, **more):
    """A folder of which run.json, and its identity, says something else."""
    run = json.loads((folder / "run.json").read_text("utf-8")) | more
    (folder / "run.json").write_text(json.dumps(run | {"identity": run["identity"] | identity}))
    return folder


def test_other_runs_are_refused_and_those_of_an_earlier_version_are_read_from_their_journals(tmp_path, small_set):
    old = make_run(tmp_path / "old", small_set, mostly_right(0.5))
    (whole,) = read_inputs([old], reported=()).runs
    (old / "questions.parquet").unlink()
    (found,) = read_inputs([old], reported=()).runs
    pd.testing.assert_frame_equal(found.questions, whole.questions)
    with pytest.raises(BadInput, match="has no questions.parquet; start the run again"):
        read_inputs([changed(old, {}, **dict.fromkeys(("dataset", "dataset_folder"), str(tmp_path / "nowhere")))])
    with pytest.raises(BadInput, match="'memfail'; expected a run of Book-SORT"):
        read_inputs([changed(old, {"benchmark": "memfail"})])


# Runs


def test_numbers_of_the_paper_are_shown_only_if_they_are_given(sort_inputs, run_of):
    shown = [run_of[label] for label in ("base", f"llama{MARKUP}", "searched", "whole")]
    for one in made_of(shown, sort_inputs.trainings).values():
        assert isinstance(one, Missing) or "reported" not in set(one.frame["source"]), one.name
    row = ReportedRow("Mine", "T", "MMLU", "mine", "none", {"mmlu": 50.0})
    assert [record["model"] for record in made_of((), reported=[row])["Table 5"].records] == ["mine"]
    scores = {"accuracy_s50": 0.64, "accuracy_s50.over_25000": 0.76}
    people = ReportedRow("Paper", "Figure 2", "book 102", "people", "read-once", scores)
    made = made_of([run_of["whole"]], reported=[people, replace(people, memory="in-context")])
    last = [(r["book_idx"], r["over"], r["mean"]) for r in made["Figure 10"].records[-2:]]
    assert last == [(102, None, 0.64), (102, 25000, 0.76)]  # in the panel of their book


def test_runs_on_other_pairs_are_not_averaged_and_one_run_is_its_own_mean(run_of):
    runs = [run_of["base"], run_of["base-small"]]
    moved = runs[0].questions.assign(seg1_pos=runs[0].questions["seg1_pos"] + 1)
    figure = made_of([replace(runs[0], label="other", fingerprint="other", questions=moved), *runs])["Figure 5"]
    assert figure.records == made_of(runs)["Figure 5"].records
    assert "Left out of the mean, as they are about other pairs: other." in figure.notes
    alone = made_of(runs[:1])
    assert alone["Figure 5"].records == alone["Figure 13"].records


def test_a_single_excerpt_alike_ones_and_failed_questions_are_no_error(run_of):
    gone = dict.fromkeys(("predicted", "written", "p_a", "p_b", "label_mass"))
    gone |= {"outcome": "failed", "failure": "gone", "right": math.nan, "log_ratio": math.nan}
    for run in (run_of["base"], run_of["shown"], run_of["whole"]):
        one_excerpt = (run.questions["excerpt_idx"] == 0) & (run.questions["book_idx"] == 101)
        single = run.questions[one_excerpt].reset_index(drop=True)
        for questions in (single, single.assign(**gone)):
            made = pictures(made_of([replace(run, questions=questions)]))
            assert made and not any("nan" in picture.lower().replace("dominant", "") for picture in made.values())
    always = made_of([replace(run_of["shown"], questions=run_of["shown"].questions.assign(right=0.5))])
    assert all(any(n.startswith("± 0.000") for n in always[name].notes) for name in ("Table 2", "Figure 7", "Table 11"))


def test_base_models_are_known_by_their_names():
    base = "hf:mistralai/Mistral-7B-v0.1 vllm:google/gemma-3-1b-pt hf:/models/SmolLM2-135M".split()
    tuned = "hf:google/gemma-3-1b-it hf:x/SmolLM2-135M-Instruct hf:meta-llama/Llama-2-7b-chat-hf oracle openai:base"
    assert [model for model in (*base, *tuned.split(), "hf:RWKV/rwkv-raven-7b") if is_base(model)] == base


# Trainings


def test_trainings_of_two_models_are_shown_apart(tmp_path, small_set):
    plans, more = {0: mostly_right(0.5), 1: mostly_right(0.6)}, {"kinds": ["sort"]}
    folders = [make_training(tmp_path / of, small_set, plans, model=f"hf:{of}/one", **more) for of in ("a", "b")]
    trainings = read_inputs(folders, reported=()).trainings
    named = {name: [one.label for one in of] for name, of in by_base(trainings).items()}
    assert named == {"one": ["a"], "one (2)": ["b"]}
    assert {"Figure 18, one", "Figure 18, one (2)", "Figure 19, one"} <= set(made_of((), trainings))


def test_what_a_training_lacks_is_said(tmp_path, small_set, booksort):
    def unlabelled(pair):
        return {"answer": f"Segment {pair.answer} is first"}

    values = {0: {"segments": 5.0, "books": None}, 1: {"segments": 4.0, "books": None}}
    folder = make_training(tmp_path / "t", small_set, {0: unlabelled, 1: unlabelled}, kinds=["sort"], perplexity=values)
    (training,) = read_inputs([folder], reported=()).trainings
    made = made_of((), [training])
    assert [row[4:] for row in made["Figure 16"].table.rows] == [["5.00", "–"], ["4.00", "–"]]
    assert made["Figure 18"].records[0]["p"] == 1.0
    assert made["Figure 19"].needs == "a training of tiny whose answers have probabilities"
    assert "whose answers have probabilities" in made["Figure 20"].needs and "read-out" in made["Figure 15"].needs
    pictures(made)
    alone = made_of((), [replace(training, runs=training.runs[:1])])
    assert alone["Figure 18"].needs == "at least two measured checkpoints of tiny"
    assert isinstance(made_of((), [replace(training, epochs=())])["Figure 17"], Missing)
    matrix = booksort.exhibits["Figure 18"]  # cells are marked by the corrected p
    below = sum(record["p_holm"] < 0.05 for record in matrix.records)
    assert pictures({"it": matrix})["it"].count("*</text>") == 2 * below and 0 < below < len(matrix.records)
