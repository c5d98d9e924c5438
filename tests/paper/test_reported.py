"""Numbers of papers that the package carries, against the texts beside the checkout and in the tables; and trials of people."""

import json
import re
from collections import Counter

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

TABLES = {"000": (3, 4, *range(13, 26), 27), "004": (1, 2, 5, 8, 11, 12)}
CAPTION_BELOW = (3, 13, 16, 17, 19, 22, 25, 27)  # of text 000; other tables stand below their captions
REPEATED = "| o1-mini   |                            | 0.42   |\n"  # a cell of Table 25 that the text has twice


def text_of(number):
    if not (found := sorted((SHARED.parent / "seeds").glob(f"{number}_*.txt"))):
        pytest.skip("the text of the paper does not lie beside the checkout")
    return found[0].read_text("utf-8")


def printed(text):
    """The values of cells such as `0.84±0.37`, `0.95±0.22 (60)`, `23%` or `<0.01`, with what follows ±, and the count."""
    for cell in re.split(r"\||<br>|\n", re.sub(r"\$|\*\*|</?b>", "", text).replace("\\pm", "±")):
        if of := re.fullmatch(r"<?(\d*\.\d+|\d+(?=%))(%?)(?:\s*±\s*([\d.]+))?(?: ?\((\d+)\))?", cell.strip()):
            yield round(float(of[1]) / (100 if of[2] else 1), 4), of[3] and float(of[3]), of[4] and int(of[4])


@pytest.mark.parametrize(("number", "table"), [(text, number) for text, of in TABLES.items() for number in of])
def test_every_cell_of_a_table(number, table):
    above, _, below = text_of(number).replace(REPEATED, "").partition(f"Table {table}: ")
    is_above = number == "000" and table in CAPTION_BELOW
    blocks = re.findall(r"(?:^.*\|.*\n)+", above if is_above else below, re.M)
    with_numbers = [found for block in blocks if (found := Counter(printed(block)))]
    cells = with_numbers[-1] if is_above else with_numbers[0]
    if table == 14:  # of two parts
        cells += with_numbers[1]
    reported = Counter()
    for row in REPORTED if number == "000" else reported_numbers():
        if row.table == f"Table {table}":
            reaches = {name: round((high - low) / 2, 4) for name, (low, high) in row.intervals.items()} | row.deviations
            counts = row.counts if any(n for *_, n in cells) else {}  # not all tables print them
            reported.update((value, reaches.get(name), counts.get(name)) for name, value in row.scores.items())
    assert cells == reported and cells


