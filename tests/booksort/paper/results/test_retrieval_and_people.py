import itertools

import pytest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.results.people import figure_2
from epbench.booksort.paper.results.retrieval import figure_4a, figure_4b
from epbench.exhibits.exhibit import Missing
from tests.booksort.paper.plain_counts import p_against_chance, p_cell, plain_holm, rows_of, share

EDGES = (0, 100, 200, 400, 1000, 1500, 4000, 10000, 16500, 25000, 40000)


def bins_of(rows):
    found = {}
    for words in (20, 50):
        for low, high in itertools.pairwise(EDGES):
            if inside := [r for r in rows if r.pair.segment_length == words and low < r.pair.distance <= high]:
                found[words, low, high] = inside
    return found


def check(exhibit, label, rows):
    expected = bins_of(rows)
    own = [(one, row) for one, row in zip(exhibit.records, exhibit.table.rows, strict=True) if one["label"] == label]
    corrected = plain_holm([p_against_chance(inside) for inside in expected.values()])
    for ((words, low, high), inside), p, (record, row) in zip(expected.items(), corrected, own, strict=True):
        assert (record["segment_length"], record["over"], record["up_to"]) == (words, low, high)
        assert (record["accuracy"], record["n"], record["p_holm"]) == (share(inside), len(inside), pytest.approx(p))
        assert list(row[2:4]) == [str(words), f"{low}–{high}"] and row[4].split(" ±")[0] == f"{share(inside):.3f}"
        assert list(row[5:]) == [p_cell(p), str(len(inside)), "0"]


def test_figure_4a_is_about_all_questions(given, made, wide_set):
    exhibit = figure_4a(given)
    check(exhibit, "searched", rows_of(made["searched"], wide_set))
    assert any("searched: similarity" in note for note in exhibit.table.notes)


def test_figure_4b_is_about_what_was_shown_in_order(given, made, wide_set):
    exhibit = figure_4b(given)
    rows = rows_of(made["searched"], wide_set)
    in_order = [row for row in rows if row.pair.distance_bin > 200]  # as the run was made
    check(exhibit, "searched", in_order)
    assert any(f"searched: {len(in_order) / len(rows):.3f}" in note for note in exhibit.table.notes)


def test_figure_2_shows_runs_without_an_excerpt_beside_people(given, made, wide_set):
    exhibit = figure_2(given)
    for name in ("base", "base-small", "searched"):
        check(exhibit, name, rows_of(made[name], wide_set))
    people = [one for one in exhibit.records if one["source"] == "reported"]
    assert [(one["segment_length"], one["over"], one["accuracy"]) for one in people] == [
        (20, None, 0.56), (50, None, 0.64), (50, 25000, 0.76),
    ]  # fmt: skip
    assert [list(row[:5]) for row in exhibit.table.rows[-3:]] == [
        ["people (reported)", "read-once", "20", "all", "0.56"],
        ["people (reported)", "read-once", "50", "all", "0.64"],
        ["people (reported)", "read-once", "50", "over 25000", "0.76"],
    ]
    assert {one["label"] for one in exhibit.records} == {"base", "base-small", "searched", "people"}


def test_what_is_missing_names_the_run(made):
    inputs = read_inputs([made["shown"]])
    assert "memory rag" in figure_4a(inputs).needs and isinstance(figure_4b(inputs), Missing)
    assert "full-book" in figure_2(inputs).needs
