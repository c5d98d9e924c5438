"""Tables 3, 4, 5, 6 and 9: the numbers of the paper, and those of one's own sets and runs, counted anew."""

import json
import re
import tomllib

import pytest

from epbench.booksort.paper.inputs import read_runs
from epbench.booksort.paper.settings.bins import table_4
from epbench.booksort.paper.settings.books import table_3
from epbench.booksort.paper.settings.models import table_5
from epbench.booksort.paper.settings.prompts import table_6, table_9
from epbench.exhibits.reported import ReportedRow
from epbench.files.packaged import packaged
from epbench.reports.figures import drawing, svg
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import BOOKS, book_text, write_set

# Table 3 of the paper: number, words, day of release, first edition, class.
NINE = """
69087 69720 2022-10-02 1926 PR
72578 43853 2024-01-01 1928 PZ
72600 59081 2024-01-02 1928 PZ
72869 79946 2024-02-04 1928 PR
72958 42354 2024-02-14 1928 PZ
72963 104530 2024-02-15 1928 Q
72972 82331 2024-02-16 1928 PR
73017 9273 2024-02-22 1928 PE
73042 163217 2024-02-26 1928 PR
"""
PACK = tomllib.loads(packaged("epbench.booksort", "sort_prompts.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("set") / "mine")


def test_the_nine_books_are_those_of_the_paper():
    shown = table_3([])
    expected = [line.split() for line in NINE.split("\n") if line]
    names = ("book", "words", "released", "published", "class")
    assert [[str(record[name]) for name in names] for record in shown.records] == expected
    assert {record["source"] for record in shown.records} == {"reported"}
    assert [row[0] for row in shown.table.rows] == [f"{line[0]} (reported)" for line in expected]
    assert [row[5] for row in shown.table.rows] == [f"{int(line[1]):,}" for line in expected]
    assert "sum to 654,305, on average 72,701 a book" in shown.table.notes[0]  # the paper says about 72,700


def test_books_of_a_set_are_counted_word_by_word(dataset):
    shown = table_3([str(dataset)])
    own = [record for record in shown.records if record["source"] == "own"]
    assert [(r["dataset"], r["book"], r["title"], r["words"]) for r in own] == [
        ("mine", book, title, len(re.findall(r"\S+", book_text(book)))) for book, title in BOOKS.items()
    ]
    assert shown.table.rows[9][:3] == ["101", "The Lamp at the Ferry", "–"] and own[0]["author"] is None


def test_a_published_set_has_no_words_to_count(tmp_path):
    (tmp_path / "segments_250-s20-n110.csv").write_text("x")
    shown = table_3([str(tmp_path)])
    assert len(shown.records) == 9 and shown.table.notes[-1].startswith(f"{tmp_path.name} holds no whole books")


def test_bins_end_where_the_formulas_say(dataset):
    shown = table_4([str(dataset)])
    own = [record for record in shown.records if record["source"] == "own"]
    lengths = list(dict.fromkeys((record["excerpt_length"], record["segment_length"]) for record in own))
    assert lengths == sorted(
        {(120, 20), (250, 20)} | {(e, s) for e in (250, 1000, 2500, 10000, 20000) for s in (20, 50)}
    )
    for (excerpt, segment), row in zip(lengths, shown.table.rows[2:], strict=True):
        first = [excerpt // 4, excerpt // 3] if excerpt <= 2500 else [1000, excerpt // 4]
        ends = [*first, excerpt // 2, excerpt * 8 // 10]
        bins = [r for r in own if (r["excerpt_length"], r["segment_length"]) == (excerpt, segment)]
        assert [record["most"] for record in bins] == ends and [record["bin"] for record in bins] == [0, 1, 2, 3]
        assert [record["least"] for record in bins] == [segment, *(end + 1 for end in ends[:-1])]
        assert row == [f"{excerpt:,}", str(segment), str(segment), *(f"{end:,}" for end in ends)]
    assert shown.table.rows[0][-1] == shown.table.rows[1][-1] == "L_E/0.8"  # as printed, though it cannot be


@pytest.mark.slow
def test_models_are_those_of_the_paper_and_of_the_runs(tmp_path, dataset):
    weights = {"weights": "abc"}
    made = [
        make_run(tmp_path / "a", dataset, mostly_right(0.5), model="hf:org/m", more=weights),
        make_run(tmp_path / "b", dataset, mostly_right(0.5), model="hf:org/m", memory="in-context", more=weights),
        make_run(tmp_path / "c", dataset, mostly_right(0.5), model="oracle"),
    ]
    row = ReportedRow("Paper", "Table 5", "MMLU", "L8", "none", {"mmlu": 66.6}, {}, {}, {}, "Llama-3-8B-Instruct")
    shown = table_5(read_runs(made), [row])
    assert shown.table.rows == [
        ["L8 (reported)", "Llama-3-8B-Instruct", "–", "–", "–", "66.60"],
        ["hf:org/m", "org/m", "abc", "in-context, none", "2", "–"],
        ["oracle", "oracle", "–", "none", "1", "–"],
    ]
    assert [(r["source"], r["mmlu"], r["n_runs"]) for r in shown.records] == [
        ("reported", 66.6, None), ("own", None, 2), ("own", None, 1),
    ]  # fmt: skip


def test_prompts_are_those_of_the_pack():
    shown = table_6()
    assert len(shown.records) == 12
    for number, (record, row) in enumerate(zip(shown.records, shown.table.rows, strict=True), 1):
        reading, task = PACK["prompts"][number - 1]
        texts = [" ".join(PACK[key][n - 1].split()) for key, n in (("readings", reading), ("tasks", task))]
        assert [record["number"], record["reading"], record["task"]] == [number, *texts]
        assert row == [str(number), *texts]
    with drawing():
        picture = svg(shown.draw())
    assert "reading: Here is a part of the book" in picture and ">12<" in picture


def test_readings_of_passages_are_those_of_the_pack():
    shown = table_9()
    texts = [" ".join(text.split()) for text in PACK["passage_readings"]]
    assert [(record["number"], record["reading"]) for record in shown.records] == list(enumerate(texts))
    assert shown.table.rows == [[str(number), text] for number, text in enumerate(texts)]


def test_reported_settings_are_those_of_the_paper():
    content = json.loads(packaged("epbench.booksort", "reported_settings.json").read_text())
    found = {}
    for table in content["tables"]:
        for row in table["rows"]:
            for name, value in row["scores"].items():
                found.setdefault((table["table"], name.rstrip("0123456789").rstrip(".")), []).append(value)
    assert found["Table 5", "mmlu"] == [80.06, 66.60, 77.77, 72.28, 60.10, 60.07, 68.90, 45.30, 64.30]
    assert found["Table 7", "prompt"] == [4, 3, 4, 7, 8, 3, 2, 10, 7, 7]
    assert found["Table 8", "recall_at_10"] == [
        0.728, 0.817, 0.869, 0.875, 0.802, 0.799, 0.782, 0.865, 0.906, 0.858,
    ]  # fmt: skip
    assert found["Table 10", "reading"] == [7, 7, 3, 6]
    assert found["Appendix F.5", "accuracy"] == [0.93, 0.90, 0.88, 0.91]
