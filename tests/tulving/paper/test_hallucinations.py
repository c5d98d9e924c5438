"""What is named in answer to empty questions, every cell against a plain recomputation from the journals."""

from dataclasses import replace

import pytest

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.progress import no_progress
from epbench.reports.figures import drawing, svg
from epbench.tulving.paper.hallucinations import ORIGINS, exhibits
from epbench.tulving.paper.inputs import Inputs, read_runs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, read_published_run, score_published_runs
from tests.published_data import OURS
from tests.tulving.paper.made_runs import make_inventing_run, make_run, mean, plain, without_answers


@pytest.fixture(scope="module")
def runs(script, short_book, once):
    def make(out):
        make_run(script, short_book, "none", out / "none")
        make_inventing_run(script, short_book, out / "made")
        make_run(script, short_book, "rag-paragraph", out / "twice", "--repeats", 2, "--limit", 60)

    folder = once("paper-empty", make)
    return read_runs([folder / "made/inventing", folder / "none"])


@pytest.fixture(scope="module")
def lost_run(runs, tmp_path_factory):
    def lost(row):
        return row["trace"] == "times" and row["origin"] != "outer"

    return without_answers(runs[0], tmp_path_factory.mktemp("lost") / "lost", lost)


def wilson(k, n, z=1.959963984540054):
    centre, half = (k + z * z / 2) / (n + z * z), z * ((k * (n - k) / n + z * z / 4) ** 0.5) / (n + z * z)
    return centre - half, centre + half


def check(record, row, found):
    """A record and the last six cells of its row, of these questions."""
    judged = [question for question in found if question is not None]
    n, lost, named = len(found), found.count(None), sum(len(set(question["items"])) > 0 for question in judged)
    assert (record["n"], record["n_failed"]) == (n, lost) and row[-2:] == [str(n), str(lost)]
    assert n > 0
    if lost:
        assert record["share"] is record["share_low"] is record["items"] is record["f1"] is None
        ends = named / n, (named + lost) / n
        assert (record["share_if_failed_name_nothing"], record["share_if_failed_name_something"]) == pytest.approx(ends)
        f1 = sum(question["f1"] for question in judged) / n
        assert (record["f1_if_failed_wrong"], record["f1_if_failed_right"]) == pytest.approx((f1, f1 + lost / n))
        assert row[-6:-2] == [f"{ends[0]:.3f}–{ends[1]:.3f}", "–", "–", f"{f1:.3f}–{f1 + lost / n:.3f}"]
    else:
        items, f1 = mean([len(set(question["items"])) for question in judged]), mean([q["f1"] for q in judged])
        low, high = wilson(named, n)
        found_numbers = [record[name] for name in ("share", "share_low", "share_high", "items", "f1")]
        assert found_numbers == pytest.approx([named / n, low, high, items, f1], abs=1e-9)
        assert row[-6:-2] == [f"{named / n:.3f}", f"{abs(low):.3f}–{high:.3f}", f"{items:.3f}", f"{f1:.3f}"]
        assert f1 == pytest.approx(1 - named / n)


@pytest.mark.slow
def test_every_cell_is_that_of_the_journals(runs, lost_run):
    made = exhibits(Inputs([*runs, lost_run]))
    assert [one.name for one in made] == ["E.8", "E.8, traces", "E.8, cues"]
    of_label = {run.label: plain(run) for run in (*runs, lost_run)}
    for exhibit, column in zip(made, (None, "trace", "cue"), strict=True):
        seen = 0
        assert len(exhibit.records) == len(exhibit.table.rows)
        for record, row in zip(exhibit.records, exhibit.table.rows, strict=True):
            found = [
                question
                for of_row, question in of_label[record["label"]]
                if of_row["n_chapters"] == 0 and of_row["get"] == "all"
                and record["origin"] in ("both", of_row["origin"])
                and (column is None or of_row[column] == record[column])
            ]  # fmt: skip
            check(record, row, found)
            assert row[0] == record["label"] and record["origin"] in row[:3]
            seen += len(found) * (record["origin"] == "both")
        assert seen == 3 * sum(row["n_chapters"] == 0 and row["get"] == "all" for row, _ in of_label["none"])
        assert any("A range" in note for note in exhibit.table.notes)
        with drawing():
            assert "share of answers" in svg(exhibit.draw())
    assert {record["share"] for record in made[0].records if record["label"] == "none"} == {0.0}
    assert all(0.5 < record["share"] < 0.8 for record in made[0].records if record["label"] == "inventing")


