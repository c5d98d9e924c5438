import pytest
from scipy.stats import binomtest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.results.by_book import figure_6, figure_7, table_11
from epbench.exhibits.exhibit import Missing
from tests.booksort.paper.plain_counts import plain_holm, resampled, rows_of, share, starred

BASELINE = {"shown": "base", "shown-small": "base-small"}


def groups_of(rows):
    found = {}
    for row in rows:
        found.setdefault((row.pair.book_idx, row.part, row.pair.segment_length), []).append(row)
    return dict(sorted(found.items()))


def test_table_11_has_accuracy_and_gain_by_book(given, made, wide_set):
    exhibit = table_11(given)
    own = {
        (one["label"], one["book_idx"], one["part"], one["segment_length"]): one
        for one in exhibit.records if one["source"] == "own"
    }  # fmt: skip
    shown = {(row[0], row[2]): list(row[3:]) for row in exhibit.table.rows}
    for name, base in BASELINE.items():
        groups, without = (groups_of(rows_of(made[one], wide_set)) for one in (name, base))
        wins = {k: sum(a.right and not b.right for a, b in zip(groups[k], without[k], strict=True)) for k in groups}
        losses = {k: sum(b.right and not a.right for a, b in zip(groups[k], without[k], strict=True)) for k in groups}
        p_values = [binomtest(wins[k], wins[k] + losses[k]).pvalue for k in groups]
        corrected = dict(zip(groups, plain_holm(p_values), strict=True))
        accuracies, differences = {}, {}
        for (book, part, words), rows in groups.items():
            key = (book, part, words)
            record = own[name, *key]
            gain = share(rows) - share(without[key])
            assert (record["accuracy"], record["n"], record["baseline"]) == (share(rows), len(rows), base)
            assert record["gain"] == pytest.approx(gain) and record["gain_n"] == len(rows)
            assert record["gain_p_holm"] == pytest.approx(corrected[key])
            assert record["gain_low"] <= gain <= record["gain_high"]
            assert (record["ci_low"], record["ci_high"]) == pytest.approx(resampled(rows), abs=0.09)
            half = (record["ci_high"] - record["ci_low"]) / 2
            accuracies.setdefault(book, []).append(f"{share(rows):.3f} ± {half:.3f}")
            interval = f"[{record['gain_low']:.2f}, {record['gain_high']:.2f}]"
            differences.setdefault(book, []).append(f"{gain:+.2f} {interval}{starred(corrected[key])}")
        for book, texts in accuracies.items():
            assert shown[name, str(book)] == [*texts, *differences[book]]
    for (label, _), texts in shown.items():  # no baseline of this model
        assert label != "shown-failed" or texts[4:] == ["–"] * 4


def test_table_11_has_the_papers_rows_and_a_warning(given):
    exhibit = table_11(given)
    (row,) = [r for r in exhibit.table.rows if r[0] == "GPT-3.5-turbo (reported)" and r[2] == "69087"]
    assert list(row[3:7]) == ["0.86 ± 0.03", "0.88 ± 0.03", "–", "0.69 ± 0.04"]
    assert sum(one["source"] == "reported" for one in exhibit.records) == 36 * 2 + 27 * 4 + 18 * 2 + 9 * 3
    assert any("no targets" in note for note in exhibit.table.notes)


def test_table_11_says_that_there_is_no_baseline(made):
    exhibit = table_11(read_inputs([made["shown"]], reported=()))
    assert {one["gain"] for one in exhibit.records} == {None} and len(exhibit.table.head) == 7
    assert any("memory none" in note for note in exhibit.table.notes)


@pytest.mark.parametrize(
    ("make", "names"), [(figure_6, ("base", "base-small")), (figure_7, ("shown", "shown-small", "shown-failed"))]
)
def test_figures_6_and_7_have_a_point_for_each_book(given, made, wide_set, make, names):
    exhibit = make(given)
    assert [(one["label"], one["book_idx"]) for one in exhibit.records] == [(n, b) for n in names for b in (101, 102)]
    for record, row in zip(exhibit.records, exhibit.table.rows, strict=True):
        rows = [r for r in rows_of(made[record["label"]], wide_set) if r.pair.book_idx == record["book_idx"]]
        failed = sum(r.right is None for r in rows)
        right = sum(bool(r.right) for r in rows)
        if failed:
            text = f"{right / len(rows):.2f}–{(right + failed) / len(rows):.2f} (incomplete)"
        else:
            assert record["accuracy"] == right / len(rows)
            text = f"{right / len(rows):.3f} ± {(record['ci_high'] - record['ci_low']) / 2:.3f}"
        assert list(row[2:]) == [str(record["book_idx"]), text, str(len(rows) - failed), str(failed)]


def test_what_is_missing_names_the_run(made):
    assert "in-context" in table_11(read_inputs([made["base"]])).needs
    assert isinstance(figure_7(read_inputs([made["base"]])), Missing)
    assert isinstance(figure_6(read_inputs([made["shown"]])), Missing)
