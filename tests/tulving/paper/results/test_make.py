"""All exhibits about answers: their order, their files, and what is said where nothing can be made."""

import re
from dataclasses import replace

import pytest

from epbench.exhibits.exhibit import Exhibit, Missing, slug, write_exhibits
from epbench.exhibits.reported import read_reported
from epbench.files.packaged import packaged
from epbench.progress import no_progress
from epbench.tulving.paper.inputs import Inputs, read_runs
from epbench.tulving.paper.results.make import exhibits
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, score_published_runs
from tests.published_data import BOOKS
from tests.tulving.paper.given_runs import FINGERPRINT

IN_ORDER = [
    "Figure 3", "Table 3", "Figure 4", "Table 4", "Figure 7", "Table 13", "Table 14", *(f"Table {n}" for n in range(15, 26)),
    "Figure 8", "Table 27",
]  # fmt: skip


def names(made):
    return list(dict.fromkeys(one.name.partition(",")[0] for one in made))


def test_without_runs_everything_is_missing_and_says_what_it_needs():
    made = exhibits(Inputs([]))
    assert names(made) == IN_ORDER and all(isinstance(one, Missing) and one.needs for one in made)


@pytest.mark.slow
def test_everything_can_be_written_in_the_order_of_the_paper(given, tmp_path):
    runs = [run for run in given.inputs.runs if run.source == "own" or "prompting" in run.folder.name]
    runs += [replace(run, book="short-ordered", label=f"{run.label} ordered") for run in runs[:1]]
    runs += [replace(run, book="news-short", label=f"{run.label} news") for run in runs[:1]]
    runs += [replace(run, book="long", label=f"{run.label} long") for run in runs[:2]]
    reported = read_reported(packaged("epbench.tulving") / "reported.json", "tulving")
    made = exhibits(Inputs(runs, reported), {FINGERPRINT: dict.fromkeys(range(1, 21), "Realistic") | {3: "Impossible"}})
    assert names(made) == IN_ORDER and [one.name for one in made if isinstance(one, Missing)] == []
    assert len({slug(one.name) for one in made}) == len(made)
    for one in made:
        assert isinstance(one, Exhibit) and one.records and one.table.rows
        assert len({tuple(record) for record in one.records}) == 1, one.name
        assert {len(row) for row in one.table.rows} == {len(one.table.head)}, one.name
        values = [value for record in one.records for value in record.values()]
        assert not any(isinstance(value, float) and value != value for value in values), one.name
        assert any("Judge" in note for note in one.table.notes), one.name
        assert not re.search(r"\bnan\b", one.table.markdown()), one.name
    first_of_each = {one.name.partition(",")[0]: one for one in reversed(made)}
    write_exhibits(tmp_path, "Tulving books", list(first_of_each.values()))


def test_names_that_would_make_one_file_are_numbered(given):
    runs = [replace(given.inputs.runs[0], book=book, label=book) for book in ("long x", "long-x")]
    made = exhibits(Inputs(runs))
    assert len({slug(one.name) for one in made}) == len(made)


@pytest.mark.slow
@pytest.mark.parametrize("archive", [book[0] for book in BOOKS], ids=[book[0].stem for book in BOOKS])
def test_a_published_archive(archive, tmp_path):
    opened = open_archive(archive)
    score_published_runs(opened, tmp_path / "runs", no_progress)
    folders = [tmp_path / "runs" / run.folder for run in published_runs(opened)]
    reported = read_reported(packaged("epbench.tulving") / "reported.json", "tulving")
    made = exhibits(Inputs(read_runs(folders, "released"), reported))
    found = {one.name.partition(",")[0] for one in made if isinstance(one, Exhibit)}
    assert found >= {"Figure 4", "Table 4", "Table 15", "Table 18", "Table 19", "Figure 8"}
    assert all(one.table.rows and one.table.html() for one in made if isinstance(one, Exhibit))