@pytest.mark.slow
def test_it_says_which_difference_two_runs_can_show(runs, lost_run):
    exhibit = exhibits(Inputs(runs))[0]
    n, *_ = (record["n"] for record in exhibit.records)
    rate = mean([record["share"] for record in exhibit.records if record["origin"] == "both"])
    (note,) = [note for note in exhibit.table.notes if "power 0.8" in note]
    assert f"the same {n} questions about short, with shares around {rate:.3f}" in note
    difference = float(note.split("differ by ")[1].split(" ")[0])
    assert difference == pytest.approx((1.96 + 0.8416) * (2 * rate * (1 - rate) / n) ** 0.5, rel=0.03)
    alone = exhibits(Inputs([runs[0], lost_run]))[0]
    assert not any("power" in note for note in alone.table.notes)


def _named_line(run):
    (line,) = lines_of(Inputs([run]))
    return line


@pytest.mark.slow
def test_published_runs_are_marked(tmp_path):
    archive = open_archive(OURS)
    done = score_published_runs(archive, tmp_path, no_progress)
    found = [run for run in published_runs(archive) if run.label in done.scores]
    released = read_runs([tmp_path / run.folder for run in found], "released")
    exhibit = exhibits(Inputs(released))[0]
    assert {record["source"] for record in exhibit.records} == {"released"}
    assert sum(row[2] == "both" for row in exhibit.table.rows) == len(released)
    for run, line in zip(found, map(_named_line, released), strict=True):
        content = read_published_run(archive.files, run)
        pairs = zip(content.rows, content.verdicts, strict=True)
        named = [bool(verdict.items) for row, verdict in pairs if row["n_chapters"] == 0 and row["get"] == "all"]
        (row,) = [row for row in exhibit.table.rows if row[:3] == [f"{line.label} (released)", line.memory, "both"]]
        assert row[3] == f"{mean(named):.3f}" and row[-2] == str(len(named))


def test_only_the_origins_and_traces_that_there_are_have_rows(runs):
    table = exhibits(Inputs(runs[:1]))[0].table
    assert [row[2] for row in table.rows] == list(ORIGINS) and not any("A range" in note for note in table.notes)


def test_questions_that_were_asked_twice_have_no_interval(runs):
    (twice,) = read_runs([runs[1].folder.parent / "twice"])
    record = exhibits(Inputs([twice]))[0].records[0]
    found = [q for row, q in plain(twice, 2) if row["n_chapters"] == 0 and row["get"] == "all" and q is not None]
    assert record["n"] == len(found) and record["share_low"] is None
    assert record["share"] == pytest.approx(mean([len(q["items"]) > 0 for q in found]))


def test_reported_shares_stand_in_the_same_table(runs):
    row = ReportedRow(
        "A paper", "E.8", "long", "gpt-4o", "in-context", {"hallucinations": 0.16, "hallucinations.inner": 0.2}, {},
        {"hallucinations": 150}, {},
    )  # fmt: skip
    other = ReportedRow("A paper", "Table 3", "long", "gpt-4o", "in-context", {"latest": 0.3}, {}, {}, {})
    exhibit = exhibits(Inputs(runs, [other, row]))[0]
    low, high = wilson(24, 150)
    assert [list(shown) for shown in exhibit.table.rows[-2:]] == [
        ["gpt-4o (reported)", "in-context", "both", "0.160", f"{low:.3f}–{high:.3f}", "–", "–", "150", "0"],
        ["gpt-4o (reported)", "in-context", "inner", "0.200", "–", "–", "–", "–", "0"],
    ]
    record = exhibit.records[-2]
    assert (record["source"], record["model"], record["book"], record["n"]) == ("reported", "gpt-4o", "long", 150)
    assert any("A paper, E.8" in note for note in exhibit.table.notes)
    assert {tuple(record) for record in exhibit.records} == {tuple(exhibit.records[0])}


def test_without_empty_questions_it_says_what_is_missing(runs, tmp_path):
    (missing,) = exhibits(Inputs([]))
    assert isinstance(missing, Missing) and missing.name == "E.8" and "bin 0" in missing.needs


def test_a_missing_answer_names_nothing_and_hides_nothing(runs):
    """Whoever leaves out what never happened has invented nothing, and has not shown that they would not."""
    questions = runs[0].questions.copy()
    gone = (questions["bin"] == "0") & (questions["get"] == "all") & (questions["trace"] == "times")
    questions.loc[gone, ["outcome", "f1", "answer"]] = ["wrong", 0.0, None]
    questions["items"] = [[] if lost else list(items) for lost, items in zip(gone, questions["items"], strict=True)]
    by_origin = exhibits(Inputs([replace(runs[0], questions=questions)]))[0]
    n = int(gone.sum())
    record = next(record for record in by_origin.records if record["n_failed"] == n)
    ends = record["share_if_failed_name_nothing"], record["share_if_failed_name_something"]
    assert record["share"] is None and ends[1] - ends[0] == pytest.approx(n / record["n"])
