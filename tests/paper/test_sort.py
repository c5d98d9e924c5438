"""What the exhibits about Book-SORT promise whatever the numbers: marks, ranges, notes, and what a training lacks."""

import math
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from scipy.stats import binom, norm

from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.booksort.paper.make import exhibits
from epbench.booksort.paper.rates import accuracy_of, smallest_above_chance
from epbench.booksort.paper.results import is_base
from epbench.booksort.paper.training import by_base
from epbench.reports.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
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


@pytest.fixture(scope="module")
def found(booksort):
    return booksort.exhibits


def test_numbers_of_the_paper_are_shown_only_if_they_are_given(sort_inputs, run_of):
    shown = [run_of[label] for label in ("base", "llama", "searched", "whole")]
    for one in made_of(shown, sort_inputs.trainings).values():
        assert isinstance(one, Missing) or "reported" not in set(one.frame["source"]), one.name
    row = ReportedRow("Mine", "T", "MMLU", "mine", "none", {"mmlu": 50.0})
    assert [record["model"] for record in made_of((), reported=[row])["Table 5"].records] == ["mine"]


def test_reported_rows_are_marked_and_stand_below(found):
    cells = {
        ("Table 1", "Llama3-8b-inst"): ["0.510 ± 0.008", "–", "–", "0.520 ± 0.007", "–", "–"],
        ("Table 2", "Mixtral-8x22b-inst"): ["0.950 ± 0.020", "–", "–", "0.790 ± 0.038"],
        ("Figure 14", "rwkv-raven-7b"): ["–", "–", "0.510"],
    }
    for (name, model), expected in cells.items():
        (row,) = (row for row in found[name].table.rows if row[0] == f"{model} (reported)")
        assert row[2 : 2 + len(expected)] == expected
    people = [
        row[3:6] for row in found["Figure 2"].table.rows[-3:] if row[:3] == ["people (reported)", "people", "read-once"]
    ]
    assert people == [["20", "all", "0.560"], ["50", "all", "0.640"], ["50", "over 25,000", "0.760"]]
    told = "A state-space model; the accuracy is that of the search for a prompt."
    assert any(note.endswith(told) for note in found["Figure 14"].notes)
    assert any("no targets" in note for note in found["Table 11"].notes)
    assert sum(found["Table 11"].frame["source"] == "reported") == 36 * 2 + 27 * 4 + 18 * 2 + 9 * 3
    last = found["Appendix F.5"].table.rows[-1][:5]
    assert last == ["Llama3-8b-inst (reported)", "Pink et al., 2024", "instructions", "1", "0.910"]


def test_failed_questions_make_a_range(found):
    (row,) = (row for row in found["Table 2"].table.rows if row[0] == "shown-failed")
    (record,) = (r for r in found["Table 2"].records if (r["label"], r["group"]) == ("shown-failed", "SORT"))
    assert row[2] == f"{record['lowest']:.2f}–{record['highest']:.2f} (incomplete), n = {record['n']}"
    panel = next(axes for axes in found["Figure 10"].plot().axes if axes.get_title() == "whole-failed, book 101")
    dotted = [list(line.get_ydata()) for line in panel.lines if line.get_linestyle() == ":"]
    of_panel = [r for r in found["Figure 10"].records if (r["label"], r["book_idx"]) == ("whole-failed", 101)]
    assert dotted == [[r["lowest"], r["highest"]] for r in of_panel if r["n_failed"]]


def test_people_are_drawn_in_the_panel_of_their_book(run_of):
    scores = {"accuracy_s50": 0.64, "accuracy_s50.over_25000": 0.76}
    people = ReportedRow("Paper", "Figure 2", "book 102", "people", "read-once", scores, note="155 readers.")
    made = made_of([run_of["whole"]], reported=[people, replace(people, memory="in-context")])
    last = [(r["book_idx"], r["over"], r["mean"]) for r in made["Figure 10"].records[-2:]]
    assert last == [(102, None, 0.64), (102, 25000, 0.76)]
    axes = made["Figure 10"].plot().axes
    assert [sum("people" in str(line.get_label()) for line in one.lines) for one in axes] == [0, 2]
    assert "people (reported), over 25,000 words" in pictures(made)["Figure 2"]


def test_notes_say_what_few_questions_show_and_what_no_width_means(found, run_of):
    said = {"Table 1": ["shows an accuracy of", "All configs count: e120_s20"], "Figure 4a": ["searched: similarity"]}
    said |= {"Figure 4b": ["searched: 0.5"], "Figure 5": ["Wilcoxon"], "Figure 18": ["24 failed questions"]}
    for name, texts in said.items():
        assert all(any(text in note for note in found[name].notes) for text in texts), name
    shown = run_of["shown"]
    always = made_of([replace(shown, questions=shown.questions.assign(right=0.5))])
    for name in ("Table 2", "Figure 3a", "Figure 7", "Figure 8", "Table 11"):
        assert any(note.startswith("± 0.000") for note in always[name].notes), name
    assert any("memory none" in note for note in always["Table 11"].notes) and len(always["Table 11"].columns) == 4


