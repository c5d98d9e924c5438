"""Numbers of papers that the package carries, against the texts beside the checkout and in the tables; and trials of people."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from epbench.booksort.leaderboard import reported_of
from epbench.booksort.paper.inputs import Inputs as SortInputs
from epbench.booksort.paper.inputs import people_of, reported_numbers
from epbench.booksort.paper.make import exhibits as sort_exhibits
from epbench.booksort.paper.results import DECLARED
from epbench.booksort.scores.report import HUMANS
from epbench.errors import BadInput
from epbench.memfail.leaderboard import leaderboards as memfail_leaderboards
from epbench.memfail.paper.inputs import Inputs as MemFailInputs
from epbench.memfail.paper.make import exhibits as memfail_exhibits
from epbench.memfail.scores.reported_rates import PAPER
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.reports.exhibit import Missing, slug
from epbench.reports.reported import read_reported
from epbench.tulving.leaderboard import leaderboards
from epbench.tulving.paper.books import read_books
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.make import exhibits
from tests.conftest import SHARED
from tests.paper.conftest import REPORTED, REPORTED_BOOKS
from tests.published_data import OURS

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
}
CAPTIONS = {1: 17, 2: 15, 5: 15, 8: 14, 11: 41, 12: 117}
BLOCKS |= {("004", f"Table {table}"): [(f"Table {table}: ", n)] for table, n in CAPTIONS.items()}
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
    def found(table, name):
        return [row.scores[name] for row in reported_numbers() if row.table == table and name in row.scores]

    assert {about: found(*about) for about in SETTINGS} == SETTINGS
    humans = [found("Figure 2", name)[0] for name in ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")]
    assert list(HUMANS.values()) == humans == [0.64, 0.56, 0.76]
    ranking = re.findall(r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", text_of("001"), re.M)
    rows = [(row.model, *row.scores.values()) for row in REPORTED if row.table == "leaderboard"]
    assert rows == [(model, float(a), float(b)) for model, a, b in ranking] and len(rows) == 21


MAKERS = {
    "tulving": (lambda of: exhibits(Inputs([], of), []), REPORTED_BOOKS),
    "booksort": (lambda of: sort_exhibits(SortInputs((), reported=of)), reported_numbers()),
    "memfail": (lambda of: memfail_exhibits(MemFailInputs(reported=of or {})), read_rates(PAPER)),
}
ALONE = """
tulving table-06
booksort table-05 table-07 table-08 table-10 appendix-f-05
memfail table-02 figure-01 figure-02 figure-03-tokens-per-question figure-04 figure-05 figure-06 figure-07 figure-08 figure-09
"""
"""What can be made of reported numbers alone."""


@pytest.mark.parametrize("line", ALONE.strip().splitlines())
def test_without_runs_each_says_what_it_needs_and_reported_numbers_remain(line):
    which, *alone = line.split()
    make, reported = MAKERS[which]
    for given, expected in ((), {"table-02", "table-06"} & {*alone}), (reported, {*alone}):
        found = make(given)
        assert {slug(one.name) for one in found if not isinstance(one, Missing)} == expected
        assert all(one.needs for one in found if isinstance(one, Missing))
    assert leaderboards(Inputs([])) == memfail_leaderboards(MemFailInputs()) == []


BOOK_CELLS = {
    "Table 6": ("{n_events}.{distribution}.{times}", "mean"),
    "Table 8": ("{property}.{value}", "chapters"),
    "Table 9": ("{feature}.{times}", "items"),
    "Table 12": ("{cue}.{bin}", "most_of_a_template"),
}
"""By table about books, the name of a cell and its column; scores of others are named by their columns."""


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
        for r in tulving.exhibits["Table 6"].records if row.table == "Table 6" else ():
            if (cell := BOOK_CELLS["Table 6"][0].format(**r)) in row.scores:  # rounded, and 7.5 is drawn there too
                assert abs(r["mean"] - row.scores[cell]) < 0.53 and abs(r["sd"] - row.deviations[cell]) < 0.11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["short", "long"])
def test_a_published_book_has_the_papers_numbers(name):
    """Our archive tells the events of the short book of the paper, with other names."""
    archive = OURS if name == "short" else SHARED / "tulving" / "released_n200.zip"
    if not archive.is_file():
        pytest.skip("the published book of 200 events does not lie beside the checkout")
    person = "Jackson Ramos" if name == "long" else None
    made = {one.name: one for one in exhibits(Inputs([]), read_books(archive=archive), entity=person)}
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
    shown = [row for one in tulving.made.values() for row in one.records if row.get("paper")]
    about_tests = ("book", "first", "second", "p", "p_below", "paper")
    tests = Counter(tuple(map(r.get, about_tests)) for r in shown if "alternative" in r)
    numbers, seen, expected = [row for row in shown if "score" in row], set(), Counter()
    for row, score in ((of, score) for of in REPORTED if of.table.startswith("Table") for score in of.scores):
        (kind, *parts), value = score.split("."), row.scores[score]
        if kind in ("p", "p_below"):
            whose = {"Table 21": "{} {} (reported)", "Table 25": "{}"}.get(row.table, "{2} {1} (reported) on {0}")
            sides = [whose.format(side, row.memory, row.model) for side in ".".join(parts).split(">")]
            p = (value, None) if kind == "p" else (None, value)
            book = row.dataset if row.table == "Table 21" else None
            expected[(book, *sides, *p, f"{row.source}, {row.table}")] += 1
        else:
            book, _, writer = row.dataset.partition(" by ")
            about = {"book": book, "writer": writer or None, "model": row.model, "memory": row.memory, "mean": value}
            about |= {"sd": row.deviations.get(score)} | ({"score": score} if not kind.startswith("f1_by") else {})
            found = [r for r in numbers if about.items() <= r.items() and {*parts} <= {*r.values()}]
            assert found, (row.table, score)
            seen |= {*map(id, found)}
    assert tests == expected and seen == {*map(id, numbers)}
    for of in (one.records for one in tulving.made.values() if {"score", "paper"} <= one.records[0].keys()):
        assert {row["source"] for row in of} > {"reported"} or not any(row["paper"] for row in of)


def test_trials_of_people_make_figure_2_and_a_row_of_reported_numbers(tmp_path):
    def people(*rows, head="participant,segment_length,distance,correct"):
        (tmp_path / "t.csv").write_text("\n".join((head, *rows)), "utf-8")
        return people_of(tmp_path / "t.csv")

    far = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    run = people(*far, *(f"p{i % 10},20,50,{'true' if i % 2 else 'false'}" for i in range(20)))
    (figure,) = (one.make(SortInputs([run])) for one in DECLARED if one.name == "Figure 2")
    (row,) = figure.frame.query("over == 25000").to_dict("records")
    assert (row["mean"], row["n"], row["model"], row["memory"]) == (35 / 40, 40, "people", "read-once")
    assert row["p"] == pytest.approx(1.38e-6, rel=0.01)  # scipy.stats.binomtest(35, 40)
    (tmp_path / "reported.json").write_text(json.dumps(reported_of(run)), "utf-8")
    (row,) = read_reported(tmp_path / "reported.json", "booksort")
    assert row.scores == {"accuracy": 0.75, "accuracy_s20": 0.5, "accuracy_s50": 0.875} and row.counts["accuracy"] == 60
    wrong = {"a,20,far,1": "row 1: .*distance", "a,20,300,maybe": "row 1: .*correct", "a,20,300": "row 1: "}
    for rows, said in [((), "expected a row"), *((("a,20,300,1", row), said) for row, said in wrong.items())]:
        with pytest.raises(BadInput, match=rf"t.csv.*{said}"):
            people(*rows)
    with pytest.raises(BadInput, match="segment_length"):
        people("a,1", head="participant,correct")


def test_trials_of_people_have_no_labels_and_no_choices_and_stand_in_the_other_tables(tmp_path):
    trials = [f"p{i % 5},{words},300,{int(i >= 5)}" for words in (20, 50) for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(("participant,segment_length,distance,correct", *trials)), "utf-8")
    made = {one.name: one for one in sort_exhibits(SortInputs([people_of(tmp_path / "t.csv")]))}
    assert {of for of, one in made.items() if not isinstance(one, Missing)} == {
        "Figure 2",
        "Table 5",
        "Segment lengths",
    }
    assert [row["mean"] for row in made["Segment lengths"].records] == [0.75, 0.75]
