"""What is read of Book-SORT, and what its exhibits promise whatever the numbers: ranges, the runs that count, what lacks."""

import json
import math
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from epbench.booksort.leaderboard import leaderboards
from epbench.booksort.paper.effects import _longer
from epbench.booksort.paper.inputs import Inputs, read_inputs, reported_numbers
from epbench.booksort.paper.make import exhibits
from epbench.booksort.paper.results import is_base
from epbench.errors import BadInput
from epbench.reports.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
from tests.paper.plain import MARKUP, about, estimate
from tests.paper.sort_runs import make_run, make_training, mostly_right

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("drawn_pictures")]


def made_of(*inputs, **more):
    return {one.name: one for one in exhibits(Inputs(*inputs, **more))}


def pictures(made):
    with drawing():
        return {name: svg(one.plot()) for name, one in made.items() if not isinstance(one, Missing) and one.plot}


@pytest.fixture(scope="module")
def run_of(sort_inputs):
    return {run.label: run for run in sort_inputs.runs}


def test_runs_on_several_configs_in_one_folder_are_one_and_others_stay_apart(tmp_path, small_set, sort_folders):
    half, one, more = mostly_right(0.5), tmp_path / "one", {"memory": "in-context", "model": "m/x"}
    shutil.copytree(sort_folders[0]["prompt"], one / "e120_s20")
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


def changed(folder, identity, **more):
    """A folder of which run.json, and its identity, says something else."""
    run = json.loads((folder / "run.json").read_text("utf-8")) | more
    (folder / "run.json").write_text(json.dumps(run | {"identity": run["identity"] | identity}))
    return folder


def test_trainings_are_read_alone_or_from_the_folder_that_they_lie_in(sort_folders, sort_inputs, tmp_path):
    root, found = sort_folders[1]["books"].parent, sort_inputs.trainings[0]
    together = {(one.label, one.model, one.trained) for one in read_inputs([root]).trainings}
    names = f"{root.name}/books", f"{root.name}/control{MARKUP}"
    assert together == {(names[0], "tiny", "books"), (names[1], "tiny", "instructions")}
    measures = [(epoch, memory) for epoch in (0, 1, 2) for memory in ("none", "in-context")]
    assert found.label == "books" and [(run.epoch, run.memory) for run in found.runs] == measures
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 1"
    with pytest.raises(BadInput, match="expected 'sort_lm'"):
        read_inputs([changed(shutil.copytree(root / "books", tmp_path / "t"), {"method": "tulving_qa"})])


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


def test_numbers_of_the_paper_are_shown_only_if_they_are_given(sort_inputs, run_of):
    shown = [run_of[label] for label in ("base", f"llama{MARKUP}", "searched", "whole")]
    for one in made_of(shown, sort_inputs.trainings).values():
        assert isinstance(one, Missing) or "reported" not in set(one.frame["source"]), one.name
    scores = {"accuracy_s50": 0.64, "accuracy_s50.over_25000": 0.76}
    people = ReportedRow("Paper", "Figure 2", "book 102", "people", "read-once", scores)
    made = made_of([run_of["whole"]], reported=[people, replace(people, memory="in-context")])
    last = [(r["book_idx"], r["over"], r["mean"]) for r in made["Figure 10"].records[-2:]]
    assert last == [(102, None, 0.64), (102, 25000, 0.76)]  # in the panel of their book


def test_runs_on_other_pairs_are_not_averaged(run_of):
    runs = [run_of["base"], run_of["base-small"]]
    moved = runs[0].questions.assign(seg1_pos=runs[0].questions["seg1_pos"] + 1)
    figure = made_of([replace(runs[0], label="other", fingerprint="other", questions=moved), *runs])["Figure 5"]
    assert figure.records == made_of(runs)["Figure 5"].records
    assert "Left out of the mean, as they are about other pairs: other." in figure.notes


