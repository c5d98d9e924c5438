"""Every cell of the tables about books, counted again from the files alone, and the paper's own numbers."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow, read_reported
from epbench.files.packaged import packaged
from epbench.tulving.paper.books.book import Asked
from epbench.tulving.paper.books.characteristics import characteristics, overview, use_of
from epbench.tulving.paper.books.inputs import read_books
from epbench.tulving.paper.books.make import is_about_books
from epbench.tulving.paper.books.repetitions import actual_counts, actual_table
from epbench.tulving.paper.books.widespreadness import widespreadness_table
from epbench.tulving.paper.books.widespreadness import written as cue_written
from epbench.tulving.paper.books.writing import composition_table, rounds_table
from tests.conftest import SHARED
from tests.published_data import OURS
from tests.tulving.paper.books.given_books import built, check_form, published, rows, written

BINS = ("0", "1", "2", "3-5", "6+")
REPORTED = read_reported(packaged("epbench.tulving", "reported_books.json"), "tulving")
LONG = SHARED / "tulving" / "released_n200.zip"


@pytest.fixture(scope="module")
def folders(once, short_book):
    """Four datasets: by templates, by a model, reordered by date, and from another universe."""
    scifi = built(once, "paper-scifi", "--book", "short", "--universe", "scifi", "--events", 8, "--universe-size", 30)
    ordered = built(once, "paper-ordered", "--book", "short", "--order", "chronological")
    return [short_book, written(once), ordered, scifi]


@pytest.fixture(scope="module")
def books(folders):
    return read_books(list(map(str, folders)), OURS)


def plain_events(folder):
    """(date, space, entity, content) of each chapter, from the file alone."""
    return [(row["date"], row["location"], row["entity"], row["content"]) for row in rows(folder, "chapters")]


def published_events():
    return [
        (datetime.strptime(row["date"], "%B %d, %Y").date().isoformat(), row["location"], row["entity"], row["content"])
        for row in published(OURS)["chapters"]
    ]


def by_bins(numbers):
    return Counter(str(n) if n < 3 else "3-5" if n < 6 else "6+" for n in numbers)


def plain_row(label, writer, n_events, events, n_words, matching):
    """A row of Table 2 from plain lists."""
    days = sorted(event[0] for event in events)
    bins = by_bins(matching)
    distinct = [str(len({event[at] for event in events})) for at in range(4)]
    asked = [str(len(matching)), *(str(bins[bin_]) for bin_ in BINS)]
    return [label, writer, str(n_events), str(len(events)), f"{n_words:,} words", *distinct, days[0], days[-1], *asked]


def test_characteristics_are_those_of_the_files(folders, books):
    main, others = characteristics(books)
    short, by_model, _, scifi = folders
    stored = published(OURS)
    expected = [
        plain_row(
            label, writer, n, plain_events(folder), len(rows(folder, "book")[0]["text"].split()),
            [row["n_chapters"] for row in rows(folder, "qa")],
        )
        for label, writer, n, folder in (
            ("short by template", "template", 20, short),
            ("short by openai:tiny", "openai:tiny", 20, by_model),
            ("scifi-short", "template", 8, scifi),
        )
    ]  # fmt: skip
    matching = [row["n_chapters_correct_answer"] for row in stored["questions"]]
    theirs = plain_row("short (released)", "made", 20, published_events(), len(stored["text"].split()), matching)
    assert main.table.rows == [*expected[:2], theirs] and others.table.rows == expected[2:]
    for exhibit in (main, others):
        check_form(exhibit)
        shown = [record["length"] for record in exhibit.records]
        assert [f"{n:,} words" for n in shown] == [row[4] for row in exhibit.table.rows]
        columns = ("n_events", "n_chapters", "n_times", "n_spaces", "n_entities", "n_contents", "first_day", "last_day",
                   "n_selected", *(f"selected_{bin_}" for bin_ in BINS))  # fmt: skip
        for record, row in zip(exhibit.records, exhibit.table.rows, strict=True):
            assert [str(record[column]) for column in columns] == [*row[2:4], *row[5:]]
    answerable = [sum(bool(row["n_chapters"]) for row in rows(folder, "all_questions")) for folder in (short, by_model)]
    assert [record["n_answerable"] for record in main.records] == [*answerable, 564]
    assert "not at hand" in " ".join(main.table.notes)


def test_unknown_numbers_of_events_are_dashes(folders, books):
    (main, _) = characteristics([replace(books[0], n_events=None)])
    assert main.table.rows[0][2] == "–" and main.records[0]["n_events"] is None
    assert any(note.startswith("No report on the writing says how many events") for note in main.table.notes)


def test_repetitions_are_those_of_the_files(folders, books):
    exhibit = actual_table(books, repeats=50)
    check_form(exhibit)
    short, by_model, _, scifi = folders
    events = [*map(plain_events, (short, by_model, scifi)), published_events()]
    labels = ["short by template", "short by openai:tiny", "scifi-short", "short (released)"]
    expected = []
    for label, of in zip(labels, events, strict=True):
        for at, element in enumerate(("time", "space", "entity", "content")):
            often = by_bins(Counter(event[at] for event in of).values())
            expected.append([label, str(len(of)), element, *(str(often[bin_]) for bin_ in BINS[1:])])
    assert [[*row[:3], *(cell.split(" (")[0] for cell in row[3:])] for row in exhibit.table.rows] == expected
    in_records = [str(record["items"]) for record in exhibit.records]
    assert in_records == [cell for row in expected for cell in row[3:]]
    for record, cell in zip(exhibit.records, (cell for row in exhibit.table.rows for cell in row[3:]), strict=True):
        assert cell == f"{record['items']} ({record['expected_mean']:.1f} ± {record['expected_sd']:.1f})"


def test_widespreadness_is_that_of_the_files(folders, books):
    exhibit = widespreadness_table(books)
    check_form(exhibit)
    short, by_model, _, scifi = folders
    asked = [
        [(row["cue"], row["bin"], row["template"]) for row in rows(folder, "qa")] for folder in (short, by_model, scifi)
    ]
    theirs = []
    for row in published(OURS)["questions"]:
        parts = re.findall(r"\*|\{[^}]*\}", row["cue_completed"])
        (bin_,) = by_bins([row["n_chapters_correct_answer"]])
        theirs.append(
            ("".join(letter for letter, part in zip("tsec", parts, strict=True) if part != "*"), bin_, row["q_idx"])
        )
    asked.append(theirs)
    cells = iter(exhibit.table.rows)
    for of in asked:
        templates = {cue: sorted({t for c, _, t in of if c == cue}) for cue, _, _ in of}
        counts = Counter(of)
        for _ in range(15):
            row = next(cells)
            cue = "".join(letter for letter in "tsec" if letter in row[1])
            expected = []
            for bin_ in BINS:
                numbers = {counts[cue, bin_, template] for template in templates[cue]}
                expected.append(str(*numbers) if len(numbers) == 1 else f"{min(numbers)}–{max(numbers)}")
            assert row[2:] == [str(len(templates[cue])), *expected], (cue, row)
    assert sum(record["questions"] for record in exhibit.records) == sum(map(len, asked))
    assert [cue_written("te"), cue_written("tsec")] == ["(t, *, e, *)", "(t, s, e, c)"]


def test_templates_with_different_numbers_show_both():
    (book,) = read_books(archive=OURS)
    exhibit = widespreadness_table([replace(book, selected=[Asked(0, "t", "2", [1, 2]), Asked(0, "t", "2", [1, 3])])])
    assert exhibit.table.rows[0] == ["short (released)", "(t, *, *, *)", "3", "0", "0", "0–2", "0", "0"]


def shortened(checks):
    """The three commonest checks of a round."""
    counted = sorted(checks.items(), key=lambda check: -check[1])
    return ", ".join([*(f"{name} {n}" for name, n in counted[:3]), *["…"][: len(counted) > 3]]) or "–"


def test_rounds_are_those_of_the_report_and_of_the_checks(folders, books):
    exhibit = rounds_table(books)
    check_form(exhibit)
    told = json.loads((folders[1] / "writing.json").read_text("utf-8"))["iterations"]
    expected, so_far = [], 0
    for number, one in enumerate(told):
        so_far += one["accepted"]
        checks = shortened(one["failed_checks"])
        numbers = (one["candidates"], one["failed_exact"], one["failed_llm"])
        expected.append(
            ["short by openai:tiny", "openai:tiny", str(number), checks, *map(str, numbers), f"{so_far} of 20"]
        )
    assert exhibit.table.rows[:10] == expected
    stored, so_far = published(OURS), 0
    for number, row in enumerate(exhibit.table.rows[10:]):
        names = [name for name in stored["exact"] if name.endswith(f"_iter{number}.json")]
        bad = [name for name in names if not stored["exact"][name][0]]
        doubted = [name for name in names if name not in bad and not stored["model"].get(name, [True])[0]]
        so_far += len(names) - len(bad) - len(doubted)
        assert row[4:] == [*map(str, (len(names), len(bad), len(doubted))), f"{so_far} of 20"]
        failed = Counter(check for name in bad for check in stored["exact"][name][1])
        failed.update(f"llm_{fact}" for name in doubted for fact in stored["model"][name][1])
        named = dict(part.rsplit(" ", 1) for part in row[3].removesuffix(", …").split(", "))
        assert sorted(map(int, named.values())) == sorted(failed.values())[-3:] and row[3].endswith("…") == (
            len(failed) > 3
        )
        assert all(failed[check] == int(n) for check, n in named.items())
        kept = {r["check"]: r["failed_check"] for r in exhibit.records if (r["label"], r["round"]) == ("short", number)}
        assert {check: n for check, n in kept.items() if check} == failed
    assert so_far == 19 and sum(note.startswith("Without rounds") for note in exhibit.table.notes) == 1
    for record in exhibit.records:
        assert record["candidates"] == record["accepted"] + record["failed_exact"] + record["failed_model"]


def test_books_by_templates_have_no_rounds(books):
    found = rounds_table([books[0], books[3]])
    assert isinstance(found, Missing)
    assert found.needs == (
        "a book that a model wrote, with its checks (short by template, scifi-short: the template writer composes each "
        "chapter from its plan in one go, so there are no rounds to show)"
    )


def test_composition_is_that_of_the_files(folders, books):
    exhibit = composition_table(books)
    check_form(exhibit)
    short, by_model, _, scifi = folders
    stored = published(OURS)
    plans = [stored["layouts"][row["raw_generated_paragraph_idx"]] for row in stored["chapters"]]
    columns = [
        {
            "paragraphs": Counter(str(row["text"].count("\n\n") + 1) for row in rows(folder, "chapters")),
            "style": Counter(row["style"] for row in rows(folder, "chapters")),
            "secondary entities": Counter(str(len(row["secondary_entities"])) for row in rows(folder, "chapters")),
        }
        for folder in (short, by_model, scifi)
    ] + [
        {
            "paragraphs": Counter(str(plan["nb_paragraphs"]) for plan in plans),
            "style": Counter(plan["style"] for plan in plans),
            "secondary entities": Counter(str(len(row["post_entities"])) for row in stored["chapters"]),
        }
    ]
    *counted, last = exhibit.table.rows
    assert last == ["all", "", "20", "19", "8", "19"]
    for what, value, *cells in counted:
        assert cells == [str(column[what][value]) for column in columns] and cells != ["0"] * 4
    assert {(what, value) for what, value, *_ in counted} == {
        (what, value) for column in columns for what, of in column.items() for value in of
    }
    shown = {
        (row[0], row[1], label): int(n)
        for row in counted
        for label, n in zip(exhibit.table.head[2:], row[2:], strict=True)
    }
    in_records = {
        (r["property"], r["value"], r["label"] + (" (released)" if r["source"] == "released" else "")): r["chapters"]
        for r in exhibit.records
    }
    assert in_records == shown


def test_the_overview_tells_what_each_book_is_for(books):
    exhibit = overview(books)
    check_form(exhibit)
    found = {row[0]: row[5:7] for row in exhibit.table.rows}
    assert found == {
        "short by template": ["main", "Tables 13 and 17, Figure 7"],
        "short by openai:tiny": ["ablation: writer", "Tables 20 and 21"],
        "short-ordered": ["ablation: order", "Tables 22 and 23"],
        "scifi-short": ["ablation: universe", "Table 27"],
        "short (released)": ["main", "Tables 13 and 17, Figure 7"],
    }
    for row, book in zip(exhibit.table.rows, books, strict=True):
        order = "chronological" if "ordered" in row[0] else "–"
        text = [book.universe, "short", book.writer, order]
        assert row[1:5] == text and row[7:] == [str(len(book.chapters)), f"{len(book.text.split()):,} words"]
    assert [(r["use"], r["used_in"], r["n_chapters"]) for r in exhibit.records] == [
        (*of, len(book.chapters)) for of, book in zip(found.values(), books, strict=True)
    ]


def test_another_seed_is_for_the_spread(books):
    other = replace(books[0], seed=5)
    assert use_of(other, [books[0], other]) == ("another seed", "")


def test_without_books_tables_say_what_they_need():
    found = [
        *characteristics([]),
        overview([]),
        rounds_table([]),
        composition_table([]),
        actual_table([]),
        widespreadness_table([]),
    ]
    assert all(isinstance(one, Missing) and one.needs for one in found)
    assert [one.name for one in found] == [
        "Table 2",
        "Table 26",
        "Table 28",
        "Table 7",
        "Table 8",
        "Table 9",
        "Table 12",
    ]


# The paper's own numbers


def paper(table, dataset):
    return next(row.scores for row in REPORTED if (row.table, row.dataset) == (table, dataset))


def test_a_published_book_has_the_papers_numbers():
    """Our archive tells the events of the short book of the paper, with other names."""
    (book,) = read_books(archive=OURS)
    check_published(book, "short")


@pytest.mark.skipif(not LONG.is_file(), reason="the published book of 200 events does not lie beside the checkout")
def test_the_published_long_book_has_the_papers_numbers():
    (book,) = read_books(archive=LONG)
    check_published(book, "long")
    counted = {(r["property"], r["value"]): r["chapters"] for r in composition_table([book]).records}
    for name, n in paper("Table 8", "long").items():
        what, _, value = name.partition(".")
        assert what == "secondary entities" or counted[what, value] == n, name
    by_round = {r["round"]: r for r in rounds_table([book]).records}
    for name, n in paper("Table 7", "long").items():
        number, _, column = name.partition(".")
        if column in ("candidates", "accepted_so_far"):  # which checks failed was made up in this archive
            assert by_round[int(number)][column] == n, name
    dates = Counter(chapter.event.day for chapter in book.chapters).most_common(4)
    assert dates == [("May 11, 2026", 15), ("March 23, 2024", 13), ("April 09, 2026", 12), ("February 27, 2026", 11)]


def check_published(book, name):
    main, _ = characteristics([book])
    (record,) = main.records
    for column, n in paper("Table 2", name).items():
        if column != "length" and (name, column) != ("short", "n_times"):  # printed as 14, and 13 by Table 9
            assert record[column] == n, column
    counts = actual_counts(book.chapters)
    for key, n in paper("Table 9", name).items():
        feature, _, bin_ = key.partition(".")
        assert counts[feature][bin_] == n, key
    spread = {
        (r["cue"], r["bin"]): (r["least_of_a_template"], r["most_of_a_template"])
        for r in widespreadness_table([book]).records
    }
    for key, n in paper("Table 12", name).items():
        cue, _, bin_ = key.partition(".")
        for one in ("ts", "te", "tse", "tsc", "tec", "tsec") if cue == "others" else (cue,):
            assert spread[one, bin_] == (n, n), key


def test_the_papers_numbers_fit_together():
    for dataset in ("short", "long"):
        for feature, column in zip(
            ("time", "space", "entity", "content"), ("n_times", "n_spaces", "n_entities", "n_contents"), strict=True
        ):
            total = sum(n for key, n in paper("Table 9", dataset).items() if key.startswith(feature))
            assert total == paper("Table 2", dataset)[column] - ((dataset, feature) == ("short", "time"))
    counts = paper("Table 8", "long")
    for what in ("paragraphs", "style", "secondary entities"):
        assert sum(n for key, n in counts.items() if key.startswith(what)) == 196
    for row in (row for row in REPORTED if row.table in ("Table 2", "Table 26")):
        assert sum(row.scores[f"selected_{bin_}"] for bin_ in BINS) == row.scores["n_selected"]


def test_reported_rows_stand_beside_the_books(books):
    told = books[:1]
    main, _ = characteristics(told, REPORTED)
    made = [main, rounds_table(books, REPORTED), composition_table(told, REPORTED), widespreadness_table(told, REPORTED),
            actual_table(told, REPORTED, repeats=10)]  # fmt: skip
    for exhibit in made:
        check_form(exhibit)
        assert any("Huet et al., ICLR 2025" in note for note in exhibit.table.notes)
        assert any(record["source"] == "reported" for record in exhibit.records)
    assert main.table.rows[1] == [
        "short (reported)", "claude-3-5-sonnet-20240620", "20", "19", "10,397 tokens", "14", "12", "13", "12", "–", "–",
        "456", "180", "180", "72", "24", "0",
    ]  # fmt: skip
    last = made[1].table.rows[-1]  # by the paper's Table 7
    assert last == ["long (reported)", "gpt-4o-2024-05-13", "9", "–", "6", "4", "0", "196 of 200"]
    assert made[2].table.head == ["property", "value", "short by template", "long (reported)"]
    assert (horror := next(row for row in made[2].table.rows if row[1] == "horror"))[:2] == ["style", "horror"]
    assert horror[3] == "18"
    assert made[3].table.rows[-1] == ["long (reported)", "others", "–", "5", "5", "0", "0", "0"]
    assert made[4].table.rows[-1] == ["long (reported)", "–", "content", "9", "4", "7", "14"]


SOME_SCORES = (
    "f1", "time.1", "t.0", "others.6+", "0.candidates", "1.candidates", "0.failed_exact", "style.horror", "n_events", "length",
)  # fmt: skip


@given(
    number=st.sampled_from([2, 7, 8, 9, 12, 26]),
    scores=st.dictionaries(st.sampled_from(SOME_SCORES), st.integers(0, 300)),
)
@settings(max_examples=30, deadline=None)
def test_rows_of_other_papers_and_gaps_do_no_harm(books, number, scores):
    row = ReportedRow("Somebody, 2025", f"Table {number}", "long", "m", "", scores, {}, {}, {})
    book = books[-1:]
    made = [
        *characteristics(book, [row]), rounds_table(book, [row]), composition_table(book, [row]),
        widespreadness_table(book, [row]), actual_table(book, [row], repeats=2),
    ]  # fmt: skip
    for exhibit in made:
        if not isinstance(exhibit, Missing):
            check_form(exhibit)


def test_rows_about_books_are_told_from_rows_about_readers():
    assert all(map(is_about_books, REPORTED))
    row = ReportedRow("Somebody, 2025", "Table 9", "long", "m", "in-context", {"f1": 0.5}, {}, {}, {})
    assert not is_about_books(row) and not is_about_books(replace(row, memory="", table="Table 3"))
