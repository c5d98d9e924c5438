"""The explorer of a page as data, and in a real browser: filters, keys, light and dark, narrow, printed, hostile texts."""

import json
import re
from collections import Counter

import pytest

from epbench.reports import explorer
from epbench.reports.explorer import Evidence, Mark, QuestionCard, Step, Trail, explorer_html, script_json
from epbench.reports.figures import drawing, figure_html, new_figure
from epbench.reports.page import joined, page, pairs
from tests.reports.page_data import data_of

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'><b>bold</b> <!-- \u2028 &amp;"
)
CUES = ("t", "s", "ec")


def card(i):
    """The one of this number of many: every third is right, wrong or failed; bins by fours."""
    places = [Mark("May 5", "time"), Mark("old  harbour", "item found", "found"), Mark("a.b", "no pattern")]
    steps = [Step("told", "passed", "a thing"), Step("stored", "not passed", None, "lost")]
    return QuestionCard(
        id=f"q{i}",
        facets={"bin": str(i % 4), "cue": CUES[i % 3 - 1], "get": "x" * 3},
        outcome=("right", "wrong", "failed")[i % 3],
        question=f"Where was number {i} seen?",
        reference=["Old Harbour", "the pier"],
        answer=None if i % 3 == 2 else f"At the old harbour, said {i}.",
        verdict="F1 0.5",
        reason=f"reason {i}",
        evidence=[Evidence("Chapter 2", i % 2, places), Evidence("Chapter 3", 2, [Mark((1, 3), "segment A")])],
        retrieved=["a memory", f"memory {i % 7}"],
        trails=[Trail("fact 1", steps)],
    )


def cards(n):
    """So many, of which the last one is hostile in each of its texts."""
    facets, bad = {"bin": HOSTILE, "cue": "t", "get": "xxx"}, [HOSTILE] * 2
    evidence, trail = Evidence(HOSTILE, 3, [Mark("bold", HOSTILE)]), Trail(HOSTILE, [Step("told", "not passed", *bad)])
    hostile = QuestionCard(HOSTILE, facets, "wrong", HOSTILE, bad, HOSTILE, *bad, [evidence], bad, [trail])
    return [*map(card, range(n - 1)), hostile]


RAIN = "It rained.\n\nOn May 5 she saw the Old\nHarbour; aXb.\n\nAnd then home."
TEXTS = [RAIN, "On may 5.\n\nNothing else.", "\U0001f41ftuna", HOSTILE]


def test_data_that_cannot_end_its_script_and_is_what_was_given():
    html = explorer_html(cards(10), TEXTS, [HOSTILE])
    assert html.startswith('<section class="explorer"') and html.count("</script>") == 1
    assert not any(text in html for text in ("<img", "\u2028", "<b>"))
    data = data_of(html)
    last = data["questions"][-1]
    assert last[3] == HOSTILE.replace("\u2028", "\ufffd") == last[5]
    assert [name for name, _ in data["facets"]] == ["bin", "cue", "get"]
    assert data["texts"].count(RAIN) == 1  # nine questions share it
    of_segment = data["marks"][data["questions"][0][8][1][2]]
    assert of_segment == [[[2, 4], "segment A", "cue"]]  # a fish is two units in a browser


def test_any_json_comes_back_from_its_script():
    value = {"<a>": ["&", "\u2028\u2029", "]]>", "\\u003c", None, 1.5]}
    text = script_json(value)
    assert json.loads(text) == value and not set(text) & set("<>&\u2028\u2029")


def test_what_a_page_leaves_out_it_says(monkeypatch):
    assert explorer_html([]) == ""
    html = explorer_html(cards(3), TEXTS, n_questions=12_000)
    assert len(data_of(html)["questions"]) == 3
    assert "Of 12,000 questions the first 3 are here; questions.parquet has all." in html
    assert "are here" not in explorer_html(cards(3), TEXTS)
    long = QuestionCard("q", {}, "wrong", "Who?", ["Anna"], "a" * 1_000_000, reason="b" * 100_000)
    html = explorer_html([long])
    assert f'"{"a" * 100_000} … (900,000 more characters are not shown)"' in html and f'"{"b" * 100_000}"' in html
    assert len(html) < 210_000
    monkeypatch.setattr(explorer, "MOST_BYTES", 50)
    html = explorer_html(cards(3), TEXTS)
    assert "are left out: they have 0 MB" in html and all(question[8] == [] for question in data_of(html)["questions"])


def test_a_page_without_an_explorer_runs_no_script():
    text = page("<t>", "<p>x</p>")
    assert "<script" not in text and "script-src 'none'" in text and "<h1>&lt;t&gt;</h1>" in text


