import pytest
from scipy.stats import binomtest, fisher_exact

from epbench.booksort.paper.inputs import Inputs, read_inputs, read_runs
from epbench.booksort.paper.results.answers import segment_lengths, share_of_a
from epbench.exhibits.exhibit import Missing
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.paper.plain_counts import p_cell, plain_holm, rows_of, share, starred
from tests.booksort.sort_set import write_set


@pytest.mark.slow
def test_the_share_of_a_is_counted_over_answers_that_name_a_segment(tmp_path, given, made, wide_set):
    def plan(pair):
        if pair.excerpt_idx == 0:
            return {"failure": "timeout"}
        return (
            {"answer": "neither"}
            if pair.excerpt_idx == 1
            else {"answer": "A"}
            if pair.excerpt_idx < 5
            else mostly_right(0.6)(pair)
        )

    habit = make_run(tmp_path / "habit", wide_set, plan, memory="rag", retrieved=lambda pair: (True, True))
    exhibit = share_of_a(Inputs([*given.runs, *read_runs([habit])]))
    folders = {**{name: made[name] for name in made if name != "both"}, "habit": habit}
    labels = [run.label for run in given.runs] + ["habit"]
    assert [one["label"] for one in exhibit.records] == labels
    counted = {name: [row for row in rows_of(folders[name], wide_set) if row.said in ("A", "B")] for name in labels}
    said = {name: sum(row.said == "A" for row in rows) for name, rows in counted.items()}
    corrected = plain_holm([binomtest(said[name], len(counted[name])).pvalue for name in labels])
    for record, row, p in zip(exhibit.records, exhibit.table.rows, corrected, strict=True):
        name = record["label"]
        rows = rows_of(folders[name], wide_set)
        n, a = len(counted[name]), said[name] / len(counted[name])
        right = sum(one.pair.answer == "A" for one in counted[name]) / n
        assert (record["share_a"], record["share_a_right"], record["n"]) == (a, right, n)
        assert record["n_failed"] == sum(one.right is None for one in rows)
        assert record["n_neither"] == len(rows) - n - record["n_failed"]
        assert record["p_holm"] == pytest.approx(p) and record["ci_low"] <= a <= record["ci_high"]
        assert list(row[3:]) == [
            f"{a:.3f}", f"{record['ci_low']:.3f}–{record['ci_high']:.3f}", f"{right:.3f}", p_cell(p), str(n),
            str(record["n_neither"]), str(record["n_failed"]),
        ]  # fmt: skip
    assert exhibit.records[-1]["n_neither"] == 40 and exhibit.records[-1]["n_failed"] == 40


def test_the_gain_of_longer_segments(given, made, wide_set):
    exhibit = segment_lengths(given)
    whole = ["base", "base-small", "shown", "shown-small", "searched"]
    p_values = []
    groups = {}
    for name in whole:
        rows = rows_of(made[name], wide_set)
        short, long = ([r for r in rows if r.pair.segment_length == words] for words in (20, 50))
        groups[name] = short, long
        table = [[sum(r.right for r in rows), sum(not r.right for r in rows)] for rows in (long, short)]
        p_values.append(fisher_exact(table).pvalue)
    corrected = dict(zip(whole, plain_holm(p_values), strict=True))
    shown = {row[0]: list(row) for row in exhibit.table.rows}
    for name, (short, long) in groups.items():
        records = [one for one in exhibit.records if one["label"] == name]
        assert [(one["segment_length"], one["accuracy"]) for one in records] == [(20, share(short)), (50, share(long))]
        gain = share(long) - share(short)
        for record in records:
            assert record["gain"] == pytest.approx(gain) and record["gain_low"] < gain < record["gain_high"]
            assert record["gain_p_holm"] == pytest.approx(corrected[name])
        interval = f"[{records[0]['gain_low']:.3f}, {records[0]['gain_high']:.3f}]"
        assert shown[name][5] == f"{gain:+.3f} {interval}{starred(corrected[name])}"
        assert shown[name][3].startswith(f"20: {share(short):.3f}") and shown[name][4].startswith(
            f"50: {share(long):.3f}"
        )
        assert shown[name][6:] == [p_cell(corrected[name]), f"{len(short)} / {len(long)}"]
    assert shown["shown-failed"][5:7] == ["–", "–"] and "(incomplete)" in shown["shown-failed"][3]


def test_runs_in_both_orders_have_a_gain_without_a_test(made):
    exhibit = segment_lengths(Inputs(read_runs([made["both"]])))
    assert {one["gain_p"] for one in exhibit.records} == {None} and exhibit.records[0]["gain"] is not None


def test_one_length_of_segments_has_no_gain(tmp_path):
    dataset = write_set(tmp_path / "set")
    inputs = read_inputs([make_run(tmp_path / "r", dataset, mostly_right(0.5))])
    assert isinstance(segment_lengths(inputs), Missing) and "several configs" in segment_lengths(inputs).needs
    assert isinstance(share_of_a(Inputs(())), Missing)
