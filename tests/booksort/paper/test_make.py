import dataclasses

import pytest

from epbench.booksort.paper import make
from epbench.booksort.paper.inputs import Inputs, read_runs
from epbench.booksort.paper.results.baseline import figure_5
from epbench.exhibits.exhibit import Exhibit, Missing, write_exhibits
from epbench.reports.figures import drawing, svg
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import write_set

OURS = (
    "Table 1", "Figure 2", "Table 2", "Figure 3a", "Figure 3b", "Figure 4a", "Figure 4b", "Share of A", "Figure 5",
    "Segment lengths", "Table 11", "Figure 6", "Figure 7", "Figure 8", "Figure 9", "Figure 13",
)  # fmt: skip


@pytest.fixture(scope="module")
def found(given):
    return make.exhibits(given)


def test_everything_is_made_in_the_order_of_the_paper(found):
    assert [one.name for one in found if one.name in OURS] == list(OURS)
    assert all(isinstance(one, Exhibit) for one in found if one.name in OURS)
    for one in found:
        if isinstance(one, Exhibit) and one.name in OURS:
            keys = list(one.records[0])
            assert all(list(record) == keys for record in one.records), one.name
            assert {"source", "label", "model", "memory"} <= set(keys)
            assert all(value == value for record in one.records for value in record.values()), "NaN"
            assert all(len(row) == len(one.table.head) for row in one.table.rows)


def test_without_runs_each_says_what_it_needs():
    for one in make.exhibits(Inputs((), (), ())):
        if one.name in OURS:
            assert isinstance(one, Missing) and "run" in one.needs


@pytest.mark.slow
def test_figures_name_their_runs_and_are_the_same_each_time(given):
    hostile = [dataclasses.replace(run, label=f"{run.label} $x^2$ <b>") for run in given.runs]
    for one in make.exhibits(Inputs(hostile, (), given.reported)):
        if isinstance(one, Exhibit) and one.draw and one.name in OURS:
            with drawing():
                first, second = svg(one.draw()), svg(one.draw())
            assert first == second, one.name
            labels = {record["label"] for record in one.records if record["source"] == "own"}
            for label in labels:
                escaped = str(label).replace("<", "&lt;").replace(">", "&gt;")
                assert escaped in first or label == "mean of the runs" or one.name.startswith("Figure 3b"), one.name
            assert "<b>" not in first


@pytest.mark.slow
def test_the_folder_of_exhibits_is_written(tmp_path, found):
    some = ("Table 1", "Table 11", "Figure 3a", "Figure 13", "Share of A")
    write_exhibits(tmp_path / "out", "Book-SORT", [one for one in found if one.name in some])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"table-01.csv", "table-11.md", "figure-03a.svg", "figure-13.csv", "share-of-a.svg", "tables.html"} <= names
    head = (tmp_path / "out/table-01.csv").read_text().splitlines()[0]
    assert head.startswith("source,label,model,memory,segment_length,accuracy,ci_low,ci_high")


@pytest.mark.slow
def test_a_run_on_one_config_and_a_single_excerpt_is_no_error(tmp_path):
    dataset = write_set(tmp_path / "set")
    only = make_run(tmp_path / "one", dataset, mostly_right(0.5), memory="in-context", configs=["e120_s20"])
    (run,) = read_runs([only])
    single = run.questions[(run.questions["excerpt_idx"] == 0) & (run.questions["book_idx"] == 101)]
    for questions in (run.questions, single, single.assign(outcome="failed")):
        for one in make.exhibits(Inputs([dataclasses.replace(run, questions=questions.reset_index(drop=True))])):
            if isinstance(one, Exhibit) and one.draw:
                with drawing():
                    assert "nan" not in svg(one.draw()).lower().replace("dominant", "")


def test_runs_on_other_pairs_are_not_averaged(made):
    runs = read_runs([made["base"], made["base-small"]])
    moved = runs[0].questions.assign(seg1_pos=runs[0].questions["seg1_pos"] + 1)
    other = dataclasses.replace(runs[0], label="other", fingerprint="other", questions=moved)
    figure = figure_5(Inputs([other, *runs]))
    assert isinstance(figure, Exhibit) and figure.records == figure_5(Inputs(runs)).records
    assert any(note == "Left out of the mean, as they are about other pairs: other." for note in figure.table.notes)
    assert figure_5(Inputs([other, runs[0]])).records[0]["label"] == "other"


@pytest.mark.slow
def test_an_interval_without_width_is_explained(tmp_path, wide_set, found):
    always = read_runs([make_run(tmp_path / "all", wide_set, mostly_right(1.0), memory="in-context")])
    for one in make.exhibits(Inputs([*always])):
        if one.name in ("Table 2", "Figure 3a", "Figure 7", "Figure 8", "Table 11"):
            assert any(note.startswith("± 0.000") for note in one.table.notes), one.name
    assert not any(note.startswith("± 0.000") for one in found if one.name == "Table 2" for note in one.table.notes)
