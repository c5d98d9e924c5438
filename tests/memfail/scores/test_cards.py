"""Question by question on the page of a MemFail run: each card and each stage against the journals of a planted run."""

import pyarrow.parquet as pq
import pytest

from epbench.files.json_files import read_json
from epbench.memfail.scores.results import cards_of, questions_html
from tests.memfail.scores.test_run_files import rows
from tests.reports.page_data import questions_of

ORDER = ["storage_error", "summary_error", "retrieval_error", "correct"]


def test_a_fact_that_passed_and_one_that_did_not_come_back():
    card, lost = cards_of(rows())
    told, stored, summary, retrieved, answer = card.trails[0].steps
    assert (told.text, stored.text) == ("Ada keeps bees on the roof.", "Bees: Ada has them on a roof.")
    assert [step.state for step in (stored, summary, retrieved, answer)] == ["passed"] * 4
    assert (retrieved.text, retrieved.note, answer.text) == (
        "Bees: Ada has them on a roof.",
        "judge: the bees",
        "She keeps bees.",
    )
    _, stored, summary, retrieved, _ = card.trails[1].steps
    assert [step.state for step in (stored, summary, retrieved)] == ["passed", "passed", "not passed"]
    assert (stored.text, retrieved.text, retrieved.note) == ("Ada sails each Sunday.", None, "judge: no sailing")
    assert (card.outcome, card.facets["label"], card.reason) == ("wrong", "retrieval error", "no sailing")
    assert (lost.outcome, lost.answer, lost.reason) == ("failed", None, "overloaded")
    assert {step.state for step in lost.trails[0].steps[1:]} == {"not judged"}


@pytest.mark.parametrize("stage", ORDER)
def test_no_stage_after_the_first_that_failed_was_judged(stage):
    row = rows()[0]
    need = {**row["needs"][0], "stage": stage, "reason": "why"}
    steps = cards_of([{**row, "needs": [need]}])[0].trails[0].steps[1:4]
    passed = ORDER.index(stage)
    rest = ["not passed"] + ["not judged"] * 3 if passed < 3 else []
    assert [step.state for step in steps] == (["passed"] * passed + rest)[:3]
    assert [step.note for step in steps].index("judge: why") == min(passed, 2)


def test_the_page_says_that_memories_illustrate(browser, tmp_path):
    from epbench.reports.page import page

    html = questions_html(rows())
    assert "it illustrates the verdict and does not decide it" in html
    (tmp_path / "p.html").write_text(page("MemFail", html), "utf-8")
    browser.open(tmp_path / "p.html")
    shown = browser.text(".question")
    for part in (
        "Needed fact 1: r1/0",
        "Ada keeps bees on the roof.",
        "✗ not passed",
        "✓ passed",
        "no sailing",
        "Bob bakes.",
    ):
        assert part in shown, part
    browser.choose("outcome", "! failed")
    assert "overloaded" in browser.text(".question") and browser.complaints() == []


def test_the_page_of_a_run_has_a_card_for_each_outcome(run_of_memfail):
    """Against questions.parquet, as it is on disk."""
    folder = run_of_memfail
    outcomes = pq.read_table(folder / "questions.parquet").to_pylist()
    cards = questions_of((folder / "report.html").read_text("utf-8"))
    assert len(cards) == len(outcomes) > 0
    for card, outcome in zip(cards, outcomes, strict=True):
        assert card["id"].startswith(outcome["id"])
        assert card["outcome"] == {True: "right", False: "wrong", None: "failed"}[outcome["success"]]
        assert card["facets"]["label"] == outcome["label"].replace("_", " ")
        assert [title.split(": ")[1] for title, _ in card["trails"]] == [need["fact"] for need in outcome["needs"]]
    assert read_json(folder / "scores.json")["n_questions"] <= len(cards)


@pytest.fixture(scope="module")
def run_of_memfail(tmp_path_factory):
    from tests.scripts.in_process import script

    out = tmp_path_factory.mktemp("memfail")
    for name, *args in (
        ("builders/memfail.py", "--config", "coexisting_facts", "--rows", 6, "--out", out),
        ("eval_scripts/memfail.py", "--dataset", out / "memfail", "--config", "coexisting_facts", "--system", "verbatim-bm25",
         "--k", 2, 5, "--out", out / "run"),
    ):  # fmt: skip
        done = script(name, *args)
        assert done.returncode == 0, done.stderr
    return next((out / "run").rglob("report.html")).parent