def test_pages_that_are_joined_keep_their_tables_and_explorers():
    one = page("one", pairs({"a": 1}) + explorer_html(cards(3), TEXTS))
    both = joined("both", [one, page("two", pairs({"b": 2}))])
    assert both.count("<h1>") == both.count("</html>") == both.count("<main>") == 1
    assert both.count("<h2>one</h2>") == both.count("<h2>two</h2>") == 1 and both.count('class="scroll"') >= 2
    assert both.count('aria-label="Table"') == 2 and both.count('class="explorer-data"') == 1
    assert both.count("<script>") == 1


# ---- in a browser ----


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with drawing():
        figure, axes = new_figure(8, 3)
        axes.plot([1, 2], [1, 3], label="a")
        picture = figure_html(figure, "A picture.")
    wide = {"a name": "w" * 300, "other": "x" * 30}
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(page(f"A run {HOSTILE}", picture + pairs(wide) + explorer_html(cards(700), TEXTS)), "utf-8")
    return path


@pytest.fixture
def opened(browser, report):
    browser.do("Emulation.clearDeviceMetricsOverride")
    browser.do("Emulation.setEmulatedMedia", media="", features=[])
    browser.open(report)
    return browser


def test_filters_count_what_the_data_count(opened):
    made = cards(700)
    assert opened.text(".status") == "700 of 700 questions"
    outcomes = Counter(card.outcome for card in made)
    shown = opened.js("[...document.querySelector('.filters select').options].map(o => o.text)")
    signs = zip("✓✗!", outcomes.items(), strict=True)
    assert shown == ["all (700)", *(f"{sign} {name} ({n})" for sign, (name, n) in signs)]
    opened.choose("bin", "2")
    n = sum(card.facets["bin"] == "2" for card in made)
    assert opened.text(".status") == f"{n} of 700 questions"
    opened.choose("outcome", "✗ wrong")
    wrong = [card for card in made if card.facets["bin"] == "2" and card.outcome == "wrong"]
    assert opened.text(".status") == f"{len(wrong)} of 700 questions"
    assert opened.text(".question h3") == f"✗ wrong {wrong[0].id}"
    other = sum(card.facets["bin"] == "1" and card.outcome == "wrong" for card in made)
    bins = opened.js("[...document.querySelectorAll('.filters select')[1].options].map(o => o.text)")
    assert f"1 ({other})" in bins  # beside a value: how many it would leave with the other filters
    opened.write("NUMBER 694 seen")
    assert opened.text(".status") == "1 of 700 questions" and opened.text(".question h3") == "✗ wrong q694"
    opened.write("no such words")
    assert opened.text(".status") == "0 of 700 questions" and "No question" in opened.text(".question")
    opened.js("document.querySelector('.filters button').click()")
    assert opened.text(".status") == "700 of 700 questions" and opened.complaints() == []


def test_a_question_shows_all_that_its_card_says(opened):
    text = opened.text(".question")
    parts = "Where was number 0 seen?|Old Harbour|the pier|At the old harbour, said 0.|F1 0.5|reason 0|Chapter 2"
    for part in f"{parts}|a memory|memory 0|fact 1|a thing|✗ not passed|✓ passed".split("|"):
        assert part in text, part
    marks = opened.js("[...document.querySelectorAll('.question mark')].map(m => [m.className, m.textContent])")
    assert marks == [["cue", "May 5time"], ["found", "Old\nHarbouritem found"], ["cue", "tusegment A"]]
    assert "It rained." not in text and "And then home." not in text
    opened.js("document.querySelector('.question details').open = true")
    opened.drawn()
    assert "It rained." in opened.text(".question") and "And then home." in opened.text(".question")


def test_the_keyboard_goes_through_the_list(opened):
    opened.js("document.querySelector('.list').focus()")
    codes = {"ArrowDown": 40, "ArrowUp": 38, "Home": 36, "End": 35}
    keys = "ArrowDown ArrowDown ArrowUp Home ArrowUp End ArrowUp".split()
    for name, expected in zip(keys, ("q1", "q2", "q1", "q0", "q0", HOSTILE[:9], "q698"), strict=True):
        opened.key(name, codes[name])
        assert expected in opened.text(".question h3"), name
        active = opened.js("document.querySelector('.list').getAttribute('aria-activedescendant')")
        assert expected in opened.text(f"#{active}")
    opened.key("PageUp", 33)
    assert "q698" not in opened.text(".question h3")
    opened.key("Enter", 13)
    assert opened.js("document.activeElement.className") == "question"
    assert opened.js("document.querySelectorAll('.option').length") < 60  # only what is in view is drawn
    assert opened.complaints() == []


