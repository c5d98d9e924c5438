"""Figures 3, 4, 7 and 8: their numbers against the journals and scipy, and that they can be drawn."""

import math
from dataclasses import replace

import pytest
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from epbench.exhibits.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.estimation import estimation_plots
from epbench.tulving.paper.results.heat_map import heat_maps
from epbench.tulving.paper.results.ranks import long_ranks, short_ranks
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK, check_record, line_of, plain, text_of

OWN = "short (ffffffff)"


def f1_of(text, lines, given):
    """By run, F1 of the questions that all runs on a text have answered."""
    found = {line.who: plain(line, given) for line in lines if line.text == text}
    complete = [number for number, values in enumerate(zip(*found.values(), strict=True)) if None not in values]
    return {who: [values[number] for number in complete] for who, values in found.items()}


@pytest.mark.parametrize("text", [OWN, CLAUDE_BOOK, GPT_BOOK])
def test_ranks_are_those_of_scipy(text, lines, given):
    (made,) = [one for one in short_ranks(lines) if one.name == f"Figure 7, {text}"]
    f1 = f1_of(text, lines, given)
    ranks = rankdata([[-round(value, 9) for value in values] for values in f1.values()], axis=0).mean(axis=1)
    for record in made.records[: len(f1)]:
        who = line_of(record, lines).who
        assert record["rank"] == pytest.approx(ranks[list(f1).index(who)])
        assert record["mean"] == pytest.approx(math.fsum(f1[who]) / len(f1[who])) and record["n"] == len(f1[who])
    assert [list(row)[2:] for row in made.table.rows] == [
        [f"{record['rank']:.2f}", f"{record['mean']:.3f}"] for record in made.records[: len(f1)]
    ]
    statistic, p = friedmanchisquare(*f1.values())
    assert f"χ² = {statistic:.1f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in made.table.notes[0]
    pairs = made.records[len(f1) :]
    assert len(pairs) == len(f1) * (len(f1) - 1) / 2
    names = {line.label: line.who for line in lines}
    for record in pairs:
        one, other = f1[names[record["label"]]], f1[names[record["second"]]]
        differences = [round(a - b, 9) for a, b in zip(one, other, strict=True)]
        expected = wilcoxon(differences, zero_method="pratt", method="asymptotic").pvalue if any(differences) else 1.0
        assert record["p"] == pytest.approx(expected) and record["p"] <= record["p_holm"]
        shown = next(row[1] for row in made.table.rows if row[0] == names[record["label"]])
        assert (names[record["second"]] in shown.split("; ")) == (record["different"] == "no")
    if text == OWN:
        assert any("questions that not all runs have answered are left out" in note for note in made.table.notes)
    draw(made)


def draw(made):
    with drawing():
        text = svg(made.draw())
    assert text.lstrip().startswith("<?xml") and "</svg>" in text


def test_the_long_book_has_its_own_figure(given):
    runs = [replace(run, book="long") for run in given.inputs.runs[:2]]
    lines = lines_of(Inputs(runs))
    (made,) = long_ranks(lines)
    assert made.name == "Figure 3" and "Two runs" in made.table.notes[0] and isinstance(short_ranks(lines)[0], Missing)
    draw(made)


def test_one_run_alone_has_no_rank(given):
    lines = lines_of(Inputs(given.inputs.runs[:1]))
    assert isinstance(short_ranks(lines)[0], Missing) and isinstance(estimation_plots(lines)[0], Missing)


@pytest.mark.slow
def test_paired_differences(lines, given):
    made = estimation_plots(lines)
    assert [one.name for one in made] == [f"Figure 8, {text}" for text in (OWN, CLAUDE_BOOK, GPT_BOOK)] or len(
        made
    ) == 3
    names = {line.label: line.who for line in lines}
    for one in made:
        text = one.name.removeprefix("Figure 8, ")
        f1 = f1_of(text, lines, given)
        assert len(one.records) == len(f1) - 1
        for record, row in zip(one.records, one.table.rows, strict=True):
            after, before = f1[names[record["label"]]], f1[names[record["before"]]]
            differences = [b - a for a, b in zip(before, after, strict=True)]
            mean = math.fsum(differences) / len(differences)
            assert record["difference"] == pytest.approx(mean) and record["n"] == len(before)
            assert (
                record["low"] - 1e-9 <= mean <= record["high"] + 1e-9
                and record["mean"] <= record["mean_before"] + 1e-12
            )
            assert row[3].startswith(f"{record['difference']:+.3f} (") and row[2] == (
                f"{math.fsum(after) / len(after):.3f} / {math.fsum(before) / len(before):.3f}"
            )
        draw(one)


def test_heat_maps(lines, given):
    made = heat_maps(lines)
    assert {one.name for one in made} == {f"Figure 4, {text}" for text in (OWN, CLAUDE_BOOK, GPT_BOOK)}
    for one in made:
        text = one.name.removeprefix("Figure 4, ")
        for record in one.records:
            check_record(record, plain(line_of(record, lines), given, get="all", cue=record["cue"], bin=record["bin"]))
        for row in one.table.rows:
            n_leading = one.table.text_columns
            (line,) = [
                line
                for line in lines
                if line.text == text and line.memory == row[0] and line.model == row[1].removesuffix(" (released)")
            ]
            keys = [(cue, bin_) for bin_ in "012" for cue in "cest"]
            cells = [text_of(plain(line, given, get="all", cue=cue, bin=bin_), n=True, empty="") for cue, bin_ in keys]
            assert list(row[n_leading:]) == [cell for cell in cells if cell] or len(row) < n_leading + 12
        assert "get = all" in one.table.notes[0]
        draw(one)
    assert isinstance(heat_maps([])[0], Missing)
