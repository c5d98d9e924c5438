"""What the tables and figures of all three papers promise beside their numbers: order, what is missing, files and pictures."""

import re
from dataclasses import replace

import pytest

from epbench.booksort.paper import inputs as sort_inputs_module
from epbench.booksort.paper import make as sort_make
from epbench.memfail.paper import inputs as memfail_inputs
from epbench.memfail.paper import make as memfail_make
from epbench.memfail.scores.reported_rates import PAPER
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.reports.exhibit import Missing, slug, write_exhibits
from epbench.tulving.paper import inputs as tulving_inputs
from epbench.tulving.paper import make as tulving_make
from tests.paper.conftest import REPORTED_BOOKS

PAPERS = ("tulving", "booksort", "memfail_paper")


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, indirect=True)
def test_everything_is_in_the_order_of_the_paper(paper):
    for kind in ("Table", "Figure"):
        found = [re.fullmatch(rf"{kind} (\d+)[a-z]?", name.partition(",")[0]) for name in paper.exhibits]
        numbers = [int(number[1]) for number in found if number]
        assert numbers == sorted(numbers) and numbers


@pytest.mark.slow
def test_who_judged_is_said_below_every_table_about_answers(tulving):
    for one in tulving.made.values():
        is_about_answers = {"judge", "alternative"} & one.records[0].keys()
        assert any("Judge" in note for note in one.table.notes) or not is_about_answers, one.name


WITHOUT = {
    "tulving": (
        lambda reported: tulving_make.exhibits(tulving_inputs.Inputs([], reported), []),
        REPORTED_BOOKS,
        {"Table 6"},
        {"Table 6"},
    ),
    "booksort": (
        lambda reported: sort_make.exhibits(sort_inputs_module.Inputs((), reported=reported)),
        sort_inputs_module.reported_numbers(),
        set(),
        {"Table 5", "Table 7", "Table 8", "Table 10", "Appendix F.5"},
    ),
    "memfail": (
        lambda reported: memfail_make.exhibits(memfail_inputs.Inputs(reported=reported or {})),
        read_rates(PAPER),
        {"Table 2"},
        {"Table 2", "Figure 3, tokens per question", *(f"Figure {number}" for number in (1, 2, 4, 5, 6, 7, 8, 9))},
    ),
}
"""What makes exhibits of reported numbers alone, these, and what is made without and with them."""


@pytest.mark.parametrize("which", WITHOUT)
def test_without_runs_each_says_what_it_needs_and_reported_numbers_remain(which):
    make, reported, nothing, alone = WITHOUT[which]
    for given, expected in ((), nothing), (reported, alone):
        found = make(given)
        assert {one.name for one in found if not isinstance(one, Missing)} == expected
        assert all(one.needs for one in found if isinstance(one, Missing))
    assert tulving_make.leaderboards(tulving_inputs.Inputs([])) == []
    assert memfail_make.leaderboards(memfail_inputs.Inputs()) == []


NASTY = "_{} $x^2$ <b>"


@pytest.fixture
def hostile(request, given, sort_inputs, memfail_given):
    """All exhibits and leaderboards of some runs with labels that look like markup."""
    which = request.param
    if which == "tulving":
        inputs = tulving_inputs.Inputs([replace(run, label=NASTY.format(run.label)) for run in given.inputs.runs[:5]])
        return tulving_make.exhibits(inputs, [], by=["bin"]), tulving_make.leaderboards(inputs)
    if which == "memfail":
        runs = [replace(run, label=NASTY.format(run.label)) for run in memfail_given.runs]
        inputs = memfail_inputs.Inputs(runs)
        return memfail_make.exhibits(inputs), memfail_make.leaderboards(inputs)
    runs, trainings = (
        [replace(run, label=NASTY.format(run.label)) for run in sort_inputs.runs if run.model != "m/x"],
        [],
    )
    for one in sort_inputs.trainings:
        label = NASTY.format(one.label)
        trainings.append(replace(one, label=label, runs=[replace(run, training=label) for run in one.runs]))
    inputs = replace(sort_inputs, runs=runs, trainings=trainings)
    return sort_make.exhibits(inputs), sort_make.leaderboards(inputs)


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["tulving", "booksort", "memfail"], indirect=True)
def test_labels_are_text_and_files_are_the_same_each_time(hostile, tmp_path, drawn_pictures):
    exhibits, boards = hostile
    made = {one.name.partition(",")[0]: one for one in reversed(exhibits) if not isinstance(one, Missing)}
    for folder in ("a", "b"):
        shown = write_exhibits(tmp_path / folder, "A paper", [*made.values()], boards)
    assert not shown.rows
    for path in (tmp_path / "a").iterdir():
        text = path.read_text("utf-8")
        assert text == (tmp_path / "b" / path.name).read_text("utf-8")
        if path.suffix in (".svg", ".md", ".html"):
            assert "<b>" not in text and "nan" not in re.findall(r"[a-z]+", text), path.name
    drawn = [(tmp_path / f"a/{slug(one.name)}.svg").read_text("utf-8") for one in made.values() if one.plot]
    assert any("$x^2$ &lt;b&gt;" in text for text in drawn)
