import itertools

import pytest

from epbench.booksort.paper.inputs import Inputs, read_inputs, read_runs
from epbench.booksort.paper.results.baseline import figure_5, figure_13, table_1
from epbench.exhibits.exhibit import Missing
from tests.booksort.paper.plain_counts import p_against_chance, p_cell, plain_holm, resampled, rows_of, share

EDGES = (0, 100, 200, 400, 1000, 1500, 4000, 10000, 16500, 25000, 40000)


def by_length(rows):
    return {words: [row for row in rows if row.pair.segment_length == words] for words in (20, 50)}


def test_table_1_counts_what_the_journals_say(given, made, wide_set):
    exhibit = table_1(given)
    own = [record for record in exhibit.records if record["source"] == "own"]
    assert [record["label"] for record in own] == ["base", "base", "base-small", "base-small"]
    texts = {row[0]: list(row[2:]) for row in exhibit.table.rows}
    for name in ("base", "base-small"):
        groups = by_length(rows_of(made[name], wide_set))
        corrected = plain_holm([p_against_chance(rows) for rows in groups.values()])
        cells = []
        for (words, rows), p in zip(groups.items(), corrected, strict=True):
            (record,) = [one for one in own if one["label"] == name and one["segment_length"] == words]
            assert (record["accuracy"], record["n"], record["n_failed"]) == (share(rows), len(rows), 0)
            assert (record["p"], record["p_holm"]) == pytest.approx((p_against_chance(rows), p))
            assert (record["ci_low"], record["ci_high"]) == pytest.approx(resampled(rows), abs=0.03)
            assert record["smallest_above_chance"] == pytest.approx(0.5 + 1.40079 / len(rows) ** 0.5, abs=1e-4)
            half = (record["ci_high"] - record["ci_low"]) / 2
            cells += [f"{share(rows):.3f} ± {half:.3f}", p_cell(p), str(len(rows))]
        assert texts[name] == cells


def test_table_1_has_the_papers_rows_beside_ones_own(given):
    exhibit = table_1(given)
    (llama,) = [row for row in exhibit.table.rows if row[0] == "Llama3-8b-inst (reported)"]
    assert list(llama[2:]) == ["0.51 ± 0.008", "–", "–", "0.52 ± 0.007", "–", "–"]
    (record,) = [
        one for one in exhibit.records
        if (one["source"], one["model"], one["segment_length"]) == ("reported", "Llama3-8b-inst", 50)
    ]  # fmt: skip
    assert (record["accuracy"], record["ci_low"], record["ci_high"], record["p"]) == (0.52, 0.513, 0.527, None)
    assert any("Table 1" in note for note in exhibit.table.notes)


def test_both_orders_are_tested_by_pairs(made, wide_set):
    exhibit = table_1(Inputs(read_runs([made["both"]])))
    for record in exhibit.records:
        rows = [
            row for row in rows_of(made["both"], wide_set, swapped=True)
            if row.pair.segment_length == record["segment_length"]
        ]  # fmt: skip
        times = {}
        for row in rows:
            times.setdefault(row.pair.id.removesuffix("/swapped"), []).append(row.right)
        units = [right[0] for right in times.values() if right[0] == right[1]]
        from scipy.stats import binomtest

        assert record["p"] == pytest.approx(binomtest(sum(units), len(units)).pvalue)
        assert record["accuracy"] == share(rows) and record["n"] == len(rows)


def test_figure_13_has_a_point_for_each_bin_of_words(given, made, wide_set):
    exhibit = figure_13(given)
    for name in ("base", "base-small"):
        rows = rows_of(made[name], wide_set)
        expected = {}
        for words in (20, 50):
            for low, high in itertools.pairwise(EDGES):
                if inside := [r for r in rows if r.pair.segment_length == words and low < r.pair.distance <= high]:
                    expected[words, low, high] = inside
        found = {
            (one["segment_length"], one["over"], one["up_to"]): one for one in exhibit.records if one["label"] == name
        }
        assert found.keys() == expected.keys() and len(found) > 6
        corrected = plain_holm([p_against_chance(inside) for inside in expected.values()])
        shown = [row for row in exhibit.table.rows if row[0] == name]
        for (key, inside), p, row in zip(expected.items(), corrected, shown, strict=True):
            assert (found[key]["accuracy"], found[key]["n"]) == (share(inside), len(inside))
            assert found[key]["mean_distance"] == pytest.approx(sum(r.pair.distance for r in inside) / len(inside))
            assert found[key]["p_holm"] == pytest.approx(p)
            assert list(row[2:4]) == [str(key[0]), f"{key[1]}–{key[2]}"] and row[4].startswith(f"{share(inside):.3f}")
            assert list(row[5:]) == [p_cell(p), str(len(inside)), "0"]


def test_figure_5_is_the_mean_over_runs(given, made, wide_set):
    exhibit = figure_5(given)
    first, second = (rows_of(made[name], wide_set) for name in ("base", "base-small"))
    for record in exhibit.records:
        inside = [
            (bool(a.right) + bool(b.right)) / 2
            for a, b in zip(first, second, strict=True)
            if a.pair.segment_length == record["segment_length"] and record["over"] < a.pair.distance <= record["up_to"]
        ]
        assert (record["accuracy"], record["n"]) == (pytest.approx(sum(inside) / len(inside)), len(inside))
        assert (record["label"], record["model"]) == ("mean of the runs", "2 runs")
    assert "Wilcoxon" in " ".join(exhibit.table.notes) and "McNemar" not in " ".join(exhibit.table.notes)


def test_one_run_is_its_own_mean(made):
    inputs = Inputs(read_runs([made["base"]]))
    assert figure_5(inputs).records == figure_13(inputs).records
    assert "binomial" in " ".join(figure_5(inputs).table.notes)


def test_without_a_run_there_is_nothing(made):
    inputs = read_inputs([made["shown"]])
    for make in (table_1, figure_5, figure_13):
        assert isinstance(make(inputs), Missing) and "memory none" in make(inputs).needs
