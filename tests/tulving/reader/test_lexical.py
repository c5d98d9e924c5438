"""The readers without a model: the rule-based one, and the one that names everything."""

import json

import pytest

from epbench.models.protocol import Request
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.questions.templates import TEMPLATES
from epbench.tulving.reader import (
    NOTHING,
    EverythingReader,
    LexicalReader,
    answer_question,
    names_by_trace,
    read_story,
)
from tests.scripts import in_process

STORY = """Chapter 1

It was May 07, 2024. At High Line, Zoe Brown sang. The Karaoke Night went on and Zoe laughed. Noa Middleton nodded.


Chapter 2

Zoe Brown waited at St. Mary's Park. Within St. Mary's Park the Book Fair opened on June 01, 2025.


Chapter 3

Most of the Book Fair was over. Ann Lee left High Line. Somebody met Ann at High Line on April 02, 2023."""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("On which dates does Zoe Brown appear?", "- May 07, 2024\n- June 01, 2025"),
        ("At which locations was Zoe Brown on June 01, 2025?", "- St. Mary's Park"),
        ("Who was at High Line?", "- Zoe Brown\n- Ann Lee"),
        ("What took place at High Line on May 07, 2024? Name every kind of event.", "- Karaoke Night"),
        ("Who else, besides Zoe Brown, appears at High Line on May 07, 2024?", "- Noa Middleton"),
        ("On which date does Zoe Brown appear for the last time?", "- June 01, 2025"),
        ("List the locations of the Book Fair in chronological order.", "- High Line\n- St. Mary's Park"),
        ("Who was at Coney Island?", NOTHING),
        ("Who was at High Line on June 01, 2025?", NOTHING),
        ("What is the Ghost Tour?", NOTHING),
    ],
)
def test_questions_are_answered_from_the_text_alone(question, answer):
    assert answer_question(read_story(STORY), question) == answer


def test_pieces_of_one_chapter_are_put_together():
    chunks = "Chapter 2, Paragraph 3\n\nOn May 07, 2024 it rained.\n\n\nChapter 2, Paragraph 1\n\nZoe Brown sat at High Line."
    assert answer_question(read_story(chunks), "On which dates was Zoe Brown at High Line?") == "- May 07, 2024"


def test_every_own_template_is_understood():
    book = make_book(Recipe("short"))
    context = book.book()
    # The latest and the order differ from all matches only where there are several.
    telling = [q for q in book.questions if (q.n_chapters == 1 if q.get == "all" else q.n_chapters > 1)]
    asked = {t.id: next(q for q in telling if q.template == t.id) for t in TEMPLATES}
    requests = [Request(str(i), "", context, f"Question: {q.question}\n\nAnswer at once.") for i, q in asked.items()]
    for reply in LexicalReader().answer(requests):
        question = asked[int(reply.id)]
        reference = list(dict.fromkeys(question.answer))
        found = [reply.text] if question.trace == "full_details" else reply.text.removeprefix("- ").split("\n- ")
        if question.get != "chronological":
            found, reference = sorted(found), sorted(reference)
        assert found == reference, (question.question, reply.text[:200])


def test_a_text_without_chapters_says_nothing():
    assert answer_question(read_story("No headings here."), "Who was at High Line?") == NOTHING


def test_keys_depend_on_all_of_the_prompt():
    base = Request("1", "s", "c", "q")
    others = [Request(*parts) for parts in ("2scq", "1xcq", "1sxq", "1scx")]
    assert len({base.key("m"), base.key("n"), *(o.key("m") for o in others)}) == 6


ROWS = [
    {"id": "1", "trace": "times", "answer": ["May 07, 2024"]},
    {"id": "2", "trace": "times", "answer": ["June 01, 2023", "May 07, 2024"]},
    {"id": "3", "trace": "spaces", "answer": []},
    {"id": "4", "trace": "spaces", "answer": ["High Line"]},
    {"id": "5", "trace": "full_details", "answer": ["It was a long day."]},
]


def test_it_names_everything_of_the_asked_kind_and_for_an_account_everything_but_accounts():
    assert names_by_trace(ROWS) == {
        "times": ["June 01, 2023", "May 07, 2024"], "spaces": ["High Line"],
        "full_details": ["June 01, 2023", "May 07, 2024", "High Line"],
    }  # fmt: skip
    asked = [Request(id_, "", "", "?") for id_ in "135"]
    dates, places, account = (reply.text for reply in EverythingReader(ROWS).answer(asked))
    assert (dates, places) == ("- June 01, 2023\n- May 07, 2024", "- High Line")
    assert account == "- June 01, 2023\n- May 07, 2024\n- High Line"
    assert EverythingReader([ROWS[2]]).answer_to(Request("3", "", "", "?")) == "Everything."


@pytest.mark.slow
def test_a_run_of_it_asks_no_model_resumes_and_can_be_verified(short_book, tmp_path):
    command = ("eval_scripts/tulving.py", "--dataset", short_book, "--memory", "everything", "--out", tmp_path / "r")
    for _ in range(2):
        done = in_process.script(*command)
        assert done.returncode == 0, done.stderr
    assert "The answers name" in " ".join(done.stdout.split())
    assert len((tmp_path / "r/answers.jsonl").read_text().splitlines()) == 450
    scores = json.loads((tmp_path / "r/scores.json").read_text())
    assert (scores["latest"], scores["latest_several"], scores["all_matched"]) == (1, 1, 1)
    assert scores["items_ratio"] > 1.5 and scores["harsh_simple_recall_score"] < scores["simple_recall_score"] / 2
    for name in ("table.md", "report.html"):
        assert "items for each true one" in (tmp_path / "r" / name).read_text()
    assert in_process.script("eval_scripts/verify.py", tmp_path / "r").returncode == 0
    in_process.refused(in_process.script(*command, "--model", "hf:x"), "asks no model, got --model hf:x")
