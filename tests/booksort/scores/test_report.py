"""Tables and pages hold the numbers of the run, and are drawn for odd runs too."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from rich.console import Console

from epbench.booksort.context.retrieval import RECALL
from epbench.booksort.scores.report import comparison_report, html_report
from epbench.booksort.scores.scoring import score_run
from epbench.booksort.scores.tables import accuracy, markdown_table, screen_tables
from tests.booksort.simulated_runs import log_odds, simulated, table

pytestmark = pytest.mark.usefixtures("drawn_pictures")

RUN = {
    "identity": {"benchmark": "booksort", "memory": "in-context", "model": "<tiny> & co"},
    "command": "python eval_scripts/booksort.py",
    "python": "3.11",
    "platform": "here",
    "versions": {"epbench": "0"},
}
USAGE = {"requests": 4, "failed": {"HTTP 500 <broken>": 2}, "hit_rate": None}


@pytest.fixture(scope="module")
def rows():
    return simulated(lambda *_: log_odds(0.8), seed=1, lengths=(250, 10000), books=2, excerpts=20)


def page_of(rows, scores=None):
    return html_report("ours", RUN, scores or score_run(table(rows)), table(rows), USAGE)


def on_screen(scores, width):
    console = Console(width=width, record=True)
    console.print(screen_tables({"ours": scores}))
    return console.export_text()


def svgs(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_markdown_has_the_papers_tables(rows):
    whole = score_run(table(rows))
    text = markdown_table({"ours": whole})
    assert accuracy(whole["by_group"]["part"]["SORT-extend"]) in text
    assert "| accuracy | all | SORT | SORT-extend | 20 words |" in text
    assert "| by words of the excerpt | 250 | 10000 |" in text
    assert "| run | book | SORT x 20 | SORT-extend x 20 |" in text
    assert re.search(r"\| ours \| 0\.8\d\d ± 0\.0\d\d (\| 0\.\d+ ± \S+ ){2}\| 0\.8\d\d ± 0\.0\d\d \|\n", text)
    assert "| answers | greedy accuracy | label mass | share of A | p | answers | invalid | failed |" in text
    assert re.search(r"\| ours \| 0\.8\d\d \| – \| 0\.[45]\d\d \| 0\.000 \| 320 \| 0 \| 0 \|", text)
    assert "Warnings" not in text and "AUC" not in text  # no probabilities are known


@pytest.mark.slow
def test_a_run_that_lost_questions_is_shown_as_a_range(rows):
    some = [replace(row, failed=True, correct=False) if i < 80 else row for i, row in enumerate(rows)]
    scores, page = score_run(table(some)), page_of(some)
    low, high = scores["incomplete"]["accuracy"]
    shown = f"{low:.2f}–{high:.2f} (incomplete)"
    assert high - low == 80 / 320 and shown in markdown_table({"ours": scores}) and shown in on_screen(scores, 200)
    assert shown in page and shown in comparison_report("x", {"a": scores}) and len(svgs(page)) == 3
    assert "(80 questions without an answer are left out here)" in page


@pytest.mark.slow
def test_a_small_label_mass_is_a_warning_everywhere(rows):
    small = [replace(row, p_a=3e-5, p_b=2e-5, greedy="The", written="X") for row in rows]
    scores, page = score_run(table(small)), page_of(small)
    runs = {"ours": scores}
    for text in (markdown_table(runs), on_screen(scores, 500), page, comparison_report("x", runs)):
        assert "ours: A and B together have only 5e-05 of the probability" in text
        assert "100% of its most probable answers name neither segment" in text
    assert "<strong>Warning: " in page and "5e-05" in markdown_table({"ours": scores}).split("Warnings")[0]


@pytest.mark.slow
def test_consistency_is_shown_where_both_orders_were_asked(rows):
    twice = [asking for row in rows for asking in (row, replace(row, id=f"{row.id}/swapped"))]
    scores = score_run(table(twice))
    assert "| both orders | consistency |" in markdown_table({"ours": scores, "other": score_run(table(rows))})
    assert "320 pairs, each asked in both orders: 640 questions" in page_of(twice, scores)
    assert "always A" in comparison_report("x", {"ours": scores})


@pytest.mark.slow
def test_page_of_a_run(rows):
    page = page_of(rows)
    assert "&lt;tiny&gt; &amp; co" in page and "<tiny>" not in page and "&lt;broken&gt;" in page
    first, second, third = svgs(page)
    texts = ["".join(text.itertext()) for text in first.iter("{http://www.w3.org/2000/svg}text")]
    assert "people, 50 words" in texts and "people, 20 words" in texts
    assert "10,000 words" in ElementTree.tostring(third, "unicode") and len(second) > 0
    assert "reported, Section 5.2" in page and page == page_of(rows)


def test_page_with_retrieval_and_a_single_excerpt(rows):
    few = [replace(row, retrieved_both=True, retrieved_order=False) for row in rows[:4]]
    scores = score_run(table(few))
    scores["retrieval"][RECALL] = 0.875
    page = page_of(few, scores)
    assert "Retrieval" in page and "in order: –" in page and len(svgs(page)) == 3
    assert "first 10 passages (recall)</td><td>0.875" in page
    assert "| rag | 0.875 | 1.000 | 0.000 | – |" in markdown_table({"rag": scores})


@pytest.mark.slow
def test_runs_side_by_side(rows):
    """Segments may have any length, and all may be right, so that the effect of the middle cannot be told."""
    right = [replace(row, correct=True, predicted=row.answer, segment_length=7) for row in rows]
    assert "cannot be estimated: only 0 wrong answers" in page_of(right)
    assert "a, 7 words" in comparison_report("own", {"a": score_run(table(right))})
    page = comparison_report("booksort", {"a": score_run(table(rows)), "b": score_run(table(rows[:160]))})
    assert len(svgs(page)) == 2 and page.count("<td>a</td>") >= 2 and page.count("<td>b</td>") >= 2
