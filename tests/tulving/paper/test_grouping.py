"""F1 by columns and harsh F1, every cell against a plain recomputation from the journals."""

import pytest
from statsmodels.stats.power import tt_ind_solve_power

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.tulving.paper.grouping import GROUPABLE, exhibits, grouped
from epbench.tulving.paper.harsh import ALL_BINS, harsh
from epbench.tulving.paper.inputs import read_runs
from epbench.tulving.questions.generate import BINS
from tests.tulving.paper.made_runs import (
    deviation,
    make_inventing_run,
    make_run,
    mean,
    plain,
    plain_interval,
    without_answers,
)

LISTS = ("reference", "chapters", "items", "scores", "order")


@pytest.fixture(scope="module")
def runs(script, short_book, once):
    def make(out):
        make_run(script, short_book, "rag-paragraph", out / "rag-paragraph")
        make_inventing_run(script, short_book, out / "made")
        make_run(script, short_book, "none", out / "repeated", "--repeats", 2, "--limit", 40)

    folder = once("paper-groups", make)
    return read_runs([folder / "rag-paragraph", folder / "made/inventing"])


@pytest.fixture(scope="module")
def partial_run(runs, tmp_path_factory):
    """Without answers about people, and so partly in every bin."""
    return without_answers(runs[0], tmp_path_factory.mktemp("lost") / "lost", lambda row: row["trace"] == "entities")


def drawn(exhibit):
    with drawing():
        return svg(exhibit.draw())


@pytest.mark.parametrize("columns", [["cue"], ["trace", "get"], ["bin", "origin"], ["n_chapters"], ["time"]])
def test_every_cell_is_that_of_the_journals(runs, columns):
    exhibit = grouped(runs, columns)
    assert len(exhibit.records) == len(exhibit.table.rows)
    seen = 0
    for run in runs:
        of_run = [question for _, question in plain(run)]
        own = [(r, row) for r, row in zip(exhibit.records, exhibit.table.rows, strict=True) if r["label"] == run.label]
        assert {tuple(r[c] for c in columns) for r, _ in own} == {tuple(q[c] for c in columns) for q in of_run}
        for record, row in own:
            of_group = [q for q in of_run if all(q[c] == record[c] for c in columns)]
            f1, harsh_f1 = [q["f1"] for q in of_group], [q["harsh_f1"] for q in of_group]
            assert (record["n"], record["n_failed"]) == (len(f1), 0)
            assert record["f1"] == pytest.approx(mean(f1)) and record["harsh_f1"] == pytest.approx(mean(harsh_f1))
            assert record["f1_sd"] == pytest.approx(deviation(f1)) and record["f1_if_failed_wrong"] is None
            if record["f1_low"] is not None:
                assert record["f1_low"] - 1e-9 <= mean(f1) <= record["f1_high"] + 1e-9
                if len(f1) > 40:
                    clusters = [tuple(q[c] for c in ("time", "space", "entity", "content")) for q in of_group]
                    assert (record["f1_low"], record["f1_high"]) == pytest.approx(
                        plain_interval(f1, clusters), abs=0.03
                    )
            else:
                assert len({tuple(q[c] for c in ("time", "space", "entity", "content")) for q in of_group}) == 1
            sd = "–" if len(f1) == 1 else f"{deviation(f1):.3f}"
            low, high = record["f1_low"], record["f1_high"]
            interval = "–" if low is None else f"{low:.3f}–{high:.3f}"
            names = ["not given" if record[c] is None else str(record[c]) for c in columns]
            smallest = record["smallest_difference"]
            if len(f1) < 3 or len(set(f1)) == 1:
                assert smallest is None
            elif len(f1) > 8:
                effect = tt_ind_solve_power(nobs1=len(f1), alpha=0.05, power=0.8)
                assert smallest == pytest.approx(effect * deviation(f1), rel=0.02)
            shown = [*names, run.label, f"{mean(f1):.3f}", sd, interval, f"{mean(harsh_f1):.3f}", str(len(f1)), "0"]
            assert row == [*shown, "–" if smallest is None else f"{smallest:.3f}"]
            seen += len(f1)
    assert seen == sum(len(plain(run)) for run in runs)


def test_groups_stand_in_the_order_of_the_benchmark(runs):
    rows = grouped(runs, ["bin"]).table.rows
    assert [row[0] for row in rows] == [bin_ for bin_ in BINS if bin_ != "6+" for _ in runs]
    assert grouped(runs, ["bin"]).table.sections == [1, 3, 5]
    assert [row[0] for row in grouped(runs[:1], ["origin"]).table.rows] == ["book", "inner", "outer"]
    numbers = [int(row[0]) for row in grouped(runs[:1], ["template"]).table.rows]
    assert numbers == sorted(numbers) and numbers[-1] == 35
    assert grouped(runs[:1], ["entity"]).table.rows[-1][0] == "not given"


