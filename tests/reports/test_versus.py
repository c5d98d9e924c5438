"""Several runs question by question: as data, and in a real browser with its filters, order and paired test."""

import random
from dataclasses import replace

import pytest
from scipy.stats import binomtest

from epbench.reports.explorer import Evidence, Mark, QuestionCard, versus_html
from epbench.reports.page import page
from tests.reports.page_data import data_of

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>\u202e \u2028"
LABELS = ("with book", "search", "none", HOSTILE)
N = 60


def card(i, run):
    """The answer of a run: the first is right in nine of ten, the second in six, the third never; the fourth may fail."""
    drawn = random.Random(f"{run} {i}").random()
    right = (drawn < 0.9, drawn < 0.6, False, drawn < 0.5)[run]
    outcome = "failed" if run == 3 and drawn > 0.8 else "right" if right else "wrong"
    return QuestionCard(
        id=f"q{i}",
        facets={"bin": str(i % 3), "label": outcome},
        outcome=outcome,
        question=f"Who was at the pier on day {i}?",
        reference=["Ada Moss"],
        answer=None if outcome == "failed" else f"{'Ada Moss' if right else 'nobody'}, says {run}",
        verdict="F1 1" if right else "F1 0",
        reason=HOSTILE if run == 3 else "as it stands",
        evidence=[Evidence("Chapter 1", 0, [Mark("Ada", "item")])],
        retrieved=["a memory"] if run == 1 else None,
    )


RUNS = {label: [card(i, run) for i in range(N)] for run, label in enumerate(LABELS)}
TEXTS = ["Ada stood at the pier."]


def states(label):
    return [("right", "wrong", "failed").index(one.outcome) for one in RUNS[label]]


def test_the_data_have_each_question_once_and_what_every_run_made_of_it():
    html = versus_html(RUNS, TEXTS)
    assert html.count("</script>") == 1 and "<img" not in html
    data = data_of(html)
    assert len(data["questions"]) == N and [name for name, _ in data["facets"]] == ["bin"]
    for number, label in enumerate(LABELS):
        of = data["runs"]["of"][number]
        assert [one[0] for one in of] == states(label)
        assert [one[1] for one in of] == [card.worth for card in RUNS[label]]
    assert data["questions"][0][5] is None and data["questions"][0][8] != []  # the evidence once, no answer of its own


def test_runs_on_different_questions_are_put_together_by_their_ids():
    data = data_of(versus_html({"a": RUNS["none"][:3], "b": RUNS["search"][1:5]}, TEXTS))
    assert [question[0] for question in data["questions"]] == ["q0", "q1", "q2", "q3", "q4"]
    assert [one is None for one in data["runs"]["of"][0]] == [False, False, False, True, True]
    assert data["runs"]["of"][1][0] is None


def test_one_run_needs_no_such_list():
    assert versus_html({"a": RUNS["none"]}) == "" == versus_html({})


# ---- in a browser ----


@pytest.fixture
def opened(browser, tmp_path):
    path = tmp_path / "versus.html"
    path.write_text(page("Four runs", versus_html(RUNS, TEXTS)), "utf-8")
    browser.open(path)
    yield browser
    assert browser.complaints() == [] and browser.js("window.stolen") is None


def found(opened):
    return int(opened.text(".status").split(" of ")[0])


def test_a_right_and_b_wrong_can_be_asked_for(opened):
    first, second = states(LABELS[0]), states(LABELS[1])
    opened.choose(LABELS[0], "✓ right")
    opened.choose(LABELS[1], "✗ wrong")
    assert found(opened) == sum(a == 0 and b == 1 for a, b in zip(first, second, strict=True)) > 0
    assert "No test: these questions were chosen by their outcomes" in opened.text(".status")


def test_what_runs_made_of_a_question_together_can_be_asked_for(opened):
    every = list(zip(*map(states, LABELS), strict=True))
    opened.choose("together", "all wrong")
    assert found(opened) == sum(set(of) == {1} for of in every)
    opened.choose("together", "failed or not asked in some")
    assert found(opened) == sum(2 in of for of in every) > 0


def test_judges_that_disagree_about_one_answer_are_found(browser, tmp_path):
    other = [replace(one, outcome="wrong" if i < 4 else one.outcome) for i, one in enumerate(RUNS["with book"])]
    path = tmp_path / "judges.html"
    path.write_text(page("Two judges", versus_html({"one": RUNS["with book"], "other": other})), "utf-8")
    browser.open(path)
    browser.choose("together", "same answer, other verdict")
    assert found(browser) == sum(one.outcome == "right" for one in RUNS["with book"][:4]) > 0


def test_the_paired_test_is_that_of_the_questions_shown(opened):
    opened.choose("bin", "1")
    both = zip(RUNS[LABELS[0]], RUNS[LABELS[1]], strict=True)
    pairs = [(a.worth, b.worth) for a, b in both if a.facets["bin"] == "1"]
    ahead, behind = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    p = binomtest(ahead, ahead + behind).pvalue
    said = opened.text(".status")
    assert f"A is ahead in {ahead} questions, B in {behind}" in said
    assert (f"p = {p:.3f}" if p >= 0.001 else "p < 0.001") in said


def test_the_order_puts_the_greatest_lead_first(opened):
    opened.js("""(() => { const order = document.querySelector('[id$="-order"]');
        order.value = 2; order.dispatchEvent(new Event('change')); })()""")
    leads = [b.worth - a.worth for a, b in zip(RUNS[LABELS[0]], RUNS[LABELS[1]], strict=True)]
    best = leads.index(max(leads))
    assert opened.text(".option .about").startswith(f"q{best} ")


def test_answers_stand_side_by_side(opened):
    shown = opened.text(".answers")
    for run in range(3):
        assert f"says {run}" in shown
    assert "Retrieved (1)" in shown and "Ada" in opened.text(".question mark")
