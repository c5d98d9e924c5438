"""The numbers of papers that the package carries: against the texts where these lie beside the checkout, and in the tables."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from epbench.booksort.paper.inputs import reported_numbers
from epbench.booksort.scores.report import HUMANS
from epbench.files.packaged import packaged
from epbench.reports.reported import read_reported
from epbench.tulving.paper.inputs import MEMORIES, parts_of
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.books import read_book
from tests.paper.conftest import REPORTED_BOOKS
from tests.paper.plain_books import BINS, ELEMENTS
from tests.published_data import BOOKS

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
FILE = packaged("epbench.tulving") / "reported.json"
TULVING = read_reported(FILE, "tulving")
CUES, SEVERAL = "| (t, *, *, *)   | ", "| gpt-4o-mini<br>gpt-4o<br>claude-3-haiku<br>claude-3-5-sonnet"
BLOCKS = {
    "Table 3": [("|             | gpt-4o-mini       | 0.51", 11)],
    "Table 4": [("| Family ", 7)],
    "Table 13": [("|             | gpt-4o-mini       | 0.53", 11)],
    "Table 14": [("| In-context       |", 3), ("| RAG<br>(paragraph)", 2)],
    "Table 15": [("| 1           | 0.95", 4)],
    "Table 16": [(f"{CUES}0.80", 15)],
    "Table 17": [(f"{CUES}1.00", 15)],
    "Table 18": [("| Times ", 6)],
    "Table 19": [(f"{CUES} ", 14)],
    "Table 20": [("| GPT    | gpt-4o-mini       |", 8)],
    "Table 21": [("| Claude | gpt-40 vs", 3)],
    "Table 22": [("| Ordered   |", 8)],
    "Table 23": [(f"{SEVERAL} | ordered vs", 1)],
    "Table 24": [("| 0   | empty ", 11)],
    "Table 25": [(f"{SEVERAL}<br>llama", 1)],
    "Table 27": [("|        | short default |", 6)],
}
"""Where each table of Tulving's paper begins in its text, and the number of its lines."""
SORT_TABLES = {
    "Table 1": ("Table 1: Baseline", "Figure 2: Human", 11),
    "Table 2": ("Table 2: Mean", "### 5.3", 10),
    "Table 11": ("Table 11: Accuracy", "### D.3", 36),
    "Table 12": ("Table 12: Accuracy", "Figure 8: Average", 54),
}
"""Where each table begins and ends in the text of the SORT paper, and the number of its rows."""


def text_of(number):
    if not (found := sorted(SEEDS.glob(f"{number}_*.txt"))):
        pytest.skip("the text of the paper does not lie beside the checkout")
    return found[0].read_text("utf-8")


def printed(text):
    """The values of cells such as `0.84±0.37`, `0.95±0.22 (60)`, `23%` or `<0.01`, with what follows ±."""
    found = []
    for cell in re.split(r"\||<br>|\n", re.sub(r"\$|\*\*|</?b>", "", text).replace("\\pm", "±")):
        if of := re.fullmatch(r"<?(\d*\.\d+|\d+(?=%))(%?)(?:\s*±\s*([\d.]+))?(?: ?\(\d+\))?", cell.strip()):
            found.append((round(float(of[1]) / (100 if of[2] else 1), 4), of[3] and float(of[3])))
    return Counter(found)


@pytest.mark.parametrize("table", BLOCKS)
def test_every_cell_of_the_paper_on_tulving(table):
    lines, cells = text_of("000").splitlines(), Counter()
    for first, n in BLOCKS[table]:
        at = next(number for number, line in enumerate(lines) if line.startswith(first))
        cells += printed("\n".join(lines[at : at + n]))
    rows = [row for row in TULVING if row.table == table]
    assert cells == Counter((value, row.deviations.get(name)) for row in rows for name, value in row.scores.items())


