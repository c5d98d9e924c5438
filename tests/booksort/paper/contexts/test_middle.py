"""Figure 11: the accuracy of pairs in each third, and the odds of a regression, are those of the answers."""

import math
import random

import numpy as np
import pytest
import statsmodels.api as sm

from epbench.booksort.paper.contexts.middle import APART, THIRDS, figure_11
from epbench.booksort.paper.inputs import read_runs
from epbench.exhibits.exhibit import Missing
from epbench.reports.figures import drawing, svg
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import pair_rows, write_tables

LENGTHS = (120, 240)


def rows(length):
    """Pairs whose positions lie anywhere, without the texts of excerpts, which they would contradict."""
    made, draws = [], random.Random(length)
    for row in pair_rows(length, 20):
        for copy in range(8):
            first = draws.randrange(length - 50)
            second = first + 20 + draws.randrange(length - 40 - first)
            id_ = f"{row['id']}-{copy}"
            made.append(row | {"id": id_, "seg1_pos": first, "seg2_pos": second, "excerpt_text": None})
    return made


def third(pair):
    thirds = [3 * position // pair.excerpt_length for position in pair.positions]
    return THIRDS[thirds[0]] if thirds[0] == thirds[1] else APART


def lost(pair):
    return mostly_right(0.45 if third(pair) == "middle" else 0.85, "lost")(pair)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_tables(folder / "booksort", {(f"e{n}_s20", "test"): rows(n) for n in LENGTHS})
    return [
        make_run(folder / "lost", dataset, lost, memory="in-context", model="m1"),
        make_run(folder / "even", dataset, mostly_right(0.7, "even"), memory="in-context", model="m2"),
        make_run(folder / "none", dataset, mostly_right(0.5), memory="none", model="m1"),
    ]


@pytest.fixture(scope="module")
def made(folders):
    return figure_11(read_runs(folders))


def test_every_point_is_the_accuracy_of_its_pairs(made, folders):
    shown = made[0]
    for record in shown.records:
        run = next(folder for folder in folders if folder.name == record["label"])
        pairs, found = plain.pairs_of(run), plain.judged(run)
        inside = [
            id_
            for id_, pair in pairs.items()
            if pair.excerpt_length == record["excerpt_length"] and third(pair) == record["position"]
        ]
        right = [found[id_] for id_ in inside]
        assert record["accuracy"] == pytest.approx(plain.mean(right)) and record["n"] == len(right)
        assert record["mean_distance"] == pytest.approx(plain.mean([pairs[id_].distance for id_ in inside]))
        excerpts = [(pairs[id_].book_idx, pairs[id_].excerpt_idx) for id_ in inside]
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(right, excerpts), abs=0.06)
        line = [run.name, record["model"], str(record["excerpt_length"])]
        (row,) = (row for row in shown.table.rows if row[:3] == line)
        cell = row[shown.table.head.index(record["position"])]
        half = (record["high"] - record["low"]) / 2
        assert cell == f"{record['accuracy']:.3f} ± {half:.3f} ({len(right)})"
    assert [row[:3] for row in shown.table.rows] == [[n, m, str(k)] for n, m in RUNS for k in LENGTHS]
    assert {record["position"] for record in shown.records} == {*THIRDS, APART}


RUNS = (("lost", "m1"), ("even", "m2"))


def test_the_picture_has_a_panel_for_each_run(made):
    with drawing():
        picture = svg(made[0].draw())
    assert all(f">{text}<" in picture for text in ("lost", "even", "120 words", "240 words", "chance", "middle"))
    assert ">none<" not in picture


def regression(run):
    """Coefficients and p-values of `middle` and `middle x length`, with errors clustered by excerpt."""
    pairs, found = plain.pairs_of(run), plain.judged(run)
    length = [math.log(pair.excerpt_length) for pair in pairs.values()]
    far = [math.log(pair.distance) for pair in pairs.values()]
    inside = [float(third(pair) == "middle") for pair in pairs.values()]
    columns = [
        [1.0, inside[i], inside[i] * (length[i] - plain.mean(length)), length[i] - plain.mean(length), far[i]]
        for i in range(len(inside))
    ]
    names = {name: i for i, name in enumerate({(p.book_idx, p.config, p.excerpt_idx) for p in pairs.values()})}
    clusters = [names[p.book_idx, p.config, p.excerpt_idx] for p in pairs.values()]
    fit = sm.Logit(np.array([float(found[id_]) for id_ in pairs]), np.array(columns)).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": np.array(clusters)}
    )
    return {name: (fit.params[i], fit.pvalues[i]) for i, name in ((1, "middle"), (2, "middle x length"))}


def test_the_regression_is_that_of_the_answers_and_corrected_over_runs(made, folders):
    shown = made[1]
    expected = {folder.name: regression(folder) for folder in folders[:2]}
    for term in ("middle", "middle x length"):
        records = [record for record in shown.records if record["term"] == term]
        assert [record["label"] for record in records] == ["lost", "even"]
        p_values = [expected[record["label"]][term][1] for record in records]
        assert [record["p"] for record in records] == pytest.approx(p_values, rel=1e-3)
        assert [record["p_holm"] for record in records] == pytest.approx(plain.holm(p_values), rel=1e-3)
        column = shown.table.head.index(term)
        for record, row in zip(records, shown.table.rows, strict=True):
            coefficient = expected[record["label"]][term][0]
            assert record["coefficient"] == pytest.approx(coefficient, abs=1e-3)
            assert record["odds_ratio"] == pytest.approx(math.exp(coefficient), rel=1e-3)
            ends = math.exp(record["low"]), math.exp(record["high"])
            assert row[column] == f"{record['odds_ratio']:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"
            assert row[column + 1 : column + 3] == [f"{record['p']:.2g}", f"{record['p_holm']:.2g}"]
            assert row[2:5] == [str(record["n"]), str(record["n_in_middle"]), "0"]
    first = shown.records[0]
    assert first["p_holm"] < 0.01 and first["odds_ratio"] < 0.5
    pairs, found = plain.pairs_of(folders[0]), plain.judged(folders[0])
    middle = [found[id_] for id_, pair in pairs.items() if third(pair) == "middle"]
    assert (first["n_in_middle"], first["accuracy_in_middle"]) == (len(middle), pytest.approx(plain.mean(middle)))
    elsewhere = [found[id_] for id_, pair in pairs.items() if third(pair) != "middle"]
    assert first["accuracy_elsewhere"] == pytest.approx(plain.mean(elsewhere))


def test_what_cannot_be_estimated_is_said(tmp_path, folders):
    dataset = folders[0].parent / "booksort"
    run = make_run(tmp_path / "all", dataset, lambda pair: {"answer": pair.answer}, memory="in-context")
    shown = figure_11(read_runs([run]))[1]
    assert shown.table.rows[0][5:] == ["–"] * 6 and shown.records[0]["p"] is None
    assert any(note.startswith("all: only 0 wrong answers") for note in shown.table.notes)


def test_runs_with_other_memories_are_not_shown(folders):
    missing = figure_11(read_runs(folders[2:]))
    assert [one.name for one in missing] == ["Figure 11", "Figure 11, regression"]
    assert all(isinstance(one, Missing) and one.needs == "in-context runs" for one in missing)
