"""Sources of inventions, partial scores, dialogue and realism in the tables: each number by a plain loop, and what papers report."""

import csv
from collections import Counter
from dataclasses import replace

import pytest

from epbench.files.packaged import packaged
from epbench.reports.exhibit import Missing, write_exhibits
from epbench.reports.reported import read_reported
from epbench.tulving.events.dates import in_words
from epbench.tulving.judging.realism import RATINGS
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.inventions import GROUPS, dialogues, partial_verdicts, sources
from epbench.tulving.paper.make import exhibits
from epbench.tulving.scores.inventions import SOURCES
from tests.tulving.paper import given_runs

TURN = "\n\nHuman: Really?\n\nAssistant: Yes."


@pytest.fixture(scope="module")
def book(all_books):
    return replace(all_books[0], fingerprint=given_runs.FINGERPRINT)


@pytest.fixture(scope="module")
def run(given):
    return given.inputs.runs[0]


def planted(run, book):
    """The run, as if each answer named one thing of a source that its place in the table tells, where there is such a thing."""
    events = {
        c.number: {in_words(c.event.time), c.event.space, c.event.entity, c.event.content, *c.secondary}
        for c in book.chapters
    }
    questions, items, expected = run.questions.copy(), [], []
    for place, row in enumerate(questions.to_dict("records")):
        cue, kind = {name for name in row["events"] if name}, SOURCES[place % len(SOURCES)]
        named = {"Quentin Zaxby": "nowhere", sorted(cue)[0]: "question"}
        for name in sorted(set().union(*events.values()) - cue - set(row["reference"])):
            holding = [number for number in events if name in events[number]]
            shared = any(events[number] & cue for number in holding)
            named[name] = "matching" if set(holding) & set(row["chapters"]) else "near" if shared else "far"
        item = next((name for name in named if named[name] == kind), "Quentin Zaxby")
        items.append([item])
        expected.append(named[item])
    questions["items"], questions["outcome"], questions["answer"] = items, "wrong", "It says so."
    questions["scores"] = [[0.0] * len(true) for true in questions["reference"]]
    return replace(run, questions=questions), expected


def test_planted_inventions_are_counted_by_their_source(run, book, tmp_path):
    one, expected = planted(run, book)
    rows = one.questions.to_dict("records")
    keep = [row["trace"] != "full_details" or row["bin"] == "0" for row in rows]
    exhibit = sources(lines_of(Inputs([one])), [book])
    counts = Counter((row["bin"] == "0", kind) for row, kind, known in zip(rows, expected, keep, strict=True) if known)
    assert all(counts[False, kind] for kind in SOURCES) and all(counts[True, kind] for kind in SOURCES[1:])
    for group, is_empty in GROUPS.items():
        n_of = sum(n for (of, _), n in counts.items() if of == is_empty)
        for row in exhibit.frame.to_dict("records"):
            if row["questions"] == group:
                n = counts[is_empty, row["source_of_items"]]
                assert (row["found"], row["mean"]) == (n, pytest.approx(n / n_of))
                assert row["answers"] == n_of  # each answer names one thing
    write_exhibits(tmp_path, "made", [exhibit])
    with (tmp_path / "invented-items.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert len(found) == sum(counts.values())
    by_id = {row["id"]: kind for row, kind in zip(rows, expected, strict=True)}
    assert all(by_id[row["id"]] == row["item_from"] for row in found)
    assert {row["distance"] for row in found if row["item_from"] == "matching"} == {"0"}


def test_what_the_judge_did_not_see_is_not_traced(given, book):
    """The readers add `Nobody Else` to every answer but abstentions; lost questions and missing answers add nothing."""
    exhibit = sources(lines_of(Inputs(given.inputs.runs[:3])), [book])
    for line in given.inputs.runs[:3]:
        rows = [row for row in exhibit.frame.to_dict("records") if row["label"] == line.label]
        known = [q for _, q in given.plain(line) if q and (q["trace"] != "full_details" or q["bin"] == "0")]
        for group, is_empty in GROUPS.items():
            asked = [q for q in known if (q["bin"] == "0") == is_empty]
            named = [q for q in asked if any("nobody else" in item.lower() for item in q["items"])]
            of = {row["source_of_items"]: row for row in rows if row["questions"] == group}
            assert of["nowhere"]["answers"] == len(asked) and of["nowhere"]["inventing"] >= len(named)
            assert is_empty or named  # where nothing matches, the word `nobody` makes an abstention of it
            assert of["nowhere"]["found"] >= len(named)


def test_runs_without_their_book_are_named(given, book):
    lines = lines_of(Inputs(given.inputs.runs))
    exhibit = sources(lines, [book])
    assert {row["label"] for row in exhibit.records} == {line.label for line in lines if line.source == "own"}
    assert any("Not traced, without their books" in note for note in exhibit.notes)
    assert isinstance(sources(lines, []), Missing)


def test_dialogue_is_counted_and_papers_stand_beside(run):
    questions = run.questions.copy()
    has = [i % 3 == 0 and answer is not None for i, answer in enumerate(questions["answer"])]
    said = enumerate(zip(questions["answer"], has, strict=True))
    questions["answer"] = [f"{answer}{TURN * (i % 2 + 1)}" if talks else answer for i, (answer, talks) in said]
    reported = read_reported(packaged("epbench.tulving", "reported.json"), "tulving")
    lines = lines_of(Inputs([replace(run, questions=questions)], reported))
    own, paper = dialogues(lines).records
    assert own["n"] == len(has) and own["mean"] == pytest.approx(sum(has) / len(has)) and own["most"] == 4
    f1 = {flag: [v for v, h in zip(questions["f1"], has, strict=True) if h == flag] for flag in (True, False)}
    assert own["f1_with"] == pytest.approx(sum(f1[True]) / len(f1[True]))
    assert own["f1_without"] == pytest.approx(sum(f1[False]) / len(f1[False]))
    assert (paper["n"], round(paper["mean"] * 685), paper["model"]) == (685, 342, "claude-3-5-sonnet")
    papers = partial_verdicts(lines).records[1:]  # the own row is counted by `plain_answers`
    assert {row["model"]: row["mean"] for row in papers} == {"gpt-4o": 0.04, "gpt-4o-mini": 0.08}


def test_the_distribution_of_realism_is_counted_beside_the_papers(all_books):
    reported = read_reported(packaged("epbench.tulving", "reported_books.json"), "tulving")
    numbers = [chapter.number for chapter in all_books[0].chapters]
    ratings = {n: (*RATINGS, None)[n % 6] for n in numbers}
    realism = {all_books[0].fingerprint: ratings}
    found = {one.name: one for one in exhibits(Inputs([], reported), all_books, realism=realism)}
    own, paper = found["E.7"].records
    assert [own[name] for name in RATINGS] == [sum(r == name for r in ratings.values()) for name in RATINGS]
    assert own["unrated"] == sum(rating is None for rating in ratings.values()) > 0
    assert [paper[name] for name in RATINGS] == [100, 7, 52, 31, 6]
    assert isinstance({one.name: one for one in exhibits(Inputs([], reported), all_books)}["E.7"], Missing)
