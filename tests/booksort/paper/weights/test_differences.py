"""Figures 18 and 19: every cell is what the answers of two checkpoints say, pair by pair."""

import math
from itertools import combinations

import pytest
from scipy.stats import norm, ttest_rel

from epbench.booksort.paper.weights.differences import compared, figure_18, figure_19
from epbench.booksort.paper.weights.trainings import by_base, checkpoints, part, read_training
from epbench.reports.figures import drawing, svg
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import mostly_right
from tests.booksort.paper.made_trainings import make_training
from tests.booksort.sort_set import write_set


def failing(pair):
    return {"answer": "", "failure": "no answer"} if pair.excerpt_idx == 1 else mostly_right(0.9, "e2")(pair)


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainings")
    dataset = write_set(folder / "booksort")
    plans = {0: mostly_right(0.3, "e0"), 1: mostly_right(0.95, "e1"), 2: failing}
    books = make_training(folder / "books", dataset, plans)
    control = make_training(
        folder / "control", dataset, {0: plans[0], 1: mostly_right(0.5, "c1")}, control="instructions"
    )
    return [read_training(books, "books"), read_training(control, "control")]


@pytest.fixture(scope="module")
def runs(group):
    return checkpoints(group)


def test_the_model_before_training_is_there_once(group, runs):
    assert list(runs) == ["before training", "books, epoch 1", "books, epoch 2", "control, epoch 1"]
    assert list(by_base(group)) == ["tiny"] and part("Figure 18", "tiny", by_base(group)) == "Figure 18"


def expected_of(one, other):
    first, second = plain.judged(one), plain.judged(other)
    shared = [id_ for id_ in first if first[id_] is not None and second[id_] is not None]
    pairs = plain.pairs_of(one)
    differences = [int(first[id_]) - int(second[id_]) for id_ in shared]
    excerpts = [(pairs[id_].book_idx, pairs[id_].excerpt_idx) for id_ in shared]
    return [first[id_] for id_ in shared], [second[id_] for id_ in shared], differences, excerpts


def smallest(differences):
    """Two-sided at 0.05 with a power of 0.8, by the normal approximation."""
    middle = plain.mean(differences)
    deviation = math.sqrt(sum((d - middle) ** 2 for d in differences) / (len(differences) - 1))
    return (norm.ppf(0.975) + norm.ppf(0.8)) * deviation / math.sqrt(len(differences))


def test_figure_18_is_mcnemar_of_each_two(runs):
    shown = figure_18("Figure 18", "tiny", compared(runs))
    expected_p = []
    for record, row, (one, other) in zip(shown.records, shown.table.rows, combinations(runs, 2), strict=True):
        first, second, differences, excerpts = expected_of(runs[one], runs[other])
        wins, losses = differences.count(1), differences.count(-1)
        assert (record["first"], record["second"], record["n"]) == (one, other, len(first))
        assert record["first_accuracy"] == pytest.approx(plain.mean(first))
        assert record["second_accuracy"] == pytest.approx(plain.mean(second))
        assert record["difference"] == pytest.approx(plain.mean(differences))
        assert (record["wins"], record["ties"], record["losses"]) == (wins, differences.count(0), losses)
        assert record["p"] == pytest.approx(plain.mcnemar(wins, losses))
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(differences, excerpts), abs=0.05)
        assert record["smallest_difference"] == pytest.approx(smallest(differences), rel=0.1)
        expected_p.append(plain.mcnemar(wins, losses))
        assert row[:3] == [f"{one} / {other}", str(len(first)), f"{plain.mean(first):.3f} / {plain.mean(second):.3f}"]
        assert row[3].startswith(f"{plain.mean(differences):+.3f} (")
        assert row[4:6] == [f"{wins} / {differences.count(0)} / {losses}", f"{record['p']:.2g}"]
        assert row[8] == f"{record['smallest_difference']:.3f}"
    corrected = plain.holm(expected_p)
    assert [record["p_holm"] for record in shown.records] == pytest.approx(corrected)
    assert [row[6] for row in shown.table.rows] == [f"{p:.2g}" for p in corrected]
    assert {record["n"] for record in shown.records} == {48, 40} and min(corrected) < 0.001
    assert any("8 failed questions are left out" in note for note in shown.table.notes)


def test_figure_19_is_a_t_test_of_each_two_in_both_directions(runs):
    shown = figure_19("Figure 19", "tiny", compared(runs))
    tests = []
    for record, (one, other) in zip(shown.records, combinations(runs, 2), strict=True):
        first, second = plain.log_ratios(runs[one]), plain.log_ratios(runs[other])
        shared = [id_ for id_ in first if id_ in second]
        mine, theirs = [first[id_] for id_ in shared], [second[id_] for id_ in shared]
        assert record["n"] == len(shared)
        assert record["difference"] == pytest.approx(plain.mean(mine) - plain.mean(theirs))
        for way, alternative in (("higher", "greater"), ("lower", "less")):
            expected = ttest_rel(mine, theirs, alternative=alternative).pvalue
            assert record[f"p_{way}"] == pytest.approx(expected, rel=1e-6)
            tests.append(expected)
        differences = [a - b for a, b in zip(mine, theirs, strict=True)]
        assert record["smallest_difference"] == pytest.approx(smallest(differences), rel=0.1)
    found = [record[f"p_{way}_holm"] for record in shown.records for way in ("higher", "lower")]
    assert found == pytest.approx(plain.holm(tests), rel=1e-6)
    for record, row in zip(shown.records, shown.table.rows, strict=True):
        names = ("p_higher", "p_lower", "p_higher_holm", "p_lower_holm")
        assert row[3:7] == [f"{record[name]:.2g}" for name in names]
        assert row[:2] == [f"{record['first']} / {record['second']}", str(record["n"])]


def test_cells_are_marked_by_the_corrected_p(runs):
    shown = figure_18("Figure 18", "tiny", compared(runs))
    with drawing():
        picture = svg(shown.draw())
    below = sum(record["p_holm"] < 0.05 for record in shown.records)
    assert picture.count("*</text>") == 2 * below
    assert 0 < below < len(shown.records)


@pytest.mark.slow
def test_trainings_of_two_models_are_shown_apart(tmp_path):
    dataset = write_set(tmp_path / "booksort")
    plans = {0: mostly_right(0.5), 1: mostly_right(0.6)}
    made = [
        make_training(tmp_path / name, dataset, plans, model=model, weights=weights, kinds=["sort"])
        for name, model, weights in (("a", "hf:x/one", "1"), ("b", "hf:y/one", "2"), ("c", "hf:x/two", "3"))
    ]
    groups = by_base([read_training(folder, folder.name) for folder in made])
    assert {name: [one.label for one in of] for name, of in groups.items()} == {
        "one": ["a"],
        "one (2)": ["b"],
        "two": ["c"],
    }
    assert part("Figure 18", "two", groups) == "Figure 18, two"
