"""Runs on books of several seeds, every cell against a plain recomputation from the journals."""

import math
import statistics

import pytest
from scipy import stats

from epbench.exhibits.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.tulving.paper.inputs import Inputs, read_runs
from epbench.tulving.paper.seeds import ALL_BOOKS, SCORES, exhibits
from tests.tulving.paper.made_runs import make_book, make_run, mean, plain, without_answers

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def folders(script, tmp_path_factory):
    out = tmp_path_factory.mktemp("seeds")
    for seed in SEEDS:
        make_book(script, out / f"books{seed}", "--seed", seed)
        for memory in ("rag-paragraph", "none"):
            make_run(script, out / f"books{seed}/short", memory, out / memory / str(seed))
    make_run(script, out / "books0/short", "rag-paragraph", out / "again", "--top-k", 3)
    return out


@pytest.fixture(scope="module")
def runs(folders):
    return read_runs([folders / memory / str(seed) for memory in ("rag-paragraph", "none") for seed in SEEDS])


def score_of(run, score):
    """A score of a run and the number of questions that it is made of."""
    found = plain(run)
    if score in ("simple_recall_score", *(name for name in SCORES if name.startswith("f1_by_bin"))):
        bins = {}
        for row, question in found:
            if row["get"] == "all" and score in ("simple_recall_score", f"f1_by_bin.{row['bin']}"):
                bins.setdefault(row["bin"], []).append(question["f1"])
        return mean([mean(f1) for f1 in bins.values()]) if bins else None, sum(map(len, bins.values()))
    latest = [question["f1"] for row, question in found if row["get"] == "latest" and row["n_chapters"] > 1]
    ordered = [q["tau"] for row, q in found if row["get"] == "chronological" and len(set(row["answer"])) > 1]
    if score == "latest":
        return mean(latest), len(latest)
    return (mean(latest) + max(0, sum(tau or 0 for tau in ordered) / len(ordered))) / 2, len(latest) + len(ordered)


@pytest.mark.slow
def test_every_cell_is_that_of_the_journals(runs):
    (exhibit,) = exhibits(Inputs(runs))
    cells = {(row[0], row[2], row[3]): row for row in exhibit.table.rows}
    of = {(r["memory"], r["score"], r["book"]): r for r in exhibit.records}
    assert len(of) == len(exhibit.records) == len(cells) == len(exhibit.table.rows)
    seen = 0
    for memory in ("rag-paragraph", "none"):
        group = [run for run in runs if run.memory == memory]
        for score, name in SCORES.items():
            found = [(f"short, {run.fingerprint[:6]}", run, *score_of(run, score)) for run in group]
            found = [one for one in found if one[2] is not None]
            if not found:
                continue
            errors = []
            for book, run, value, n in found:
                record, row = of[memory, score, book], cells[memory, name, book]
                low, high = run.scores["intervals"][score]
                errors.append((high - low) / 2 / stats.norm.ppf(0.975))
                assert (record["value"], record["within"]) == pytest.approx((value, errors[-1]), rel=1e-5)
                assert (record["n"], record["n_books"], record["between"], record["low"]) == (n, 1, None, low)
                assert row[4:] == [f"{value:.3f}", f"{low:.3f}–{high:.3f}", str(n), f"{errors[-1]:.3f}", "–"]
                seen += 2
            if len(found) > 1:
                values = [value for _, _, value, _ in found]
                record, row = of[memory, score, ALL_BOOKS], cells[memory, name, f"{ALL_BOOKS} ({len(found)})"]
                check_all(values, errors, record, row)
                assert record["n"] == sum(n for *_, n in found) == int(row[6])
                seen += 2
    assert seen == 2 * len(exhibit.records)


