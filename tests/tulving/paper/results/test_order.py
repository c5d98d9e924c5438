"""Table 4: every cell against the journals."""

import statistics
from dataclasses import replace

import pytest

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.order import order_tables
from tests.tulving.paper.given_runs import line_of


def expected(line, given):
    """The scores of a run, each with its n; a score that lost questions is left out."""
    rows = given.plain(line)
    latest = [found for row, found in rows if row["get"] == "latest" and row["n_chapters"] > 1]
    ordered = [found for row, found in rows if row["get"] == "chronological" and len(set(row["answer"])) > 1]
    scores = {}
    if None not in latest:
        scores["latest"] = statistics.fmean(verdict["f1"] for verdict in latest), len(latest)
    if None not in ordered:
        known = [verdict["tau"] for verdict in ordered if verdict["tau"] is not None]
        scores["all_matched"] = len(known) / len(ordered), len(ordered)
        scores["kendall_tau"] = statistics.fmean(known) if known else None, len(known)
    if len(scores) == 3:
        order = max(0, scores["all_matched"][0] * (scores["kendall_tau"][0] or 0))
        scores["chronological_awareness"] = (scores["latest"][0] + order) / 2, len(latest) + len(ordered)
    return scores


def test_every_cell(lines, given):
    (made,) = order_tables(lines)
    complete = 0
    for record in made.records:
        plain = expected(line_of(record, lines), given).get(record["score"])
        if plain:
            complete += 1
            assert (record["n"], record["n_lost"]) == (plain[1], 0)
            assert record["mean"] == (plain[0] if plain[0] is None else pytest.approx(plain[0]))
        else:
            assert record["mean"] is None and record["n_lost"] > 0 and record["low"] < record["high"]
    assert complete > 25 and any(record["n_lost"] for record in made.records)
    for row in made.table.rows:
        (line,) = [
            line for line in lines if (line.memory, line.text) == (row[0], row[3]) and row[1].startswith(line.model)
        ]
        plain = expected(line, given)
        names = ("latest", "all_matched", "kendall_tau", "chronological_awareness")
        for name, cell in zip(names, row[4:], strict=True):
            value, n = plain.get(name, (None, 0))
            assert ("*" in cell) == (name not in plain)
            if name in plain:
                number = f"{value:.0%} ({n})" if name in names[:2] else f"{value:.3f}" if name == names[3] else None
                assert cell == (number or ("–" if value is None else f"{value:.2f} ({n})"))


def test_the_best_order_comes_first_and_ranges_last(lines, given):
    (made,) = order_tables(lines)
    values = [row[-1] for row in made.table.rows]
    numbers = [float(value) for value in values if "*" not in value]
    assert numbers == sorted(numbers, reverse=True) and "*" in values[-1] and len(numbers) == len(values) - 1


def test_reported_rows_show_what_the_paper_shows(given):
    scores = {"latest": 0.36, "all_matched": 0.1, "kendall_tau": 0.5}
    row = ReportedRow("A paper", "Table 4", "short", "gpt", "in-context", scores, {}, {}, {})
    no_tau = replace(row, model="other", scores={"latest": 0.05, "all_matched": 0.0})
    board = replace(row, model="third", scores={"simple_recall_score": 0.9, "chronological_awareness": 0.8})
    (made,) = order_tables(lines_of(Inputs(given.inputs.runs, [row, no_tau, board])))
    shown = [list(row[1:2]) + list(row[4:]) for row in made.table.rows if "reported" in row[1]]
    assert shown == [["gpt (reported)", "36%", "10%", "0.50", "–"], ["other (reported)", "5%", "0%", "–", "–"]]


def test_what_cannot_be_made(given):
    run = given.inputs.runs[0]
    only_all = replace(run, questions=run.questions[run.questions["get"] == "all"])
    for lines in ([], lines_of(Inputs([only_all]))):
        (made,) = order_tables(lines)
        assert isinstance(made, Missing)
