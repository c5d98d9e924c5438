"""Ratings of how realistic events are, by a model behind a real endpoint on loopback: asked once, kept, taken up again."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput, RunFailed, UnusableReply
from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging import realism
from epbench.tulving.judging.realism import JOURNAL, RATINGS, load_realism_prompts, ratings_of, read_rating, realism_of
from epbench.tulving.paper.books import read_books
from tests.models.loopback_endpoint import BROKEN, LoopbackEndpoint
from tests.paper.plain import lines_of

REPAIR = "An earlier reply to this could not be used"


@pytest.fixture
def book(short_book):
    (found,) = read_books([str(short_book)])
    return found


def model_at(endpoint, **more):
    about = {"timeout_s": 30, "attempts": 2, "backoff_base_s": 0.005}
    return EndpointModel("tiny", base_url=endpoint.url, **about | more)


def told(prompt):
    """The event, as the prompt tells it."""
    return dict(re.findall(r"^> (.+?): (.+)$", prompt, re.MULTILINE))


def rating_for(place, event):
    """A rating that only the event decides: by the length of its words."""
    return RATINGS[(len(place) + len(event)) % 5]


def honest(prompt):
    rating = rating_for(told(prompt)["Location"], told(prompt)["Event"])
    return json.dumps({"rating": rating, "reason": "by its length"})


def expected(book):
    return {chapter.number: rating_for(chapter.event.space, chapter.event.content) for chapter in book.chapters}


def test_every_event_is_rated_in_one_call_and_asked_about_once(book, tmp_path, monkeypatch):
    path = tmp_path / "realism" / JOURNAL
    with LoopbackEndpoint(honest) as endpoint:
        for _ in range(2):
            assert ratings_of(book, model_at(endpoint), path.parent) == expected(book)
        kept = {record["chapter"]: record["rating"] for record in lines_of(path)}
        brief, unlike = replace(load_realism_prompts(), system="Be brief."), replace(book, fingerprint="0" * 16)
        with pytest.raises(BadInput, match="its realism_of is"):  # a folder keeps to one book and one judge
            ratings_of(unlike, model_at(endpoint), path.parent)
        with monkeypatch.context() as patched, pytest.raises(BadInput, match="its prompt_hash is"):
            patched.setattr(realism, "load_realism_prompts", lambda: brief)
            ratings_of(book, model_at(endpoint), path.parent)
        path.write_text(re.sub(r'"rating": "[^"]+"', '"rating": "Odd"', path.read_text("utf-8"), count=1), "utf-8")
        with pytest.raises(BadInput, match="field 'rating': expected one of Realistic, .* found 'Odd'"):
            ratings_of(book, model_at(endpoint), path.parent)
        with pytest.raises(BadInput, match="allow fewer tokens per reply"):  # before anything is asked
            ratings_of(book, model_at(endpoint, window=100), tmp_path / "new")
    assert len(endpoint.calls) == 20 and not (tmp_path / "new").exists() and kept == expected(book)
    rules, events = load_realism_prompts().rules.format(), {}
    for call in endpoint.calls:
        assert call.user.startswith(f"{rules}\n\n> Day: ") and call.body["temperature"] == 0
        schema = call.body["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["rating"]["enum"] == list(RATINGS)
        events[told(call.user)["Day"], told(call.user)["Location"]] = told(call.user)
    for event in (chapter.event for chapter in book.chapters):
        place = {"Day": event.day, "Location": event.space, "Person": event.entity}
        told_of = {"Event": event.content, "What the person does": event.detail}
        assert events[event.day, event.space] == place | told_of


def test_a_reply_is_repaired_once_and_what_is_lost_is_asked_again(book, tmp_path):
    first, second = (chapter.event.day for chapter in book.chapters[:2])

    def answer(prompt):
        day = told(prompt)["Day"]
        unusable = day == second or (day == first and REPAIR not in prompt)
        return '{"rating": "plausible"}' if unusable else honest(prompt)

    with LoopbackEndpoint(answer) as endpoint:
        found = ratings_of(book, model_at(endpoint), tmp_path / "a")
    lost = {chapter.number for chapter in book.chapters if chapter.event.day == second}
    assert lost and found == expected(book) | dict.fromkeys(lost)
    again = [call.user for call in endpoint.calls if REPAIR in call.user]
    said = 'the rating is "plausible", one of these is expected: Realistic, Moderately'
    assert again and all(said in prompt for prompt in again)
    failed = {of["chapter"]: of["failure"] for of in lines_of(tmp_path / "a" / JOURNAL) if of.get("failure")}
    assert failed.keys() == lost and all("also when asked again" in failure for failure in failed.values())
    with (
        LoopbackEndpoint(honest, script=lambda number, body: BROKEN if number >= 7 else None) as broken,
        pytest.raises(RunFailed, match="all answers so far are kept"),
    ):
        ratings_of(book, model_at(broken), tmp_path / "b")
    for folder, port, n in (("a", endpoint.port, len(lost)), ("b", broken.port, 13)):
        with LoopbackEndpoint(honest, port=port) as endpoint:
            assert ratings_of(book, model_at(endpoint), tmp_path / folder) == expected(book)
        assert len(endpoint.calls) == n


@given(st.sampled_from(RATINGS), st.booleans(), st.sampled_from(["{}", "Well.\n```json\n{}\n```", "{{no}} {} so"]))
def test_ratings_are_read_in_any_case_and_from_any_wrapping(rating, upper, around):
    said = rating.upper().replace("-", " ") if upper else rating.lower()
    found = read_rating(around.format(json.dumps({"rating": f" {said}  ", "reason": 3})))
    assert (found.rating, found.reason) == (rating, "")


def test_other_replies_are_unusable():
    twice = '{"rating": "Realistic", "rating": "Impossible"}'
    for reply in ("", "Realistic", '{"rating": 3}', '{"rating": null}', '{"rating": "Very"}', '["Realistic"]', twice):
        with pytest.raises(UnusableReply):
            read_rating(reply)


def test_questions_are_grouped_by_the_classes_of_their_chapters():
    rated = {1: "Realistic", 2: "Moderately realistic", 3: "Somewhat realistic", 4: "Impossible", 5: None}
    groups = {"empty": [[]], "realistic": [[1, 2]], "non-realistic": [[3, 4]], "mixed": [[2, 3], [1, 4, 5]]}
    for group, of in {**groups, None: [[5], [1, 5], [4, 5], [1, 9]]}.items():
        assert {realism_of(chapters, rated) for chapters in of} == {group}
