"""All exhibits about settings, contexts and trained weights: their order, what is said of those that are missing, and that they can be written."""

from dataclasses import replace

import pytest

from epbench.booksort.paper.inputs import Inputs, read_inputs, reported_numbers
from epbench.booksort.paper.settings_and_weights import datasets_of, exhibits
from epbench.exhibits.exhibit import Exhibit, Missing, write_exhibits
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import drawing, svg
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.paper.made_trainings import make_training
from tests.booksort.sort_set import write_set

WITHOUT_RUNS = ["Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Table 8", "Table 9", "Table 10"]
ALL = [
    *WITHOUT_RUNS[:5], "Table 7, all that were tried", *WITHOUT_RUNS[5:], "Table 10, all that were tried", "Figure 10",
    "Figure 11", "Figure 11, regression", "Figure 12", "Figure 14", *(f"Figure {n}" for n in range(15, 21)),
    "Appendix F.5",
]  # fmt: skip


def test_without_runs_the_settings_of_the_paper_are_shown():
    made = exhibits(Inputs(runs=(), reported=reported_numbers()))
    assert [one.name for one in made] == ALL
    assert [one.name for one in made if isinstance(one, Exhibit)] == [*WITHOUT_RUNS, "Appendix F.5"]
    for one in made:
        if isinstance(one, Missing):
            assert len(one.needs) > 10 and "--" not in one.needs and ".py" not in one.needs
        else:
            assert {record["source"] for record in one.records} <= {"reported", "own"}
            assert len({tuple(record) for record in one.records}) == 1  # one set of columns


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_set(folder / "booksort")
    plans = {0: mostly_right(0.5, "e0"), 1: mostly_right(0.7, "e1")}
    made = [
        make_run(folder / "in", dataset, mostly_right(0.8), memory="in-context", model="hf:x/Llama-3-8B"),
        make_run(folder / "whole", dataset, mostly_right(0.8), memory="full-book"),
        make_training(folder / "books", dataset, plans),
    ]
    return read_inputs(made)


@pytest.mark.slow
def test_what_was_given_is_shown_and_written(tmp_path, inputs):
    made = exhibits(inputs)
    assert [one.name for one in made] == [*ALL, "Appendix F.5, differences"]
    missing = [one.name for one in made if isinstance(one, Missing)]
    assert missing == ["Table 7, all that were tried", "Table 10, all that were tried", "Figure 12", "Figure 15"]
    write_exhibits(tmp_path / "out", "SORT", made)
    assert (tmp_path / "out/figure-18.svg").is_file() and (tmp_path / "out/appendix-f-05.csv").is_file()
    for one in made:
        if isinstance(one, Exhibit):
            assert all(len(row) == len(one.table.head) for row in one.table.rows)
            assert len({tuple(record) for record in one.records}) == 1
            assert not any(value != value for record in one.records for value in record.values())  # no NaN


def test_numbers_of_the_paper_are_shown_only_if_they_are_given(inputs):
    row = ReportedRow("Mine", "T", "MMLU", "mine", "none", {"mmlu": 50.0}, {}, {}, {})
    for given in (Inputs(runs=()), replace(inputs, reported=())):
        for one in exhibits(given):
            if isinstance(one, Exhibit) and one.name not in (
                "Table 3",
                "Table 4",
            ):  # of these the catalogue and the bins
                assert "reported" not in {record["source"] for record in one.records}, one.name
            assert isinstance(one, Missing) or one.records, one.name
    (table,) = [one for one in exhibits(Inputs(runs=(), reported=[row])) if one.name == "Table 5"]
    assert [record["model"] for record in table.records] == ["mine"]


def test_sets_that_are_gone_are_left_out(tmp_path, inputs):
    dataset = write_set(tmp_path / "gone")
    run = make_run(tmp_path / "r", dataset, mostly_right(0.5))
    assert datasets_of([run]) == [str(dataset)]
    dataset.rename(tmp_path / "moved")
    assert datasets_of([run]) == []


def test_a_set_that_cannot_be_read_is_named(tmp_path):
    dataset = write_set(tmp_path / "set")
    run = make_run(tmp_path / "r", dataset, mostly_right(0.5))
    for path in (dataset / "books").iterdir():
        path.unlink()
    made = {one.name: one for one in exhibits(read_inputs([run]))}
    assert isinstance(made["Table 3"], Missing) and str(dataset) in made["Table 3"].needs
    assert isinstance(made["Table 4"], Exhibit)


def drawn(made):
    """The pictures of all exhibits that have one, by name."""
    with drawing():
        return {one.name: svg(one.draw()) for one in made if isinstance(one, Exhibit) and one.draw}


@pytest.mark.slow
def test_labels_are_text_and_pictures_are_the_same_each_time(inputs):
    hostile = [replace(run, label=f"_{run.label} $x^2$ <b>") for run in inputs.runs]
    trainings = [replace(one, label="_t $x$ <b>") for one in inputs.trainings]
    given = Inputs(hostile, trainings, inputs.reported)
    first, second = drawn(exhibits(given)), drawn(exhibits(given))
    assert first == second and not any("<b>" in picture for picture in first.values())
    assert "_in $x^2$ &lt;b&gt;" in first["Figure 11"] and "_in $x^2$ &lt;b&gt;, 20 words" in first["Figure 14"]
    assert all("_t $x$ &lt;b&gt;" in first[f"Figure {number}"] for number in (16, 17, 18, 19, 20))


def test_a_single_excerpt_and_failed_questions_are_no_error(inputs):
    for run in inputs.runs:
        single = run.questions[(run.questions["excerpt_idx"] == 0) & (run.questions["book_idx"] == 101)]
        empty = dict.fromkeys(("predicted", "written", "p_a", "p_b", "label_mass", "right", "share"))
        for questions in (single, single.assign(outcome="failed", failure="gone", **empty)):
            given = Inputs([replace(run, questions=questions.reset_index(drop=True))])
            pictures = drawn(exhibits(given))
            assert pictures and not any(
                "nan" in picture.lower().replace("dominant", "") for picture in pictures.values()
            )


def test_a_point_that_lost_questions_is_drawn_as_its_range(inputs):
    (run,) = [run for run in inputs.runs if run.memory == "full-book"]
    kept = run.questions["excerpt_idx"] > 0
    outcome, right = run.questions["outcome"].where(kept, "failed"), run.questions["right"].where(kept)
    failed = run.questions.assign(outcome=outcome, right=right)
    whole, lost = (
        {one.name: one for one in exhibits(Inputs([replace(run, questions=questions)]))}["Figure 10"].draw()
        for questions in (run.questions, failed)
    )
    assert [len(axes.lines) for axes in whole.axes] != [len(axes.lines) for axes in lost.axes]
    (dotted,) = [line for line in lost.axes[0].lines if line.get_linestyle() == ":" and line.get_marker() == "_"]
    known = failed[(failed["book_idx"] == 101) & (failed["outcome"] != "failed")]
    asked, right = (failed["book_idx"] == 101).sum(), (known["outcome"] == "right").sum()
    assert list(dotted.get_ydata()) == pytest.approx([right / asked, (right + asked - len(known)) / asked])
