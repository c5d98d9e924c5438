"""A dataset with evidence in an evaluation: the oracle shows the evidence, and scores are reported by number of links."""

import json

import pytest

from epbench.tulving.context.retrieved import gold_texts
from epbench.tulving.dataset.load import Book, load_book
from epbench.tulving.judging.verdicts import QuestionToScore, ScoredAnswer
from epbench.tulving.scores.scoring import score_run
from tests.scripts.in_process import script
from tests.tulving.levels.books import UNIVERSE
from tests.tulving.question_rows import asked


def question(links, f1=None, n=1):
    about = (f"q{links}{f1}{n}", "all", str(min(n, 2)), n, (None, "x", None, str(f1)), ["a"])
    if f1 is None:
        return QuestionToScore(*about, links=links)
    return ScoredAnswer(*about, ["a"] if f1 else ["b"], [f1], [], links=links)


def test_f1_by_links_counts_answerable_questions_alone_and_leaves_out_what_was_lost():
    rows = [question(0, 1.0), question(0, 0.0), question(1, 1.0), question(2, 1.0), question(0, 0.0, n=0)]
    scores = score_run(rows, [question(2)])
    assert scores["f1_by_links"] == {"0": 0.5, "1": 1.0} and scores["n_by_links"] == {"0": 2, "1": 1, "2": 2}
    assert "f1_by_links" not in score_run([question(None, 1.0)])


@pytest.mark.slow
def test_the_oracle_shows_the_paragraphs_of_the_evidence(tmp_path):
    built = script("builders/tulving.py", "--book", "short", "--universe", UNIVERSE, "--level", "4", "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    name = str(tmp_path / f"{UNIVERSE}-short-l4")
    data = load_book(name)
    assert data.evidence and len(data.evidence) == len(data.rows)
    out = tmp_path / "run"
    ran = script("eval_scripts/tulving.py", "--dataset", name, "--memory", "oracle", "--limit", "40", "--out", out)
    assert ran.returncode == 0 and "warning" not in ran.stdout + ran.stderr, ran.stderr
    scores = json.loads((out / "scores.json").read_text())
    assert set(scores["n_by_links"]) <= {"0", "1", "2", "3"} and "F1 by links" in (out / "table.md").read_text()
    asked = [row for row in data.rows if row["id"] in (out / "answers.jsonl").read_text()]
    assert sum(scores["n_by_links"].values()) == sum(row["get"] == "all" and row["n_chapters"] > 0 for row in asked)
    found = [json.loads(line) for line in (out / "retrieved.jsonl").read_text().splitlines()]
    shown = {one["question"]: len(one["memories"]) for one in found}
    assert {row["id"]: len(row["evidence"]) for row in asked} == shown and max(shown.values()) > 3


def test_what_the_oracle_shows_are_the_paragraphs_of_the_evidence_in_the_order_of_the_book():
    book = Book("", [(1, "One.\n\nTwo."), (2, "Three.")], "t")
    rows = [asked("a", "who?", 1), asked("b", "where?", 0), asked("c", "who?", 1)]
    gold = gold_texts(book, rows, {"a": [(2, 1), (1, 2)], "b": [], "c": [(1, 1)]})
    first, second, third = (
        "Chapter 1, Paragraph 1\n\nOne.",
        "Chapter 1, Paragraph 2\n\nTwo.",
        "Chapter 2, Paragraph 1\n\nThree.",
    )
    assert gold == {"who?": [first, second, third], "where?": []}
