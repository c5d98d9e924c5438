"""Figure 10: the accuracy of each bin of distances, with its count and stars, is what the answers say."""

from dataclasses import replace

import pytest

from epbench.booksort.paper.contexts.whole_book import figure_10
from epbench.booksort.paper.inputs import read_runs
from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import drawing, svg
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import pair_rows, write_set, write_tables

BINS = {"0–400": (0, 400), "400–1,000": (400, 1000)}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    rows = pair_rows(1200, 20)  # four distances: 20, 310, 600 and 890 words, of which the second is moved to the edge
    for row in rows:
        row["excerpt_text"] = None  # which would contradict what is moved
        if row["distance"] == 310:
            row["seg2_pos"] = row["seg1_pos"] + 400
    return write_tables(tmp_path_factory.mktemp("set") / "booksort", {("e1200_s20", "test"): rows})


@pytest.fixture(scope="module")
def run(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("runs") / "whole"

    def plan(pair):
        share = 1.0 if pair.distance > 400 else 0.4
        return mostly_right(share, "whole")(pair)

    return make_run(folder, dataset, plan, memory="full-book", model="hf:x/y")


def expected(run, book, ends):
    pairs, found = plain.pairs_of(run), plain.judged(run)
    inside = [id_ for id_, pair in pairs.items() if pair.book_idx == book and ends[0] < pair.distance <= ends[1]]
    return [found[id_] for id_ in inside], [pairs[id_] for id_ in inside]


def test_every_cell_is_that_of_the_answers(run):
    shown = figure_10(read_runs([run]))
    cells = [(book, name) for book in (101, 102) for name in BINS]
    assert [row[1:3] for row in shown.table.rows] == [[str(book), name] for book, name in cells]
    p_values = []
    for record, row, (book, name) in zip(shown.records, shown.table.rows, cells, strict=True):
        right, pairs = expected(run, book, BINS[name])
        assert (record["book"], record["over"], record["up_to"], record["n"]) == (book, *BINS[name], len(right))
        assert record["n_failed"] == 0 and record["source"] == "own" and record["memory"] == "full-book"
        assert record["accuracy"] == pytest.approx(plain.mean(right))
        assert record["mean_distance"] == pytest.approx(plain.mean([pair.distance for pair in pairs]))
        excerpts = [pair.excerpt_idx for pair in pairs]
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(right, excerpts), abs=0.1)
        assert record["p"] == pytest.approx(plain.binomial(sum(right), len(right)))
        least = min(k for k in range(len(right) + 1) if plain.binomial(k, len(right)) <= 0.05) / len(right)
        assert record["needed"] == pytest.approx(least)
        assert row[4:] == [str(len(right)), "0", f"{least:.3f}"]
        p_values.append(record["p"])
    corrected = plain.holm(p_values)
    assert [record["p_holm"] for record in shown.records] == pytest.approx(corrected)
    for record, row, p in zip(shown.records, shown.table.rows, corrected, strict=True):
        stars = "**" if p < 0.01 else "*" if p < 0.05 else ""
        half = (record["high"] - record["low"]) / 2
        assert row[3] == f"{record['accuracy']:.3f} ± {half:.3f}{stars}"
    assert [row[3].endswith("**") for row in shown.table.rows] == [False, True, False, True]


def test_counts_and_stars_stand_in_the_picture(run):
    shown = figure_10(read_runs([run]))
    with drawing():
        picture = svg(shown.draw())
    assert picture.count(">12**<") == 2 and "whole, book 102" in picture and "over 40,000" not in picture


def test_people_stand_below_as_they_are_reported(run):
    scores = {"accuracy_s50": 0.64, "accuracy_s50.over_25000": 0.76, "other": 1.0}
    people = ReportedRow("Paper", "Figure 2", "book 102", "people", "read-once", scores, {}, {}, {}, "155 readers.")
    shown = figure_10(read_runs([run]), [people, replace(people, memory="in-context")])
    assert [row for row in shown.table.rows if "(reported)" in row[0]] == [
        ["people, 50 words (reported)", "102", "all", "0.64", "–", "–", "–"],
        ["people, 50 words (reported)", "102", "over 25,000", "0.76", "–", "–", "–"],
    ]
    reported = [record for record in shown.records if record["source"] == "reported"]
    assert [(r["book"], r["over"], r["accuracy"], r["n"]) for r in reported] == [
        (102, 0, 0.64, None), (102, 25000, 0.76, None),
    ]  # fmt: skip
    assert "Reported: Paper, Figure 2. 155 readers." in shown.table.notes
    with drawing():
        assert svg(shown.draw()).count("people, 50 words") == 1  # in the panel of that book


def test_a_bin_with_failed_questions_is_a_range(tmp_path, dataset):
    def plan(pair):
        failed = pair.book_idx == 101 and pair.excerpt_idx == 0
        return {"answer": "", "failure": "gone"} if failed else mostly_right(0.7)(pair)

    folder = make_run(tmp_path / "r", dataset, plan, memory="full-book")
    shown = figure_10(read_runs([folder]))
    right, _ = expected(folder, 101, (0, 400))
    known = [one for one in right if one is not None]
    assert len(right) - len(known) == 2
    ends = sum(known) / len(right), (sum(known) + 2) / len(right)
    first = shown.records[0]
    assert (first["if_failed_wrong"], first["if_failed_right"]) == pytest.approx(ends)
    assert first["accuracy"] is first["p"] is first["p_holm"] is None and (first["n"], first["n_failed"]) == (10, 2)
    assert shown.table.rows[0][3] == f"{ends[0]:.2f}–{ends[1]:.2f} (incomplete)"
    with drawing():
        assert "r, book 101" in svg(shown.draw())


def test_pairs_asked_twice_are_tested_once(tmp_path):
    dataset = write_set(tmp_path / "booksort")
    folder = make_run(
        tmp_path / "r", dataset, lambda pair: {"answer": pair.answer}, memory="full-book", both_orders=True,
        configs=["e120_s20"],
    )  # fmt: skip
    for record in figure_10(read_runs([folder])).records:
        assert record["needed"] is None and record["n"] == 48
        assert record["p"] == pytest.approx(0.5**24)  # 24 pairs, right both times


@pytest.mark.slow
def test_other_memories_are_not_shown(tmp_path, dataset):
    run = make_run(tmp_path / "r", dataset, mostly_right(0.5), memory="in-context")
    missing = figure_10(read_runs([run]))
    assert isinstance(missing, Missing) and missing.needs.startswith("a run with memory full-book")