def check_all(values, errors, record, row):
    """What is said of all books."""
    k, observed, error = len(values), statistics.variance(values), mean([e * e for e in errors])
    between = math.sqrt(max(0, observed - error))
    assert record["value"] == pytest.approx(mean(values))
    assert (record["within"], record["between"]) == pytest.approx((math.sqrt(error), between), rel=1e-4, abs=1e-6)
    assert (row[4], row[7]) == (f"{mean(values):.3f}", f"{record['within']:.3f}")
    if len(set(values)) == 1:
        assert record["low"] is record["between_low"] is None and (row[5], row[8]) == ("–", "0.000")
        return
    half = stats.t.ppf(0.975, k - 1) * math.sqrt(observed * (1 + 1 / k))
    assert (record["low"], record["high"]) == pytest.approx((max(0, mean(values) - half), min(1, mean(values) + half)))
    ends = [math.sqrt(max(0, observed * (k - 1) / stats.chi2.ppf(p, k - 1) - error)) for p in (0.975, 0.025)]
    ends[1] = min(ends[1], max(0.5, between))
    assert (record["between_low"], record["between_high"]) == pytest.approx(ends, rel=1e-4, abs=1e-6)
    assert record["between_low"] <= record["between"] <= record["between_high"]
    assert row[5] == f"{record['low']:.3f}–{record['high']:.3f}"
    assert row[8] == "{between:.3f} ({between_low:.3f}–{between_high:.3f})".format(**record)


@pytest.mark.slow
def test_it_says_what_is_between_and_within_and_draws_the_books(runs):
    (exhibit,) = exhibits(Inputs(runs))
    notes = " ".join(exhibit.table.notes)
    assert "Within a book:" in notes and "Between books:" in notes and notes.count("differ in more") == 1
    assert (
        "The runs of rag-paragraph, lexical differ in more than the book: top_k (a default" in notes
    )  # of none, nothing
    with drawing():
        picture = svg(exhibit.draw())
    for run in runs[:3]:
        assert f"short, {run.fingerprint[:6]}" in picture
    assert "mean ± deviation between books" in picture


@pytest.mark.slow
def test_one_book_alone_has_no_spread(runs):
    for few in ([], runs[:1], [runs[0], runs[3]]):  # two memories on one book
        (missing,) = exhibits(Inputs(few))
        assert isinstance(missing, Missing) and "books of other seeds" in missing.needs
    one, other, *_ = runs
    (exhibit,) = exhibits(Inputs([one, other, runs[3]]))
    assert {record["memory"] for record in exhibit.records} == {"rag-paragraph"}


@pytest.mark.slow
def test_a_second_run_on_a_book_is_left_out_and_other_differences_are_named(runs, folders):
    (again,) = read_runs([folders / "again"])
    (exhibit,) = exhibits(Inputs([*runs[:2], again]))
    assert any(note.startswith("again is left out: it is on the same book as ") for note in exhibit.table.notes)
    (exhibit,) = exhibits(Inputs([again, runs[1]]))
    assert any("differ in more than the book: top_k (" in note for note in exhibit.table.notes)


@pytest.mark.slow
def test_a_book_that_lost_questions_is_a_range_and_not_in_the_mean(runs, tmp_path):
    lost = without_answers(runs[2], tmp_path / "lost", lambda row: row["bin"] == "2" and row["trace"] == "times")
    (exhibit,) = exhibits(Inputs([*runs[:2], lost]))
    of = {(r["score"], r["book"]): r for r in exhibit.records}
    book = f"short, {lost.fingerprint[:6]}"
    record, bin_ = of["f1_by_bin.2", book], [q for row, q in plain(lost) if row["get"] == "all" and row["bin"] == "2"]
    low = sum(question["f1"] for question in bin_ if question) / len(bin_)
    assert record["value"] is record["low"] is record["within"] is None and bin_.count(None)
    assert record["if_failed_wrong"] == pytest.approx(low)
    assert record["if_failed_right"] == pytest.approx(low + bin_.count(None) / len(bin_))
    assert of["f1_by_bin.2", ALL_BOOKS]["n_books"] == 2 and of["f1_by_bin.1", ALL_BOOKS]["n_books"] == 3
    both = mean([score_of(run, "f1_by_bin.2")[0] for run in runs[:2]])
    assert of["f1_by_bin.2", ALL_BOOKS]["value"] == pytest.approx(both)
    assert any("is not in the row of all books" in note for note in exhibit.table.notes)
    (exhibit,) = exhibits(Inputs([runs[1], lost]))
    summary = next(r for r in exhibit.records if (r["score"], r["book"]) == ("f1_by_bin.2", ALL_BOOKS))
    assert summary["value"] is summary["between"] is None and summary["n_books"] == 1