def test_texts_are_never_markup_and_the_policy_stops_what_got_in(opened):
    before = opened.js("document.querySelectorAll('script').length")
    opened.write("onerror")
    assert opened.text(".status") == "1 of 700 questions"
    text = opened.text(".question")
    assert text.count("<img src=x onerror='window.stolen = 1'>") >= 8 and "</script>" in text and "&amp;" in text
    assert opened.js("document.querySelectorAll('img, .question b').length") == 0
    assert opened.js("document.querySelectorAll('script').length") == before == 2
    assert opened.js("typeof window.stolen") == "undefined" and opened.complaints() == []
    opened.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.stolen = 1\">')")
    opened.drawn()
    assert opened.js("typeof window.stolen") == "undefined"
    assert any("Content Security Policy" in str(complaint) for complaint in opened.complaints())


def test_dark_light_and_paper(opened):
    def colours(selector):
        return opened.js(f"(s => [s.color, s.backgroundColor])(getComputedStyle(document.querySelector('{selector}')))")

    light = colours("body")
    opened.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = colours("body")
    assert sum(map(int, re.findall(r"\d+", light[1]))) > 700 > 200 > sum(map(int, re.findall(r"\d+", dark[1])))
    assert sum(map(int, re.findall(r"\d+", dark[0]))) > 600
    opened.do("Emulation.setEmulatedMedia", media="print", features=[])
    shown = "(s => getComputedStyle(document.querySelector(s)).display)"
    assert [opened.js(f"{shown}('{s}')") for s in (".filters", ".list", ".question")] == ["none", "none", "block"]
    assert len(opened.do("Page.printToPDF")["data"]) > 5000 and opened.complaints() == []


def test_a_phone_scrolls_down_only(opened, report):
    opened.do("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    opened.open(report)
    assert opened.js("document.documentElement.scrollWidth <= 390 && innerWidth <= 390")
    opened.write("onerror")
    assert opened.js("document.documentElement.scrollWidth <= 390") and opened.complaints() == []
    parts = "[...document.querySelectorAll('.filters select, .list, .question')]"
    assert max(opened.js(f"{parts}.map(e => e.getBoundingClientRect().right)")) <= 390


def test_what_a_screen_reader_is_told(opened):
    assert opened.js("document.querySelectorAll('main, [role=search], [role=listbox], [role=status]').length") == 4
    unnamed = "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
    assert opened.js(unnamed) == 0
    assert opened.js("[...document.querySelectorAll('th')].every(e => e.scope)")
    ids = opened.js("[...document.querySelectorAll('section.explorer [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    opened.js("document.querySelector('.list').focus({focusVisible: true})")
    assert opened.js("getComputedStyle(document.querySelector('.list')).outlineStyle") == "solid"


@pytest.mark.parametrize("n", [4_000, pytest.param(35_000, marks=pytest.mark.nightly)])
def test_many_questions(browser, tmp_path, n):
    path = tmp_path / "many.html"
    path.write_text(page("many", explorer_html(cards(n), TEXTS)), "utf-8")
    browser.open(path)
    assert browser.text(".status") == f"{n:,} of {n:,} questions"
    browser.choose("bin", "3")
    assert browser.text(".status") == f"{sum(i % 4 == 3 for i in range(n - 1)):,} of {n:,} questions"
    browser.write(f"number {n - 433} seen")
    assert browser.text(".status").startswith("1 of") and browser.complaints() == []


def test_two_explorers_on_one_page(browser, tmp_path):
    path = tmp_path / "two.html"
    path.write_text(joined("both", [page(str(n), explorer_html(cards(n), TEXTS)) for n in (5, 9)]), "utf-8")
    browser.open(path)
    statuses = browser.js("[...document.querySelectorAll('.status')].map(e => e.textContent)")
    assert statuses == ["5 of 5 questions", "9 of 9 questions"]
    ids = browser.js("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) and browser.complaints() == []


def test_chapters_of_a_question_share_its_marks():
    def page(n):
        marks = [Mark(f"item number {i}", "item found", "found") for i in range(n)]
        evidence = [Evidence(f"Chapter {i}", i, marks) for i in range(n)]
        card = QuestionCard("1", {"bin": "6+"}, "right", "Which?", ["one"], "one", evidence=evidence)
        return explorer_html([card], [f"text {i}" for i in range(n)])

    assert len(page(200)) - len(page(100)) < 1.2 * (len(page(100)) - len(page(1)))
    places = [Evidence("Chapter", i, [Mark((0, 4), "segment")]) for i in range(2)]
    card = QuestionCard("1", {}, "right", "Which?", ["one"], "one", evidence=places)
    assert len(data_of(explorer_html([card], ["\U0001f41ftuna", "tuna and"]))["marks"]) == 2
