"""Question by question on the page of a Book-SORT run: each card against the pairs and the journal."""

import json
from dataclasses import replace

import pytest

from epbench.booksort.scores.results import finish
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.reports import explorer
from epbench.runs.folder import open_run
from tests.reports.page_data import data_of, questions_of


def run(folder, pairs):
    """Right, wrong, neither segment and failed by turns; every second pair with probabilities."""
    keys = {pair.id: f"key of {pair.id}" for pair in pairs}
    with open_run(folder, {"benchmark": "booksort"}, {}):
        journal = Journal(folder / ANSWERS)
        for i, pair in enumerate(pairs):
            other = "B" if pair.answer == "A" else "A"
            known = {"probabilities": {"A": 0.5, "B": 0.25}} if i % 8 == 0 and pair.answer == "A" else {}
            outcome = {"failure": "429"} if i % 4 == 3 else {"answer": [pair.answer, other, "Neither."][i % 4], **known}
            if not journal.done(keys[pair.id]):
                journal.add(keys[pair.id], id=pair.id, repeat=0, **outcome)
        journal.close()
        finish(folder, pairs, keys, "made")
    return (folder / "report.html").read_text("utf-8")


def test_every_card_is_what_the_pairs_and_the_journal_say(tmp_path, pairs):
    html = run(tmp_path / "r", pairs)
    cards = questions_of(html)
    assert [card["id"] for card in cards] == [pair.id for pair in pairs]
    for i, (pair, card) in enumerate(zip(pairs, cards, strict=True)):
        assert card["outcome"] == ("right", "wrong", "wrong", "failed")[i % 4]
        assert card["reference"] == [pair.answer] and card["reason"] == ("429" if i % 4 == 3 else "")
        assert card["question"].split("\n\n")[1:] == [f"A: {pair.shown[0]}", f"B: {pair.shown[1]}"]
        assert card["facets"]["distance, bin up to"] == str(pair.distance_bin) and card["facets"]["book"] == pair.title
        ((_, text, marks),) = card["evidence"]
        assert text == pair.excerpt and card["retrieved"] is None
        for (start, end), label, _ in marks:
            assert text[start:end].split() == pair.shown["AB".index(label[0])].split()
            assert ("first" in label) == (label[0] == pair.answer)
        assert len(marks) == 2
    assert any("probability of A 0.500, of B 0.250, of either 0.750" in card["verdict"] for card in cards)
    assert len(data_of(html)["texts"]) == len({pair.excerpt for pair in pairs})  # each excerpt is there once


@pytest.mark.slow
def test_what_was_retrieved_is_told_in_numbers(tmp_path, pairs):
    run(tmp_path / "r", pairs)
    record = {"key": "k", "id": pairs[0].id, "query": "q", "passages": [[3, 1200], [4, 0]], "ranks": [1, None], "both": False,
              "in_order": False}  # fmt: skip
    (tmp_path / "r/retrieved.jsonl").write_text(json.dumps(record) + "\n")
    first, second, *_ = questions_of(run(tmp_path / "r", pairs))
    assert first["retrieved"] == [
        "book 3, from character 1,200", "book 4, from character 0",
        "best passage with the earlier segment: rank 2; with the later one: not found",
    ]  # fmt: skip
    assert first["facets"]["both segments retrieved"] == "no" and second["facets"]["both segments retrieved"] == "–"


@pytest.mark.slow
def test_excerpts_that_are_too_large_or_absent_are_left_out_and_the_page_says_so(tmp_path, pairs, monkeypatch):
    html = run(tmp_path / "none", [replace(pair, excerpt=None) for pair in pairs])
    assert "has no texts of excerpts" in html and not any(card["evidence"] for card in questions_of(html))
    monkeypatch.setattr(explorer, "MOST_BYTES", 1000)
    html = run(tmp_path / "large", pairs)
    assert "are left out: they have" in html and not any(card["evidence"] for card in questions_of(html))


def test_the_page_of_a_run_in_a_browser(browser, tmp_path, pairs):
    run(tmp_path / "r", pairs)
    browser.open(tmp_path / "r/report.html")
    assert browser.text(".status") == f"{len(pairs)} of {len(pairs)} questions" and browser.complaints() == []
    browser.choose("outcome", "! failed")
    assert browser.text(".status").startswith(f"{len(pairs) // 4} of")
    assert browser.js("document.querySelectorAll('.question mark').length") >= 2
    assert "first in the book" in browser.text(".question") and browser.complaints() == []
