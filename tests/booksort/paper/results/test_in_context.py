import pytest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.results.by_distance import figure_8, figure_9
from epbench.booksort.paper.results.in_context import figure_3a, figure_3b, table_2
from epbench.exhibits.exhibit import Missing
from tests.booksort.paper.plain_counts import p_against_chance, p_cell, plain_holm, resampled, rows_of, share

NAMES = ("shown", "shown-small", "shown-failed")


def text_of(rows, record):
    """What the cell has to say: the accuracy and half the interval, or a range where questions failed."""
    failed = sum(row.right is None for row in rows)
    if failed:
        right = sum(bool(row.right) for row in rows)
        assert (record["accuracy"], record["ci_low"], record["p"], record["p_holm"]) == (None, None, None, None)
        assert (record["lowest"], record["highest"]) == pytest.approx((right / len(rows), (right + failed) / len(rows)))
        return f"{right / len(rows):.2f}–{(right + failed) / len(rows):.2f} (incomplete)"
    assert record["accuracy"] == share(rows)
    assert (record["ci_low"], record["ci_high"]) == pytest.approx(resampled(rows), abs=0.05)
    return f"{share(rows):.3f} ± {(record['ci_high'] - record['ci_low']) / 2:.3f}"


def test_table_2_counts_what_the_journals_say(given, made, wide_set):
    exhibit = table_2(given)
    assert list(exhibit.table.head[2:]) == [
        "SORT", "SORT, 20 words", "SORT, 50 words", "SORT-extend", "SORT-extend, 20 words", "SORT-extend, 50 words", "n",
        "failed",
    ]  # fmt: skip
    shown = {row[0]: list(row) for row in exhibit.table.rows}
    for name in NAMES:
        rows, texts = rows_of(made[name], wide_set), []
        for part in ("SORT", "SORT-extend"):
            for words in (None, 20, 50):
                inside = [r for r in rows if r.part == part and words in (None, r.pair.segment_length)]
                (record,) = [
                    one for one in exhibit.records
                    if (one["label"], one["part"], one["segment_length"]) == (name, part, words)
                ]  # fmt: skip
                answered = sum(r.right is not None for r in inside)
                assert (record["n"], record["n_failed"]) == (answered, len(inside) - answered)
                texts.append(text_of(inside, record))
        n = sum(r.right is not None for r in rows)
        assert shown[name][2:] == [*texts, str(n), str(len(rows) - n)]
    assert shown["Mixtral-8x22b-inst (reported)"][2] == "0.95 ± 0.02"
    assert shown["Mixtral-8x22b-inst (reported)"][5] == "0.79 ± 0.038"


def test_figure_3a_is_by_the_length_of_excerpts(given, made, wide_set):
    exhibit = figure_3a(given)
    assert [(one["label"], one["excerpt_length"]) for one in exhibit.records] == [
        (name, words) for name in NAMES for words in (120, 250, 6000)
    ]
    for record, row in zip(exhibit.records, exhibit.table.rows, strict=True):
        rows = [
            r for r in rows_of(made[record["label"]], wide_set) if r.pair.excerpt_length == record["excerpt_length"]
        ]
        answered = sum(r.right is not None for r in rows)
        assert list(row[2:]) == [
            str(record["excerpt_length"]), text_of(rows, record), str(answered), str(len(rows) - answered),
        ]  # fmt: skip


def test_figure_3b_is_the_mean_over_runs_and_loses_no_failure(given, made, wide_set):
    exhibit = figure_3b(given)
    runs = [rows_of(made[name], wide_set) for name in NAMES]
    for record in exhibit.records:
        inside = [
            [row.right for row in asked]
            for asked in zip(*runs, strict=True)
            if (asked[0].pair.segment_length, asked[0].pair.excerpt_length, asked[0].pair.distance_bin)
            == (record["segment_length"], record["excerpt_length"], record["distance_bin"])
        ]
        assert record["n"] + record["n_failed"] == len(inside) and record["model"] == "3 runs"
        whole = [sum(right) / 3 for right in inside if None not in right]
        if len(whole) < len(inside):
            assert record["accuracy"] is None and record["n_failed"] == len(inside) - len(whole)
        else:
            assert record["accuracy"] == pytest.approx(sum(whole) / len(whole))
    assert {record["n_failed"] > 0 for record in exhibit.records} == {True, False}


@pytest.mark.parametrize(("make", "words"), [(figure_8, 20), (figure_9, 50)])
def test_figures_8_and_9_have_a_point_for_each_bin(given, made, wide_set, make, words):
    exhibit = make(given)
    for name in NAMES:
        groups = {}
        for row in rows_of(made[name], wide_set):
            if row.pair.segment_length == words:
                groups.setdefault((row.pair.excerpt_length, row.pair.distance_bin), []).append(row)
        known = [rows for _, rows in sorted(groups.items()) if all(row.right is not None for row in rows)]
        corrected = iter(plain_holm([p_against_chance(rows) for rows in known]))
        own = [(one, row) for one, row in zip(exhibit.records, exhibit.table.rows, strict=True) if one["label"] == name]
        assert [(one["excerpt_length"], one["distance_bin"]) for one, _ in own] == sorted(groups)
        for (key, rows), (record, row) in zip(sorted(groups.items()), own, strict=True):
            answered = sum(r.right is not None for r in rows)
            text = text_of(rows, record)
            p = p_cell(next(corrected)) if answered == len(rows) else "–"
            assert list(row[2:]) == [str(words), *map(str, key), text, p, str(answered), str(len(rows) - answered)]


def test_what_is_missing_names_the_run(made):
    inputs = read_inputs([made["base"]])
    for make in (table_2, figure_3a, figure_3b, figure_8, figure_9):
        assert isinstance(make(inputs), Missing) and "memory in-context" in make(inputs).needs
