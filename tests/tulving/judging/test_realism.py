"""How realistic events are, by a model behind a real endpoint on loopback: asked once, kept, taken up again."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput, RunFailed, UnusableReply
from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging import realism
from epbench.tulving.judging.realism import JOURNAL, RATINGS, load_realism_prompts, ratings_of, read_rating
from epbench.tulving.paper.books import read_books
from tests.models.loopback_endpoint import BROKEN, LoopbackEndpoint


@pytest.fixture
def book(short_book):
    return read_books([str(short_book)])[0]


def rated(book, endpoint, folder, **more):
    about = {"timeout_s": 30, "attempts": 2, "backoff_base_s": 0.005}
    return ratings_of(book, EndpointModel("tiny", base_url=endpoint.url, **about | more), folder)


def told(prompt):
    """The event, as the prompt tells it."""
    return dict(re.findall(r"^> (.+?): (.+)$", prompt, re.MULTILINE))


def honest(prompt):
    """A rating that only the event decides: by the length of its words."""
    rating = RATINGS[len(told(prompt)["Location"] + told(prompt)["Event"]) % 5]
    return json.dumps({"rating": rating, "reason": "by its length"})


def expected(book):
    events = {chapter.number: chapter.event for chapter in book.chapters}
    return {number: RATINGS[len(event.space + event.content) % 5] for number, event in events.items()}


def test_every_event_is_rated_in_one_call_and_asked_about_once(book, tmp_path):
    path = tmp_path / JOURNAL
    with LoopbackEndpoint(honest) as endpoint:
        assert rated(book, endpoint, tmp_path) == rated(book, endpoint, tmp_path) == expected(book)
        path.write_text(re.sub(r'"rating": "[^"]+"', '"rating": "Odd"', path.read_text("utf-8"), count=1), "utf-8")
        with pytest.raises(BadInput, match="field 'rating': expected one of Realistic, .* found 'Odd'"):
            rated(book, endpoint, tmp_path)
    rules, said = (
        load_realism_prompts()["rules"].format(),
        ("Day", "Location", "Person", "Event", "What the person does"),
    )
    facts = [(of.event.day, of.event.space, of.event.entity, of.event.content, of.event.detail) for of in book.chapters]
    asked = [told(call.user) for call in endpoint.calls]
    assert sorted(map(str, asked)) == sorted(str(dict(zip(said, of, strict=True))) for of in facts)
    for call in endpoint.calls:
        assert call.user.startswith(f"{rules}\n\n> Day: ") and call.body["temperature"] == 0
        schema = call.body["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["rating"]["enum"] == list(RATINGS)


def test_a_folder_keeps_to_one_book_and_one_judge(book, tmp_path, monkeypatch):
    with LoopbackEndpoint(honest) as endpoint:
        with pytest.raises(BadInput, match="allow fewer tokens per reply"):  # before anything is asked
            rated(book, endpoint, tmp_path / "new", window=100)
        assert not (tmp_path / "new").exists() and not endpoint.calls
        rated(book, endpoint, tmp_path)
        with pytest.raises(BadInput, match="its realism_of is"):
            rated(replace(book, fingerprint="0" * 16), endpoint, tmp_path)
        brief = load_realism_prompts() | {"system": "Be brief."}
        monkeypatch.setattr(realism, "load_realism_prompts", lambda: brief)
        with pytest.raises(BadInput, match="its prompt_hash is"):
            rated(book, endpoint, tmp_path)


def test_what_is_lost_is_none_and_is_asked_again(book, tmp_path):
    day = book.chapters[1].event.day
    lost = {chapter.number for chapter in book.chapters if chapter.event.day == day}
    with LoopbackEndpoint(lambda said: '{"rating": "odd"}' if told(said)["Day"] == day else honest(said)) as endpoint:
        assert rated(book, endpoint, tmp_path / "a") == expected(book) | dict.fromkeys(lost)
    breaks = LoopbackEndpoint(honest, script=lambda number, body: BROKEN if number >= 7 else None)
    with breaks as broken, pytest.raises(RunFailed, match="all answers so far are kept"):
        rated(book, broken, tmp_path / "b")
    for folder, port, n in (("a", endpoint.port, len(lost)), ("b", broken.port, 13)):
        with LoopbackEndpoint(honest, port=port) as endpoint:
            assert rated(book, endpoint, tmp_path / folder) == expected(book)
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