def test_runs_on_other_pairs_are_not_averaged_and_one_run_is_its_own_mean(run_of):
    runs = [run_of["base"], run_of["base-small"]]
    moved = runs[0].questions.assign(seg1_pos=runs[0].questions["seg1_pos"] + 1)
    figure = made_of([replace(runs[0], label="other", fingerprint="other", questions=moved), *runs])["Figure 5"]
    assert figure.records == made_of(runs)["Figure 5"].records
    assert "Left out of the mean, as they are about other pairs: other." in figure.notes
    alone = made_of(runs[:1])
    assert alone["Figure 5"].records == alone["Figure 13"].records


def test_a_single_excerpt_and_failed_questions_are_no_error(run_of):
    gone = dict.fromkeys(("predicted", "written", "p_a", "p_b", "label_mass"))
    gone |= {"outcome": "failed", "failure": "gone", "right": math.nan, "log_ratio": math.nan}
    for run in (run_of["base"], run_of["shown"], run_of["whole"]):
        one_excerpt = (run.questions["excerpt_idx"] == 0) & (run.questions["book_idx"] == 101)
        single = run.questions[one_excerpt].reset_index(drop=True)
        for questions in (single, single.assign(**gone)):
            made = pictures(made_of([replace(run, questions=questions)]))
            assert made and not any("nan" in picture.lower().replace("dominant", "") for picture in made.values())


BASE = "hf:mistralai/Mistral-7B-v0.1 vllm:google/gemma-3-1b-pt hf:/models/SmolLM2-135M".split()
TUNED = "hf:google/gemma-3-1b-it hf:HuggingFaceTB/SmolLM2-135M-Instruct hf:meta-llama/Llama-2-7b-chat-hf".split()
TUNED += "oracle openai:base hf:RWKV/rwkv-raven-7b".split()


def test_base_models_are_known_by_their_names():
    assert [model for model in (*BASE, *TUNED) if is_base(model)] == BASE


def test_the_power_is_that_which_is_said_and_a_mean_at_chance_everywhere_is_no_finding():
    """By the exact test at the smallest accuracy that is shown: between 74 and 86 %."""
    for n in (60, 400, 3000):
        rejected = [k for k in range(n + 1) if abs(k - n / 2) >= norm.ppf(0.975) * math.sqrt(n) / 2]
        assert 0.74 < binom.pmf(rejected, n, smallest_above_chance(n)).sum() < 0.86
    assert smallest_above_chance(0) is None and smallest_above_chance(4) is None
    questions = pd.DataFrame({"excerpt": [str(i // 4) for i in range(16)], "right": 0.5})
    assert accuracy_of(questions, pooled=True).p == 1.0


def test_runs_of_several_configs_show_each_choice(chosen, tmp_path, small_set):
    shutil.copytree(chosen["prompt"][0], tmp_path / "m/e120")
    make_run(tmp_path / "m/e250", small_set, mostly_right(0.5), memory="in-context", model="m/x", configs=["e250_s20"])
    made = made_of(read_inputs([tmp_path / "m"], reported=()).runs)
    assert [row[2] for row in made["Table 7"].table.rows] == ["e120_s20"]
    assert made["Table 10"].needs.startswith("runs with retrieval")


# Trainings


def test_trainings_of_two_models_are_shown_apart(tmp_path, small_set):
    plans, models = {0: mostly_right(0.5), 1: mostly_right(0.6)}, {"a": "hf:x/one", "b": "hf:y/one"}
    folders = [
        make_training(tmp_path / name, small_set, plans, model=model, weights=name, kinds=["sort"])
        for name, model in models.items()
    ]
    trainings = read_inputs(folders, reported=()).trainings
    named = {name: [one.label for one in of] for name, of in by_base(trainings).items()}
    assert named == {"one": ["a"], "one (2)": ["b"]}
    assert {"Figure 18, one", "Figure 18, one (2)", "Figure 19, one"} <= set(made_of((), trainings))


def test_what_a_training_lacks_is_said(tmp_path, small_set):
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


def test_cells_of_the_matrix_are_marked_by_the_corrected_p(found):
    below = sum(record["p_holm"] < 0.05 for record in found["Figure 18"].records)
    assert pictures({"it": found["Figure 18"]})["it"].count("*</text>") == 2 * below
    assert 0 < below < len(found["Figure 18"].records)