def test_every_row_of_the_ranking_and_what_has_no_table():
    def found(table, name):
        return [row.scores[name] for row in reported_numbers() if row.table == table and name in row.scores]

    assert found("Table 7", "prompt") == [4, 3, 4, 7, 8, 3, 2, 10, 7, 7]
    assert found("Table 10", "reading") == [7, 7, 3, 6]
    assert found("Appendix F.5", "accuracy") == [0.93, 0.90, 0.88, 0.91]
    humans = [found("Figure 2", name)[0] for name in ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")]
    assert list(HUMANS.values()) == humans == [0.64, 0.56, 0.76]
    ranking = re.findall(r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", text_of("001"), re.M)
    rows = [(row.model, *row.scores.values()) for row in REPORTED if row.table == "leaderboard"]
    assert rows == [(model, float(a), float(b)) for model, a, b in ranking] and len(rows) == 21


OF_SORT = {"table-05", "table-07", "table-08", "table-10", "appendix-f-05"}
OF_MEMFAIL = {"table-02", "figure-03-tokens-per-question", *(f"figure-0{n}" for n in (1, 2, *range(4, 10)))}
MAKERS = {
    "tulving": (lambda of: exhibits(Inputs([], of), []), REPORTED_BOOKS, {"table-06"}),
    "booksort": (lambda of: sort_exhibits(SortInputs((), reported=of)), reported_numbers(), OF_SORT),
    "memfail": (lambda of: memfail_exhibits(MemFailInputs(reported=of or {})), read_rates(PAPER), OF_MEMFAIL),
}
"""By benchmark what makes its exhibits of reported numbers, these, and what they suffice for."""


@pytest.mark.parametrize("which", MAKERS)
def test_without_runs_each_says_what_it_needs_and_reported_numbers_remain(which):
    make, reported, alone = MAKERS[which]
    for given, expected in ((), {"table-02", "table-06"} & alone), (reported, alone):
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
    told = [record for one in booksort.made.values() for record in one.records if record["source"] == "reported"]
    names = ("label", "model", "retriever")
    found = {(record.get(name), value) for record in told for name in names for value in record.values()}
    of_length = set()
    for row in reported_numbers():
        assert {(row.model, value) for value in row.scores.values()} <= found, row
        for words in (20, 50):
            of_length |= {(row.model, words, value) for name, value in row.scores.items() if f"_s{words}" in name}
    assert of_length >= {(r["model"], r["segment_length"], r["mean"]) for r in told if r.get("segment_length")}


@pytest.mark.slow
def test_every_number_on_tulving_stands_in_its_table_beside_those_of_runs(tulving):
    numbers, tests = (
        [row for one in tulving.made.values() for row in one.records if row.get("paper") and kind in row]
        for kind in ("score", "alternative")
    )
    seen = set()
    for row, score in ((of, score) for of in REPORTED if of.table.startswith("Table") for score in of.scores):
        (kind, *parts), value = score.split("."), row.scores[score]
        if kind in ("p", "p_below"):
            whose = {"Table 21": "{} {} (reported)", "Table 25": "{}"}.get(row.table, "{2} {1} (reported) on {0}")
            first, second = (whose.format(side, row.memory, row.model) for side in ".".join(parts).split(">"))
            about = {"first": first, "second": second, kind: value, "paper": f"{row.source}, {row.table}"}
            of_table = {"Table 21": {"book": row.dataset}, "Table 25": {"run": f"{row.model} {row.memory} (reported)"}}
            about |= of_table.get(row.table, {})
            found = [r for r in tests if about.items() <= r.items()]
            assert len(found) == 1, (row.table, score)
        else:
            book, _, writer = row.dataset.partition(" by ")
            about = {"book": book, "writer": writer or None, "model": row.model, "memory": row.memory, "mean": value}
            about |= {"sd": row.deviations.get(score)} | ({"score": score} if not kind.startswith("f1_by") else {})
            found = [r for r in numbers if about.items() <= r.items() and {*parts} <= {*r.values()}]
            assert found, (row.table, score)
        seen |= {*map(id, found)}
    assert seen == {*map(id, [*numbers, *tests])}
    for of in (one.records for one in tulving.made.values() if {"score", "paper"} <= one.records[0].keys()):
        assert {row["source"] for row in of} > {"reported"} or not any(row["paper"] for row in of)


def test_trials_of_people_make_figure_2_and_a_row_of_reported_numbers(tmp_path):
    def people(head, *rows):
        (tmp_path / "t.csv").write_text("\n".join((head, *rows)), "utf-8")
        return people_of(tmp_path / "t.csv")

    head = "participant,segment_length,distance,correct"
    far = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    run = people(head, *far, *(f"p{i % 10},20,50,{'true' if i % 2 else 'false'}" for i in range(20)))
    (figure,) = (one.make(SortInputs([run])) for one in DECLARED if one.name == "Figure 2")
    (row,) = figure.frame.query("over == 25000").to_dict("records")
    assert (row["mean"], row["n"], row["model"], row["memory"]) == (35 / 40, 40, "people", "read-once")
    assert row["p"] == pytest.approx(1.38e-6, rel=0.01)  # scipy.stats.binomtest(35, 40)
    (tmp_path / "reported.json").write_text(json.dumps(reported_of(run)), "utf-8")
    (row,) = read_reported(tmp_path / "reported.json", "booksort")
    assert row.scores == {"accuracy": 0.75, "accuracy_s20": 0.5, "accuracy_s50": 0.875} and row.counts["accuracy"] == 60
    wrong = {"a,20,far,1": "row 1: .*distance", "a,20,300,maybe": "row 1: .*correct", "a,20,300": "row 1: "}
    said_of = {(head,): "expected a row", ("participant,correct", "a,1"): "segment_length"}
    for lines, said in (said_of | {(head, "a,20,300,1", row): said for row, said in wrong.items()}).items():
        with pytest.raises(BadInput, match=rf"t.csv.*{said}"):
            people(*lines)


def test_trials_of_people_have_no_labels_and_no_choices_and_stand_in_the_other_tables(tmp_path):
    trials = [f"p{i % 5},{words},300,{int(i >= 5)}" for words in (20, 50) for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(("participant,segment_length,distance,correct", *trials)), "utf-8")
    made = {one.name: one for one in sort_exhibits(SortInputs([people_of(tmp_path / "t.csv")]))}
    shown = {of for of, one in made.items() if not isinstance(one, Missing)}
    assert shown == {"Figure 2", "Table 5", "Segment lengths"}
    assert [row["mean"] for row in made["Segment lengths"].records] == [0.75, 0.75]
