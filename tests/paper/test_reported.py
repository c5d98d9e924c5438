"""Numbers of papers that the package carries, against the texts beside the checkout and in the tables; and trials of people."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from epbench.booksort.paper.inputs import Inputs as SortInputs
from epbench.booksort.paper.inputs import people_of, reported_numbers
from epbench.booksort.paper.make import exhibits as sort_exhibits
from epbench.booksort.paper.rates import reported_of
from epbench.booksort.paper.results import DECLARED
from epbench.booksort.scores.report import HUMANS
from epbench.errors import BadInput
from epbench.memfail.paper.inputs import Inputs as MemFailInputs
from epbench.memfail.paper.make import exhibits as memfail_exhibits
from epbench.memfail.paper.make import leaderboards as memfail_leaderboards
from epbench.memfail.scores.reported_rates import PAPER
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.reports.exhibit import Missing
from epbench.reports.reported import read_reported
from epbench.tulving.paper.books import read_books
from epbench.tulving.paper.inputs import MEMORIES, Inputs
from epbench.tulving.paper.make import exhibits, leaderboards
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.books import read_book
from tests.conftest import SHARED
from tests.paper.conftest import REPORTED, REPORTED_BOOKS
from tests.published_data import BOOKS, OURS

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
CUES, SEVERAL = "| (t, *, *, *)   | ", "| gpt-4o-mini<br>gpt-4o<br>claude-3-haiku<br>claude-3-5-sonnet"
BLOCKS = {
    ("000", "Table 3"): [("|             | gpt-4o-mini       | 0.51", 11)],
    ("000", "Table 4"): [("| Family ", 7)],
    ("000", "Table 13"): [("|             | gpt-4o-mini       | 0.53", 11)],
    ("000", "Table 14"): [("| In-context       |", 3), ("| RAG<br>(paragraph)", 2)],
    ("000", "Table 15"): [("| 1           | 0.95", 4)],
    ("000", "Table 16"): [(f"{CUES}0.80", 15)],
    ("000", "Table 17"): [(f"{CUES}1.00", 15)],
    ("000", "Table 18"): [("| Times ", 6)],
    ("000", "Table 19"): [(f"{CUES} ", 14)],
    ("000", "Table 20"): [("| GPT    | gpt-4o-mini       |", 8)],
    ("000", "Table 21"): [("| Claude | gpt-40 vs", 3)],
    ("000", "Table 22"): [("| Ordered   |", 8)],
    ("000", "Table 23"): [(f"{SEVERAL} | ordered vs", 1)],
    ("000", "Table 24"): [("| 0   | empty ", 11)],
    ("000", "Table 25"): [(f"{SEVERAL}<br>llama", 1)],
    ("000", "Table 27"): [("|        | short default |", 6)],
    ("004", "Table 1"): [("Table 1: Baseline", 17)],
    ("004", "Table 2"): [("Table 2: Mean", 15)],
    ("004", "Table 5"): [("Table 5: Model Details", 15)],
    ("004", "Table 8"): [("Table 8: The search queries", 14)],
    ("004", "Table 11"): [("Table 11: Accuracy and", 41)],
    ("004", "Table 12"): [("Table 12: Accuracy and", 117)],
}
"""By text and table, where its parts begin, and the number of their lines."""
SETTINGS = {
    ("Table 7", "prompt"): [4, 3, 4, 7, 8, 3, 2, 10, 7, 7],
    ("Table 10", "reading"): [7, 7, 3, 6],
    ("Appendix F.5", "accuracy"): [0.93, 0.90, 0.88, 0.91],
}


def text_of(number):
    if not (found := sorted(SEEDS.glob(f"{number}_*.txt"))):
        pytest.skip("the text of the paper does not lie beside the checkout")
    return found[0].read_text("utf-8")


def printed(text):
    """The values of cells such as `0.84±0.37`, `0.95±0.22 (60)`, `23%` or `<0.01`, with what follows ±, and the count."""
    for cell in re.split(r"\||<br>|\n", re.sub(r"\$|\*\*|</?b>", "", text).replace("\\pm", "±")):
        if of := re.fullmatch(r"<?(\d*\.\d+|\d+(?=%))(%?)(?:\s*±\s*([\d.]+))?(?: ?\((\d+)\))?", cell.strip()):
            yield round(float(of[1]) / (100 if of[2] else 1), 4), of[3] and float(of[3]), of[4] and int(of[4])


@pytest.mark.parametrize(("number", "table"), BLOCKS)
def test_every_cell_of_a_table(number, table):
    lines, cells, reported = text_of(number).splitlines(), Counter(), Counter()
    for first, n in BLOCKS[number, table]:
        at = next(at for at, line in enumerate(lines) if line.lstrip("0123456789 ").startswith(first))
        cells.update(printed("\n".join(lines[at : at + n])))
    for row in REPORTED if number == "000" else reported_numbers():
        if row.table == table:
            reaches = {name: round((high - low) / 2, 4) for name, (low, high) in row.intervals.items()} | row.deviations
            counts = row.counts if any(n for *_, n in cells) else {}  # not all tables print them
            reported.update((value, reaches.get(name), counts.get(name)) for name, value in row.scores.items())
    assert cells == reported and cells


def test_every_row_of_the_ranking_and_what_has_no_table():
    found = {}
    for row in reported_numbers():
        for name, value in row.scores.items():
            found.setdefault((row.table, name), []).append(value)
    assert SETTINGS.items() <= found.items()
    names = ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")
    assert list(HUMANS.values()) == [*(found["Figure 2", name][0] for name in names)] == [0.64, 0.56, 0.76]
    ranking = re.findall(r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", text_of("001"), re.M)
    rows = [(row.model, *map(str, row.scores.values())) for row in REPORTED if row.table == "leaderboard"]
    assert [(model, float(a), float(b)) for model, a, b in rows] == [(m, float(a), float(b)) for m, a, b in ranking]
    assert len(rows) == 21


def test_rows_on_tulving_with_one_reader_repeat_their_numbers():
    found = {}
    for row in REPORTED:
        assert row.memory in MEMORIES and {*row.deviations, *row.counts} <= {*row.scores}
        for score, value in row.scores.items():
            about = row.dataset, row.model, row.memory, score
            assert -1 <= value <= 1 and found.setdefault(about, value) == value, about


@pytest.mark.parametrize(("archive", "length"), [book[:2] for book in BOOKS])
def test_the_counts_are_those_of_the_published_questions(archive, length):
    opened = open_archive(archive)
    selected = [q for q in read_book(opened, opened.books[0]).selected if q.get == "all"]
    asked = [{"elements": str(len(q.cue)), "cue": q.cue, "bin": q.bin, "trace": q.trace} for q in selected]
    of_book = [row for row in REPORTED if row.dataset == length]
    for name, n in ((name, n) for row in of_book for name, n in row.counts.items() if name.startswith("f1_by_")):
        kinds, *values = name.removeprefix("f1_by_").split(".")
        if len(values) == len(kinds := kinds.split("_and_")):  # else by realism too
            assert sum([question[kind] for kind in kinds] == values for question in asked) == n, name


FIGURES = {f"Figure {number}" for number in (1, 2, 4, 5, 6, 7, 8, 9)}
SETTING_TABLES = {"Table 5", "Table 7", "Table 8", "Table 10", "Appendix F.5"}
ALONE = {
    "tulving": (lambda of: exhibits(Inputs([], of), []), REPORTED_BOOKS, {"Table 6"}, {"Table 6"}),
    "booksort": (lambda of: sort_exhibits(SortInputs((), reported=of)), reported_numbers(), set(), SETTING_TABLES),
    "memfail": (
        lambda of: memfail_exhibits(MemFailInputs(reported=of or {})),
        read_rates(PAPER),
        {"Table 2"},
        {"Table 2", "Figure 3, tokens per question", *FIGURES},
    ),
}
"""What makes exhibits of reported numbers alone, these, and what is made without and with them."""


@pytest.mark.parametrize("which", ALONE)
def test_without_runs_each_says_what_it_needs_and_reported_numbers_remain(which):
    make, reported, nothing, alone = ALONE[which]
    for given, expected in ((), nothing), (reported, alone):
        found = make(given)
        assert {one.name for one in found if not isinstance(one, Missing)} == expected
        assert all(one.needs for one in found if isinstance(one, Missing))
    assert leaderboards(Inputs([])) == memfail_leaderboards(MemFailInputs()) == []


# In the tables

BOOK_CELLS = {
    "Table 6": ("{n_events}.{distribution}.{times}", "mean"),
    "Table 8": ("{property}.{value}", "chapters"),
    "Table 9": ("{feature}.{times}", "items"),
    "Table 12": ("{cue}.{bin}", "most_of_a_template"),
}
"""By table about books, the name of a cell and its column; scores of others are named by their columns."""
PERSON = {"long": "Jackson Ramos"}


def shown(exhibit, score, **about):
    """What an exhibit shows as a score of a paper, in the rows that are about this."""
    records = [r for r in exhibit.records if all(r.get(key, of) == of for key, of in about.items())]
    if exhibit.name == "Table 7":
        number, _, column = score.partition(".")
        return [r[column] for r in records if str(r["round"]) == number]
    cell, column = BOOK_CELLS.get(exhibit.name, ("", score))
    return [r[column] for r in records if cell.format(**r) in ("", score)]


@pytest.mark.slow
def test_every_number_about_books_stands_in_its_table(tulving):
    for row in REPORTED_BOOKS:
        about = {"source": "reported", "label": row.dataset, "writer": row.model}
        for score, value in row.scores.items():
            assert shown(tulving.exhibits[row.table], score, **about) == [value], (row.table, score)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["short", "long"])
def test_a_published_book_has_the_papers_numbers(name):
    """Our archive tells the events of the short book of the paper, with other names."""
    archive = OURS if name == "short" else SHARED / "tulving" / "released_n200.zip"
    if not archive.is_file():
        pytest.skip("the published book of 200 events does not lie beside the checkout")
    made = {one.name: one for one in exhibits(Inputs([]), read_books(archive=archive), entity=PERSON.get(name))}
    unlike = {"short": ("length", "n_times"), "long": ("length", "secondary")}[name]  # 14 dates, and 13 by Table 9
    tables = ("Table 2", "Table 8", "Table 9", "Table 12")
    rows = [row for row in REPORTED_BOOKS if row.dataset == name and row.table in tables]
    for row, cue in ((row, cue) for row in rows for cue in ("ts", "te", "tse", "tsc", "tec", "tsec")):
        for score, value in row.scores.items():
            if not score.startswith(unlike):
                assert shown(made[row.table], score.replace("others", cue)) == [value], (row.table, score)
    if name == "long":  # as in Appendix C
        days = ["2025-06-14", "2026-02-27", "2026-04-09", "2026-08-24", "2026-09-22"]
        path = made["Figure 6"].records
        assert [stop["date"] for stop in path] == days and path[4]["space"] == "Central Park"


@pytest.mark.slow
def test_every_number_on_sort_stands_in_a_table(booksort):
    found = set()
    for exhibit in booksort.made.values():
        for record in exhibit.records:
            names = (record.get(name) for name in ("label", "model", "retriever"))
            found |= {(name, value) for name in names for value in record.values() if record["source"] == "reported"}
    for row in reported_numbers():
        assert {(row.model, value) for value in row.scores.values()} <= found, row


@pytest.mark.slow
def test_every_number_on_tulving_stands_in_its_table_beside_those_of_runs(tulving):
    numbers, tests = Counter(), []
    for row, exhibit in ((row, one) for one in tulving.made.values() for row in one.records if row.get("paper")):
        if "alternative" in row:
            tests.append((row.get("book", ""), row["first"], row["second"], row["p"], row["p_below"], row["paper"]))
        elif "score" in row:
            assert row["source"] == "reported" and {one["source"] for one in exhibit.records} > {"reported"}
            numbers[_about(row), row["mean"], row.get("sd")] += 1
    seen = set()
    for row, score in ((of, score) for of in REPORTED if of.table.startswith("Table") for score in of.scores):
        kind, _, pair = score.partition(".")
        if kind in ("p", "p_below"):
            whose = {"Table 21": "{} {} (reported)", "Table 25": "{}"}.get(row.table, "{2} {1} (reported) on {0}")
            sides = [whose.format(side, row.memory, row.model) for side in pair.split(">")]
            value = (row.scores[score], None) if kind == "p" else (None, row.scores[score])
            book = row.dataset if row.table == "Table 21" else ""
            tests.remove((book, *sides, *value, f"{row.source}, {row.table}"))
        else:
            about = (row.dataset, row.model, row.memory, score), row.scores[score], row.deviations.get(score)
            assert numbers[about], (row.table, about)
            seen.add(about)
    assert not tests and {about[0] for about in seen} == {about[0] for about in numbers}


def _about(row):
    """Whose number a row of a frame holds, and its name in the file."""
    dataset = f"{row['book']} by {row['writer']}" if row["writer"] else row["book"]
    kinds = [name for name in ("elements", "cue", "trace", "realism", "bin") if name in row]
    score = f"f1_by_{'_and_'.join(kinds)}.{'.'.join(row[name] for name in kinds)}"
    if kinds in (["bin"], ["realism", "bin"]):
        score = ".".join(("f1_by_bin", *(row[name] for name in kinds[::-1])))
    return dataset, row["model"], row["memory"], score if kinds else row["score"]


# Trials of people that others publish


def people(folder, *rows, head="participant,segment_length,distance,correct"):
    """What is read of a file with these rows."""
    (folder / "t.csv").write_text("\n".join((head, *rows)), "utf-8")
    return people_of(folder / "t.csv")


def test_trials_of_people_have_a_test_for_every_distance_and_make_a_row_of_reported_numbers(tmp_path):
    rows = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    run = people(tmp_path, *rows, *(f"p{i % 10},50,50,{'true' if i % 2 else 'false'}" for i in range(20)))
    (figure,) = (one.make(SortInputs([run])) for one in DECLARED if one.name == "Figure 2")
    far, near = (figure.frame.query(f"over == {over}").iloc[0] for over in (25000, 0))
    assert (far["mean"], far["n"], near["mean"], far["model"], far["memory"]) == (
        35 / 40,
        40,
        0.5,
        "people",
        "read-once",
    )
    assert far["p"] == pytest.approx(1.38e-6, rel=0.01) and near["p"] == 1  # scipy.stats.binomtest(35, 40)
    assert far["p_holm"] == pytest.approx(2 * far["p"])
    run = people(tmp_path, "a,20,300,1", "a,20,300,0", "b,50,300,1", "b,50,9,1")
    (tmp_path / "reported.json").write_text(json.dumps(reported_of(run)), "utf-8")
    (row,) = read_reported(tmp_path / "reported.json", "booksort")
    assert row.scores == {"accuracy": 0.75, "accuracy_s20": 0.5, "accuracy_s50": 1.0} and row.counts["accuracy"] == 4
    right = "a,20,300,1"
    for rows, said in (
        ((right, "a,20,far,1"), "row 1: .*distance"),
        ((right, "a,20,300,maybe"), "row 1: .*correct"),
        ((right, "a,20,300"), "row 1: "),
        ((), "expected a row"),
    ):
        with pytest.raises(BadInput, match=rf"t.csv.*{said}"):
            people(tmp_path, *rows)
    with pytest.raises(BadInput, match="segment_length"):
        people(tmp_path, "a,1", head="participant,correct")