def test_a_single_excerpt_alike_ones_and_failed_questions_are_no_error(run_of):
    gone = dict.fromkeys(("predicted", "written", "p_a", "p_b", "label_mass"))
    gone |= {"outcome": "failed", "failure": "gone", "right": math.nan, "log_ratio": math.nan}
    for run in (run_of["base"], run_of["shown"], run_of["whole"]):
        single = run.questions.query("excerpt_idx == 0 and book_idx == 101").reset_index(drop=True)
        for questions in (single, single.assign(**gone)):
            made = pictures(made_of([replace(run, questions=questions)]))
            assert made and not any("nan" in picture.lower().replace("dominant", "") for picture in made.values())
    always = made_of([replace(run_of["shown"], questions=run_of["shown"].questions.assign(right=0.5))])
    assert all(any(n.startswith("± 0.000") for n in always[name].notes) for name in ("Table 2", "Figure 7", "Table 11"))


def test_base_models_are_known_by_their_names():
    base = "hf:mistralai/Mistral-7B-v0.1 vllm:google/gemma-3-1b-pt hf:/models/SmolLM2-135M".split()
    tuned = "hf:google/gemma-3-1b-it hf:x/SmolLM2-135M-Instruct hf:meta-llama/Llama-2-7b-chat-hf oracle openai:base"
    assert [model for model in (*base, *tuned.split(), "hf:RWKV/rwkv-raven-7b") if is_base(model)] == base


def test_reported_rows_alone_make_a_leaderboard_and_own_rows_are_ranked_apart(sort_inputs, booksort):
    (board,) = leaderboards(Inputs([], reported=reported_numbers()))
    assert {record["source"] for record in board.records} == {"reported"}
    assert {record["accuracy_floor"] for record in board.records} <= {0.5, None}
    own = {r["label"]: r for board in leaderboards(sort_inputs) for r in board.records if r["source"] == "own"}
    for label, rows in booksort.rows.items():
        expected = estimate([row.right for row in rows], "accuracy_")
        for of in ("accuracy_mean", "accuracy_lowest", "accuracy_highest"):
            assert own[label][of] == about(expected[of])
        assert own[label]["accuracy_floor"] >= 0.5 and own[label]["about"] == "these pairs"


def test_trainings_of_two_models_are_shown_apart(sort_inputs):
    one = sort_inputs.trainings[0]
    made = made_of((), [one, replace(one, label="b", same="another")])
    assert {"Figure 18, tiny", "Figure 18, tiny (2)", "Figure 19, tiny"} <= made.keys()


def test_what_a_training_lacks_is_said(tmp_path, small_set):
    plans = dict.fromkeys((0, 1), lambda pair: {"answer": f"Segment {pair.answer} is first"})
    folder = make_training(tmp_path / "t", small_set, plans, control="instructions", kinds=["sort"])
    (training,) = read_inputs([folder], reported=()).trainings
    made = made_of((), [training])
    assert [row[4:] for row in made["Figure 16"].table.rows] == [["100.00", "–", "80.00"], ["50.00", "–", "80.00"]]
    assert made["Figure 18"].records[0]["p"] == 1.0
    assert made["Figure 19"].needs == "a training of tiny whose answers have probabilities"
    assert "whose answers have probabilities" in made["Figure 20"].needs and "read-out" in made["Figure 15"].needs
    pictures(made)
    alone = made_of((), [replace(training, runs=training.runs[:1])])
    assert alone["Figure 18"].needs == "at least two measured checkpoints of tiny"
    assert isinstance(made_of((), [replace(training, epochs=())])["Figure 17"], Missing)


def test_a_failed_question_of_a_length_between_leaves_the_gain_of_the_longest_over_the_shortest():
    rows = [(20, 0.0), (35, 1.0), (50, 1.0), (20, 1.0), (35, None), (50, 1.0), (20, 0.0), (35, 0.0), (50, 0.0)]
    questions = pd.DataFrame(rows, columns=["segment_length", "right"]).assign(swapped=False)
    gain = _longer(questions.assign(excerpt=questions.index // 3))
    assert (gain.n, gain.mean) == (6, pytest.approx(1 / 3)) and 0 <= gain.low <= gain.high <= 1
