"""Tables 15 to 19: every cell against the journals."""

from dataclasses import replace

import pytest

from epbench.exhibits.exhibit import Missing
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results import cues, traces
from epbench.tulving.paper.results.grid import CUES, cue_text
from tests.tulving.paper.given_runs import check_record, line_of, plain, text_of

BINS = ("0", "1", "2", "3-5", "6+")
TRACES = {"times": "times", "spaces": "spaces", "entities": "entities", "contents": "event contents"}
ALL_TRACES = TRACES | {"other_entities": "other entities", "full_details": "full event details"}
BY_CUE = {cue: cue_text(cue) for cue in CUES}
GRIDS = [
    ("Table 15", cues.by_number_of_items, "items", {n: n for n in "1234"}, "bin", {b: b for b in BINS}),
    ("Table 17", cues.by_cue_short, "cue", BY_CUE, "bin", {b: b for b in BINS}),
    ("Table 18", traces.by_trace, "trace", ALL_TRACES, "bin", {b: b for b in BINS}),
    ("Table 19", traces.by_cue_and_trace, "cue", BY_CUE, "trace", TRACES),
]


def values(line, given, **where):
    if "items" in where:
        n = int(where.pop("items"))
        return [v for cue in CUES if len(cue) == n for v in plain(line, given, get="all", cue=cue, **where)]
    return plain(line, given, get="all", **where)


@pytest.mark.parametrize(("name", "make", "row_key", "rows", "column_key", "columns"), GRIDS, ids=[g[0] for g in GRIDS])
def test_every_cell(name, make, row_key, rows, column_key, columns, lines, given):
    made = make(lines)
    assert [one.name for one in made] == [f"{name}, {line.label}" for line in lines]
    for one, line in zip(made, lines, strict=True):
        cells = {
            (row, column): values(line, given, **{row_key: row, column_key: column})
            for row in rows
            for column in columns
        }
        for record in one.records:
            assert line_of(record, lines) is line
            check_record(record, cells[record[row_key], record[column_key]])
        shown_rows = [row for row in rows if any(cells[row, column] for column in columns)]
        shown_columns = [column for column in columns if any(cells[row, column] for row in rows)]
        assert len(one.records) == sum(bool(each) for each in cells.values())
        assert list(one.table.head[1:]) == [columns[column] for column in shown_columns]
        assert [list(row) for row in one.table.rows] == [
            [rows[row], *(text_of(cells[row, column], n=True, empty="") for column in shown_columns)]
            for row in shown_rows
        ]


def test_cues_are_written_and_ordered_as_in_the_paper():
    assert [cue_text(cue) for cue in ("t", "te", "tsec")] == ["(t, *, *, *)", "(t, *, ent, *)", "(t, s, ent, c)"]
    assert CUES == ["t", "s", "e", "c", "ts", "te", "tc", "se", "sc", "ec", "tse", "tsc", "tec", "sec", "tsec"]


def test_the_long_book_has_its_own_table_by_cue(given):
    lines = lines_of(Inputs([replace(given.inputs.runs[0], book="long")]))
    assert [one.name for one in cues.by_cue_long(lines)] == ["Table 16"]
    assert isinstance(cues.by_cue_short(lines)[0], Missing)
    assert all(
        isinstance(make([])[0], Missing) for make in (cues.by_cue_long, cues.by_number_of_items, traces.by_trace)
    )
