"""Table 8: the recall of each query is what the journal of the search says."""

import json

import pytest

from epbench.booksort.paper.inputs import read_runs
from epbench.booksort.paper.settings.queries import table_8
from epbench.draws import RandomStream
from epbench.exhibits.reported import ReportedRow
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import write_set

REPORTED = ReportedRow(
    "Paper", "Table 8", "e250_s50", "bge", "rag", {"recall_at_10.0": 0.728, "recall_at_10.8": 0.906}, {}, {}, {}
)


def found(pair):
    both = RandomStream("found", pair.id).unit() < 0.6
    return both, both


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_set(folder / "booksort")
    made = []
    for name, query, orders in (("first", 8, False), ("again", 8, False), ("other", 2, True)):
        more = {"retriever": "bm25", "query": query}
        made.append(
            make_run(
                folder / name, dataset, mostly_right(0.6), memory="rag", configs=["e120_s20"], more=more,
                retrieved=found, both_orders=orders,
            )
        )  # fmt: skip
    return [*made, make_run(folder / "none", dataset, mostly_right(0.6))]


def recall(run):
    """Of the pairs as they stand in the set: whether each segment was among the first ten passages."""
    shares = {}
    for line in (run / "retrieved.jsonl").read_text().splitlines():
        record = json.loads(line)
        if not record["id"].endswith("/swapped"):
            shares[record["id"]] = [float(rank is not None and rank < 10) for rank in record["ranks"]]
    return shares


def test_every_cell_is_that_of_the_journal(folders):
    shown = table_8(read_runs(folders), [REPORTED])
    own = [record for record in shown.records if record["source"] == "own"]
    columns = ["bge (reported)", "bm25, e120_s20, test", "again: bm25, e120_s20, test"]
    assert shown.table.head == ["no.", "query", *columns]
    assert [(record["label"], record["query"]) for record in own] == [("first", 8), ("again", 8), ("other", 2)]
    for record, run in zip(own, folders, strict=False):
        shares, pairs = recall(run), plain.pairs_of(run)
        values = [plain.mean(shares[id_]) for id_ in pairs]
        assert record["recall"] == pytest.approx(plain.mean(values)) and record["n"] == 2 * len(pairs)
        excerpts = [(pair.book_idx, pair.excerpt_idx) for pair in pairs.values()]
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(values, excerpts), abs=0.05)
        column = "again: bm25, e120_s20, test" if run.name == "again" else columns[1]
        cell = shown.table.rows[record["query"]][shown.table.head.index(column)]
        assert cell == f"{plain.mean(values):.3f} ± {(record['high'] - record['low']) / 2:.3f}"
    assert [row[2] for row in shown.table.rows] == ["0.728", *["–"] * 7, "0.906", "–"]
    assert sum(row[3] != "–" for row in shown.table.rows) == 2


def test_without_runs_the_paper_remains():
    shown = table_8([], [REPORTED])
    assert [(record["query"], record["recall"]) for record in shown.records] == [(0, 0.728), (8, 0.906)]
    assert len(shown.table.rows) == 10 and shown.table.rows[8][1] == "{segments}"