def test_every_row_of_the_ranking():
    ranking = re.findall(r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", text_of("001"), re.M)
    rows = [(row.model, *row.scores.values()) for row in TULVING if row.table == "leaderboard"]
    assert (
        rows == [(model, float(recall), float(awareness)) for model, recall, awareness in ranking] and len(rows) == 21
    )


@pytest.mark.parametrize("table", SORT_TABLES)
def test_every_cell_of_the_paper_on_sort(table):
    (start, end, n), text = SORT_TABLES[table], text_of("004")
    at, rows = text.index(start), [row for row in reported_numbers() if row.table == table]
    assert len(rows) == n
    assert printed(text[at : text.index(end, at)]) == Counter(
        (value, round((row.intervals[name][1] - row.intervals[name][0]) / 2, 4))
        for row in rows
        for name, value in row.scores.items()
    )


def test_people_and_settings_are_those_of_the_paper_on_sort():
    (people,) = (row for row in reported_numbers() if row.table == "Figure 2")
    names = ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")
    assert list(HUMANS.values()) == [people.scores[name] for name in names] == [0.64, 0.56, 0.76]
    found = {}
    for row in reported_numbers():
        for name, value in row.scores.items():
            found.setdefault((row.table, name.rstrip("0123456789").rstrip(".")), []).append(value)
    assert found["Table 5", "mmlu"] == [80.06, 66.60, 77.77, 72.28, 60.10, 60.07, 68.90, 45.30, 64.30]
    assert found["Table 7", "prompt"] == [4, 3, 4, 7, 8, 3, 2, 10, 7, 7]
    assert found["Table 8", "recall_at_10"] == [0.728, 0.817, 0.869, 0.875, 0.802, 0.799, 0.782, 0.865, 0.906, 0.858]
    assert (found["Table 10", "reading"], found["Appendix F.5", "accuracy"]) == ([7, 7, 3, 6], [0.93, 0.90, 0.88, 0.91])


def test_the_rows_on_tulving_are_in_our_words_and_repeat_their_numbers():
    assert len(TULVING) == 135 and {row.memory for row in TULVING} <= set(MEMORIES)
    books = "short, long, short-ordered, news-short, news-long, scifi-short, scifi-long, short by gpt-4o"
    assert {row.dataset for row in TULVING} == set(books.split(", "))
    assert all(parts_of(row.dataset.partition(" by ")[0])[0] for row in TULVING)
    found = {}
    for row in TULVING:
        assert row.source.startswith("Huet et al.") and set(row.deviations) | set(row.counts) <= set(row.scores)
        for score, value in row.scores.items():
            about = row.dataset, row.model, row.memory, score
            assert -1 <= value <= 1 and found.setdefault(about, value) == value, about


def grids(table):
    """The only row of Tables 15 to 19, which are grids of gpt-4o with the whole book in its context."""
    tables = {one["table"]: one["rows"] for one in json.loads(FILE.read_text("utf-8"))["tables"]}
    return next(one for one in tables[table] if (one["model"], one["memory"]) == ("gpt-4o", "in-context"))


def means(row, part):
    """The number of questions and the sum of their F1, by one part of the names of the cells."""
    found = {}
    for name, mean in row["scores"].items():
        n, total = found.get(value := name.split(".")[part], (0, 0))
        found[value] = n + row["counts"][name], total + row["counts"][name] * mean
    return found


@pytest.mark.parametrize(("number", "beside"), [(15, 3), (16, 3), (17, 13), (18, 3), (19, 16)])
def test_the_cells_of_a_table_have_the_means_of_another_one(number, beside):
    found, expected = means(grids(f"Table {number}"), 2 if number < 19 else 1), means(grids(f"Table {beside}"), 1)
    if number == 19:
        expected.pop("tsec")
    assert found.keys() == expected.keys()
    for value, (n, total) in found.items():
        assert n == expected[value][0] and total / n == pytest.approx(expected[value][1] / n, abs=0.0101), value


@pytest.mark.parametrize(("archive", "length"), [book[:2] for book in BOOKS])
def test_the_counts_are_those_of_the_published_questions(archive, length):
    opened = open_archive(archive)
    selected = [q for q in read_book(opened, opened.books[0]).selected if q.get == "all"]
    asked = [{"elements": str(len(q.cue)), "cue": q.cue, "bin": q.bin, "trace": q.trace} for q in selected]
    for row in (grids(f"Table {number}") for number in range(15, 20)):
        for name, n in row["counts"].items() if row["dataset"] == length else ():
            kinds, *values = name.removeprefix("f1_by_").split(".")
            assert sum([question[kind] for kind in kinds.split("_and_")] == values for question in asked) == n, name


def test_the_papers_numbers_about_books_fit_together():
    def scores(table, dataset):
        return next(row.scores for row in REPORTED_BOOKS if (row.table, row.dataset) == (table, dataset))

    for dataset in ("short", "long"):
        for feature, column in zip(ELEMENTS, ("n_times", "n_spaces", "n_entities", "n_contents"), strict=True):
            total = sum(n for key, n in scores("Table 9", dataset).items() if key.startswith(feature))
            assert total == scores("Table 2", dataset)[column] - ((dataset, feature) == ("short", "time"))
    for what in ("paragraphs", "style", "secondary entities"):
        assert sum(n for key, n in scores("Table 8", "long").items() if key.startswith(what)) == 196
    for row in (row for row in REPORTED_BOOKS if row.table in ("Table 2", "Table 26")):
        assert sum(row.scores[f"selected_{bin_}"] for bin_ in BINS) == row.scores["n_selected"]


@pytest.mark.slow
def test_every_number_on_tulving_stands_in_its_table_beside_those_of_runs(tulving):
    numbers, tests = Counter(), []
    for exhibit in tulving.made.values():
        for row in exhibit.records:
            if row.get("paper") and "alternative" in row:
                tests.append((row.get("book", ""), row["first"], row["second"], row["p"], row["p_below"], row["paper"]))
            elif row.get("paper") and "score" in row:
                assert row["source"] == "reported" and {one["source"] for one in exhibit.records} > {"reported"}
                numbers[_about(row), row["mean"], row.get("sd")] += 1
    seen = set()
    for row in TULVING:
        for score, value in row.scores.items() if row.table.startswith("Table") else ():
            kind, _, pair = score.partition(".")
            if kind in ("p", "p_below"):
                first, second = (f"{row.model} {row.memory} (reported) on {one}" for one in pair.split(">"))
                if row.table == "Table 21":
                    first, second = (f"{one} {row.memory} (reported)" for one in pair.split(">"))
                elif row.table == "Table 25":
                    first, second = pair.split(">")
                number = (value, None) if kind == "p" else (None, value)
                book = row.dataset if row.table == "Table 21" else ""
                tests.remove((book, first, second, *number, f"{row.source}, {row.table}"))
            else:
                about = (row.dataset, row.model, row.memory, score), value, row.deviations.get(score)
                assert numbers[about], (row.table, about)
                seen.add(about)
    assert not tests and {about[0] for about in seen} == {about[0] for about in numbers}


def _about(row):
    """Whose number a row of a frame holds, and its name in the file."""
    dataset = f"{row['book']} by {row['writer']}" if row["writer"] else row["book"]
    kinds = [name for name in ("elements", "cue", "trace", "realism", "bin") if name in row]
    score = f"f1_by_{'_and_'.join(kinds)}.{'.'.join(row[name] for name in kinds)}"
    if kinds in (["bin"], ["realism", "bin"]):
        score = ".".join(("f1_by_bin", row["bin"], *([row["realism"]] if "realism" in row else [])))
    return dataset, row["model"], row["memory"], score if kinds else row["score"]
