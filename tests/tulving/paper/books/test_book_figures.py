"""Figures 5 and 6: positions and a path, measured again from the texts, and what the drawings show."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from epbench import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing, write_exhibits
from epbench.reports.figures import drawing, svg
from epbench.tulving.events.new_york import CITY, boroughs, city_spaces, in_city, known_spaces
from epbench.tulving.events.universe import load_universe
from epbench.tulving.events.universe_files import read_universe_files
from epbench.tulving.paper.books import map_drawing
from epbench.tulving.paper.books.inputs import read_books
from epbench.tulving.paper.books.make import exhibits
from epbench.tulving.paper.books.path import path_figures
from epbench.tulving.paper.books.positions import positions_figures
from tests.conftest import SHARED
from tests.published_data import OURS
from tests.tulving.paper.books.given_books import built, check_form, published, rows

LONG = SHARED / "tulving" / "released_n200.zip"


@pytest.fixture(scope="module")
def books(once, short_book):
    scifi = built(once, "paper-scifi", "--book", "short", "--universe", "scifi", "--events", 8, "--universe-size", 30)
    return read_books([str(short_book), str(scifi)], OURS)


def drawn(exhibit):
    with drawing():
        return svg(exhibit.draw())


def plain_positions(folder):
    """By span and fact, the positions in the order of the chapters, from the rows alone."""
    book = rows(folder, "book")[0]["text"].lower()
    found, begin = {}, 0
    for row in rows(folder, "chapters"):
        text = row["text"].lower()
        begin = book.index(f"chapter {row['chapter']}\n\n{text}", begin) + len(f"chapter {row['chapter']}\n\n")
        year, month, day = row["date"].split("-")
        names = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ]
        facts = {
            "space": row["location"], "time": f"{names[int(month) - 1]} {day}, {year}",
            "entity": row["entity"], "detail": row["detail"],
        }  # fmt: skip
        for fact, told in facts.items():
            told = told.lower()
            at = text.index(told) + len(told) / 2
            paragraph = next(part for part in text.split("\n\n") if told in part)
            within = (paragraph.index(told) + len(told) / 2) / len(paragraph)
            for span, place in (("book", (begin + at) / len(book)), ("chapter", at / len(text)), ("paragraph", within)):
                found.setdefault((span, fact), []).append(place)
    return found


def test_positions_are_those_of_the_texts(books, short_book):
    (figure,) = positions_figures(books[:1])
    check_form(figure)
    expected = plain_positions(short_book)
    for (span, fact), places in expected.items():
        mine = [r for r in figure.records if (r["span"], r["fact"]) == (span, fact)]
        assert [r["chapter"] for r in mine] == list(range(1, 21))
        assert [r["position"] for r in mine] == pytest.approx(places)
    for row in figure.table.rows:
        places = np.sort(expected[row[1], row[2]])
        assert row[3] == "20" and row[4:] == [f"{np.quantile(places, q):.2f}" for q in (0.1, 0.25, 0.5, 0.75, 0.9)]
    assert len(figure.records) == 3 * 4 * 20 and len(figure.table.rows) == 12
    text = drawn(figure)
    assert all(f">{words}<" in text for words in ("space", "detail", "position in the paragraph", "share of chapters"))


def test_five_books_take_two_figures(books):
    several = [replace(books[0], label=f"copy {number}") for number in range(5)]
    first, second = positions_figures(several)
    assert (first.name, second.name) == ("Figure 5, part 1", "Figure 5, part 2")
    assert {record["label"] for record in second.records} == {"copy 4"}
    assert ">copy 3<" in drawn(first) and ">copy 4<" in drawn(second)


def test_a_book_that_does_not_tell_a_fact_word_for_word_is_left_out(books):
    chapter = books[0].chapters[3]
    loose = replace(chapter, text=chapter.text.replace(chapter.event.space, "somewhere"))
    vague = replace(books[0], label="vague", chapters=[*books[0].chapters[:3], loose, *books[0].chapters[4:]])
    (figure,) = positions_figures([books[0], vague])
    assert {record["label"] for record in figure.records} == {"short"}
    why = "vague is left out: chapter 4 does not tell its space word for word in one paragraph."
    assert why in figure.table.notes
    (missing,) = positions_figures([vague])
    assert isinstance(missing, Missing) and why in missing.needs


def test_the_path_is_that_of_the_person_with_the_most_events(books, short_book):
    (figure,) = path_figures(books[:1])
    check_form(figure)
    told = rows(short_book, "chapters")
    names = [row["entity"] for row in told]
    person = max(names, key=lambda name: (names.count(name), -names.index(name)))
    with (read_universe_files("default").folder / "locations.csv").open(encoding="utf-8", newline="") as file:
        at = {row["name"]: (float(row["latitude"]), float(row["longitude"])) for row in csv.DictReader(file)}
    path = sorted((row for row in told if row["entity"] == person), key=lambda row: row["date"])
    assert figure.name == "Figure 6" and figure.title.endswith(f"{person} in short")
    assert [
        (
            r["entity"],
            r["stop"],
            r["chapter"],
            r["date"],
            r["space"],
            r["content"],
            r["detail"],
            r["latitude"],
            r["longitude"],
        )
        for r in figure.records
    ] == [
        (person, n, row["chapter"], row["date"], row["location"], row["content"], row["detail"], *at[row["location"]])
        for n, row in enumerate(path, 1)
    ]
    for number, (cells, row) in enumerate(zip(figure.table.rows, path, strict=True), 1):
        south, west = at[row["location"]]
        assert cells[0] == str(number) and cells[5] == str(row["chapter"]) and cells[1].endswith(row["date"][:4])
        assert cells[2:5] == [row["location"], row["content"], f"{south:.3f}, {west:.3f}"]
    text = drawn(figure)
    assert f">{person}, short<" in text and all(f": {row['location']}<" in text for row in path)


def test_a_person_may_be_chosen(books):
    name = books[0].chapters[4].event.entity
    (figure,) = path_figures(books[:1], name)
    assert {record["entity"] for record in figure.records} == {name}
    with pytest.raises(BadInput, match="entity 'Nobody Known': expected a main character of one of the books"):
        path_figures(books, "Nobody Known")


def test_a_path_that_is_too_long_for_a_map_must_be_asked_for(books):
    frequent, rare = "Ann Often", "Bob Seldom"
    chapters = [
        replace(chapter, number=n, event=replace(chapter.event, entity=frequent if n % 3 else rare))
        for n, chapter in enumerate([*books[0].chapters] * 2, 1)
    ]
    book = replace(books[0], chapters=chapters)
    (figure,), (asked,) = path_figures([book]), path_figures([book], frequent)
    assert (len(figure.records), figure.records[0]["entity"]) == (13, rare)
    assert (len(asked.records), asked.records[0]["entity"]) == (27, frequent)


def test_universes_without_coordinates_say_so(books):
    figures = path_figures(books)
    assert [one.name for one in figures] == ["Figure 6, short", "Figure 6, scifi-short", "Figure 6, short (released)"]
    missing = figures[1]
    assert isinstance(missing, Missing)
    assert missing.needs == (
        "coordinates of the spaces of scifi-short: the universe scifi has none that are known here"
    )


def test_spaces_without_coordinates_stay_off_the_map_and_in_the_table(books):
    (whole,) = path_figures(books[:1])
    lost = whole.records[0]["space"]
    book = replace(books[0], coordinates={name: at for name, at in books[0].coordinates.items() if name != lost})
    (figure,) = path_figures([book])
    check_form(figure)
    assert figure.records[0]["latitude"] is None and figure.table.rows[0][4] == "–"
    assert f"Not on the map, since their coordinates are unknown: {lost}." in figure.table.notes
    assert f"{lost} (not on the map)" in drawn(figure)


def test_numbers_of_stops_do_not_cover_one_another(books, monkeypatch):
    """Forty stops in one street."""
    placed = []
    free = map_drawing._free
    monkeypatch.setattr(map_drawing, "_free", lambda *box: free(*box) and not placed.append(box[:3]))
    event = books[0].chapters[0].event
    chapters = [replace(books[0].chapters[0], number=n, event=replace(event, space=f"House {n}")) for n in range(1, 41)]
    street = {f"House {n}": (40.75 + n / 20_000, -73.98) for n in range(1, 41)}
    (figure,) = path_figures([replace(books[0], chapters=chapters, coordinates=street)])
    drawn(figure)
    assert len(placed) == 40
    for at, (x, y, half) in enumerate(placed):
        for other_x, other_y, other_half in placed[:at]:
            assert abs(x - other_x) > half + other_half or abs(y - other_y) > 0.17


def test_every_space_of_our_new_york_has_coordinates_in_or_around_the_city():
    universe = load_universe()
    assert universe.coordinates.keys() == set(universe.spaces)
    outside = {name for name, point in universe.coordinates.items() if not in_city(point)}
    assert len(universe.spaces) - len(outside) >= 90
    for south, west in universe.coordinates.values():
        assert 40.4 < south < 41.5 and -74.3 < west < -73.4  # day trips: Storm King, Jones Beach
    assert known_spaces(universe.spaces) == universe.coordinates


def test_the_map_has_five_boroughs_in_the_city():
    assert boroughs().keys() == {"Manhattan", "Bronx", "Brooklyn", "Queens", "Staten Island"}
    for name, polygons in boroughs().items():
        for polygon in polygons:
            assert len(polygon) >= 10 and len(set(polygon)) == len(polygon), name
            assert all(in_city(point) for point in polygon), name
    (south, west), (north, east) = CITY
    assert (south, west) < (north, east) and not in_city((41.0, -73.9))
    assert all(40.4 < s < 41.5 and -74.3 < w < -71.8 for s, w in city_spaces().values())


@pytest.mark.parametrize(
    ("space", "borough"),
    [
        ("Empire State Building", "Manhattan"), ("Central Park", "Manhattan"), ("Yankee Stadium", "Bronx"),
        ("Prospect Park", "Brooklyn"), ("Coney Island", "Brooklyn"), ("Citi Field", "Queens"),
        ("Rockaway Beach", "Queens"), ("Historic Richmond Town", "Staten Island"), ("Statue of Liberty", None),
        ("Brooklyn Museum", "Brooklyn"), ("Hoboken Terminal", None), ("Bronx Zoo", "Bronx"),
    ],
)  # fmt: skip
def test_spaces_lie_in_their_boroughs(space, borough):
    from matplotlib.path import Path as Outline

    point = city_spaces()[space]
    inside = [name for name, polygons in boroughs().items() if any(Outline(p).contains_point(point) for p in polygons)]
    assert inside == ([borough] if borough else [])


@pytest.mark.slow
def test_all_exhibits_of_books_are_written(books, tmp_path):
    made = exhibits(books, repeats=20)
    assert [one.name for one in made] == [
        "Table 2", "Table 6", "Table 7", "Table 8", "Figure 5", "Table 9", "Table 12", "Figure 6, short",
        "Figure 6, scifi-short", "Figure 6, short (released)", "Table 26", "Table 28",
    ]  # fmt: skip
    write_exhibits(tmp_path / "out", "Books", made)
    for one in made:
        if isinstance(one, Exhibit):
            check_form(one)
    assert (tmp_path / "out/figure-06-short-released.svg").read_text("utf-8").rstrip().endswith("</svg>")
    assert "NaN" not in (tmp_path / "out/table-09.csv").read_text("utf-8")


def test_released_books_have_a_path_too(books):
    (figure,) = path_figures(books[2:])
    told = published(OURS)["chapters"]
    names = [row["entity"] for row in told]
    assert len(figure.records) == max(map(names.count, names))
    assert all(record["latitude"] for record in figure.records)


@pytest.mark.skipif(not LONG.is_file(), reason="the published book of 200 events does not lie beside the checkout")
def test_the_published_path_of_the_paper():
    """Figure 6 and Appendix C of the paper tell where one person is, and when."""
    (book,) = read_books(archive=LONG)
    (figure,) = path_figures([book], "Jackson Ramos")
    assert [row[1] for row in figure.table.rows] == [
        "June 14, 2025", "February 27, 2026", "April 09, 2026", "August 24, 2026", "September 22, 2026",
    ]  # fmt: skip
    assert figure.records[4]["space"] == "Central Park" and all(record["latitude"] for record in figure.records)
    (positions,) = positions_figures([book])
    assert len(positions.records) == 196 * 12