def test_failed_questions_make_a_range_of_the_mean(partial_run):
    exhibit = grouped([partial_run], ["trace", "bin"])
    by_group = {(r["trace"], r["bin"]): (r, row) for r, row in zip(exhibit.records, exhibit.table.rows, strict=True)}
    record, row = by_group["entities", "1"]
    assert record["n"] == record["n_failed"] > 0 and record["f1"] is None and record["f1_low"] is None
    assert (record["f1_if_failed_wrong"], record["f1_if_failed_right"]) == (0, 1) and row[3:6] == [
        "0.000–1.000",
        "–",
        "–",
    ]
    by_bin = grouped([partial_run], ["bin"])
    for record in by_bin.records:
        found = [question for row, question in plain(partial_run) if row["bin"] == record["bin"]]
        f1 = [question["f1"] for question in found if question]
        assert record["n_failed"] == found.count(None) > 0 and record["f1"] is None and record["f1_sd"] is None
        assert record["f1_if_failed_wrong"] == pytest.approx(sum(f1) / len(found))
        assert record["f1_if_failed_right"] == pytest.approx((sum(f1) + found.count(None)) / len(found))
    assert any("A range" in note for note in by_bin.table.notes)
    complete = grouped([partial_run], ["outcome"]).records
    assert {r["outcome"]: r["n_failed"] > 0 for r in complete} == {"right": False, "wrong": False, "failed": True}


def test_a_question_that_was_asked_twice_counts_twice(runs):
    (repeated,) = read_runs([runs[0].folder.parent / "repeated"])
    assert sum(record["n"] for record in grouped([repeated], ["repeat"]).records) == 80
    assert all(record["n"] == 2 for record in grouped([repeated], ["id"]).records)


@pytest.mark.parametrize("column", [*LISTS, "f1", "tau", "bins", ""])
def test_other_columns_are_refused_with_those_there_are(runs, column):
    with pytest.raises(BadInput) as error:
        grouped(runs, ["cue", column])
    assert repr(column) in str(error.value) and ", ".join(GROUPABLE) in str(error.value)
    assert ("a list" in str(error.value)) == (column in LISTS)
    for columns in ([], ["cue", "cue"]):
        with pytest.raises(BadInput, match="grouped by"):
            grouped(runs, columns)
    with pytest.raises(BadInput, match="no run"):
        grouped([], ["cue"])


@pytest.mark.slow
def test_figures_are_drawn_where_they_can_be_read(runs):
    assert "paragraph" in drawn(grouped(runs, ["cue", "trace"]))
    assert grouped(runs, ["id"]).draw is None
    assert drawn(harsh(runs)) == drawn(harsh(runs))


@pytest.mark.slow
def test_harsh_f1_by_bin_is_that_of_the_journals(runs, partial_run):
    exhibit = harsh([*runs, partial_run])
    rows = {
        (record["label"], record["bin"]): row for record, row in zip(exhibit.records, exhibit.table.rows, strict=True)
    }
    for record in exhibit.records:
        run = next(run for run in (*runs, partial_run) if run.label == record["label"])
        asked = [(row, question) for row, question in plain(run) if row["get"] == "all"]
        bins = dict.fromkeys(row["bin"] for row, _ in asked) if record["bin"] == ALL_BINS else [record["bin"]]
        row = rows[run.label, record["bin"]]
        of_bins = [[question for row, question in asked if row["bin"] == bin_] for bin_ in bins]
        assert record["n"] == sum(map(len, of_bins)) and record["n_failed"] == sum(
            found.count(None) for found in of_bins
        )
        assert row[-2:] == [str(record["n"]), str(record["n_failed"])]
        if record["n_failed"]:
            assert (record["f1"], record["harsh_f1"], record["loss"], row[4]) == (None, None, None, "–")
            low = mean([sum(question["harsh_f1"] for question in found if question) / len(found) for found in of_bins])
            lost = mean([found.count(None) / len(found) for found in of_bins])
            assert record["harsh_f1_if_failed_wrong"] == pytest.approx(low)
            assert record["harsh_f1_if_failed_right"] == pytest.approx(low + lost)
            assert row[3] == f"{low:.3f}–{low + lost:.3f}"
        else:
            f1, harsh_f1 = (mean([mean([q[name] for q in found]) for found in of_bins]) for name in ("f1", "harsh_f1"))
            assert record["f1"] == pytest.approx(f1) and record["harsh_f1"] == pytest.approx(harsh_f1)
            assert record["loss"] == pytest.approx(f1 - harsh_f1)
            assert row[2:5] == [f"{f1:.3f}", f"{harsh_f1:.3f}", f"{f1 - harsh_f1:.3f}"]
            if record["bin"] == ALL_BINS:
                assert f1 == pytest.approx(run.scores["simple_recall_score"])
                assert [record["f1_low"], record["f1_high"]] == pytest.approx(
                    run.scores["intervals"]["simple_recall_score"]
                )
            else:
                assert record["f1_sd"] == pytest.approx(deviation([q["f1"] for q in of_bins[0]]))
                name = f"f1_by_bin.{record['bin']}"
                assert [record["f1_low"], record["f1_high"]] == pytest.approx(run.scores["intervals"][name])


def test_who_names_too_much_loses(runs):
    loss = {(record["label"], record["bin"]): record["loss"] for record in harsh(runs).records}
    assert loss["inventing", ALL_BINS] > 0.05 and loss["inventing", "0"] == 0
    assert all(value >= 0 for value in loss.values())


@pytest.mark.slow
def test_what_is_made_of_runs_alone_and_of_columns_too(runs):
    assert [one.name for one in exhibits(runs)] == ["Harsh F1"]
    assert [one.name for one in exhibits(runs, ["cue", "trace"])] == ["F1 by cue, trace", "Harsh F1"]
    (missing,) = exhibits([])
    assert isinstance(missing, Missing) and "get = all" in missing.needs
