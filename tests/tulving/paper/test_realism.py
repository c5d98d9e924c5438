"""Ratings of how realistic events are, by a model behind a real endpoint on loopback: asked once, kept, taken up again."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput, RunFailed, UnusableReply
from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging.realism import RATINGS, RealismJudge, load_realism_prompts, read_rating
from epbench.tulving.paper.books import read_books
from epbench.tulving.paper.realism import JOURNAL, ratings_of, realism_of
from tests.models.loopback_endpoint import BROKEN, LoopbackEndpoint

REPAIR = "An earlier reply to this could not be used"


@pytest.fixture
def book(short_book):
    (found,) = read_books([str(short_book)])
    return found


def model_at(endpoint):
    return EndpointModel("tiny", base_url=endpoint.url, timeout_s=30, attempts=2, backoff_base_s=0.005)


def told(prompt):
    """The event, as the prompt tells it."""
    return dict(re.findall(r"^> (.+?): (.+)$", prompt, re.MULTILINE))


def rating_for(event):
    """A rating that only the event decides: by the length of its words."""
    return RATINGS[(len(event["Location"]) + len(event["Event"])) % 5]


def honest(prompt):
    return json.dumps({"rating": rating_for(told(prompt)), "reason": "by its length"})


def expected(book):
    events = {chapter.number: chapter.event for chapter in book.chapters}
    return {n: rating_for({"Location": event.space, "Event": event.content}) for n, event in events.items()}


def records(folder):
    return [json.loads(line) for line in (folder / JOURNAL).read_text("utf-8").splitlines()]


def test_every_event_is_rated_in_one_call_and_asked_about_once(book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        found = ratings_of(book, model_at(endpoint), tmp_path / "realism")
        assert found == expected(book) and len(endpoint.calls) == 20
        assert ratings_of(book, model_at(endpoint), tmp_path / "realism") == found
        assert len(endpoint.calls) == 20
    rules = load_realism_prompts().rules.format()
    by_event = {(told(call.user)["Day"], told(call.user)["Location"]): told(call.user) for call in endpoint.calls}
    for chapter in book.chapters:
        event = chapter.event
        place = {"Day": event.day, "Location": event.space, "Person": event.entity}
        told_of = {"Event": event.content, "What the person does": event.detail}
        assert by_event[event.day, event.space] == place | told_of
    for call in endpoint.calls:
        assert call.user.startswith(f"{rules}\n\n> Day: ") and call.body["temperature"] == 0
        schema = call.body["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["rating"]["enum"] == list(RATINGS)
    kept = records(tmp_path / "realism")
    assert {record["chapter"]: record["rating"] for record in kept} == found
    assert {(record["reason"], record["judge"]) for record in kept} == {("by its length", "openai:tiny")}


def test_a_reply_is_repaired_once_and_a_judge_that_fails_gives_no_rating(book, tmp_path):
    first, second = book.chapters[0].event.day, book.chapters[1].event.day

    def answer(prompt):
        day = told(prompt)["Day"]
        if day == second or (day == first and REPAIR not in prompt):
            return '{"rating": "plausible"}'
        return honest(prompt)

    with LoopbackEndpoint(answer) as endpoint:
        found = ratings_of(book, model_at(endpoint), tmp_path)
    lost = {chapter.number for chapter in book.chapters if chapter.event.day == second}
    assert lost and found == {number: None if number in lost else rating for number, rating in expected(book).items()}
    again, said = (
        [call.user for call in endpoint.calls if REPAIR in call.user],
        'the rating is "plausible", one of these',
    )
    assert all(f"{said} is expected: Realistic, Moderately" in prompt for prompt in again)
    failed = {record["chapter"]: record["failure"] for record in records(tmp_path) if record.get("failure")}
    assert failed.keys() == lost and all("also when asked again" in failure for failure in failed.values())
    with LoopbackEndpoint(honest, port=endpoint.port) as endpoint:  # the next start asks for these alone
        assert ratings_of(book, model_at(endpoint), tmp_path) == expected(book)
    assert {told(call.user)["Day"] for call in endpoint.calls} == {second} and len(endpoint.calls) == len(lost)


def test_an_endpoint_that_breaks_down_loses_no_reply_that_it_gave(book, tmp_path):
    with (
        LoopbackEndpoint(honest, script=lambda number, body: BROKEN if number >= 7 else None) as endpoint,
        pytest.raises(RunFailed, match="all answers so far are kept"),
    ):
        ratings_of(book, model_at(endpoint), tmp_path)
    assert endpoint.answered == 7
    with LoopbackEndpoint(honest, port=endpoint.port) as endpoint:
        assert ratings_of(book, model_at(endpoint), tmp_path) == expected(book)
    assert len(endpoint.calls) == 13


def test_a_folder_keeps_to_one_book_and_one_judge(book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        ratings_of(book, model_at(endpoint), tmp_path)
        with pytest.raises(BadInput, match="its prompt_hash is"):
            prompts = replace(load_realism_prompts(), system="Be brief.")
            ratings_of(book, model_at(endpoint), tmp_path, prompts=prompts)
        other = replace(book, fingerprint="0" * 16)
        with pytest.raises(BadInput, match="its realism_of is"):
            ratings_of(other, model_at(endpoint), tmp_path)


def test_an_edited_rating_is_refused(book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        ratings_of(book, model_at(endpoint), tmp_path)
    path = tmp_path / JOURNAL
    path.write_text(re.sub(r'"rating": "[^"]+"', '"rating": "Odd"', path.read_text("utf-8"), count=1), "utf-8")
    with (
        LoopbackEndpoint(honest, port=endpoint.port) as endpoint,
        pytest.raises(BadInput, match="field 'rating': expected one of Realistic, .* found 'Odd'"),
    ):
        ratings_of(book, model_at(endpoint), tmp_path)


def test_a_prompt_beyond_the_window_is_refused_before_anything_is_asked(book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        model = EndpointModel("tiny", base_url=endpoint.url, window=100)
        with pytest.raises(BadInput, match="allow fewer tokens per reply"):
            ratings_of(book, model, tmp_path / "new")
        assert not endpoint.calls and not (tmp_path / "new").exists()
        assert len(RealismJudge(model).requests([])) == 0


@given(
    st.sampled_from(RATINGS),
    st.booleans(),
    st.sampled_from(["{}", "Well.\n```json\n{}\n```", "{{{{no}}}} {} so be it"]),
)
def test_ratings_are_read_in_any_case_and_from_any_wrapping(rating, upper, around):
    said = rating.upper().replace("-", " ") if upper else rating.lower()
    reply = around.replace("{{{{no}}}}", "{no}").replace("{}", json.dumps({"rating": f" {said}  ", "reason": 3}))
    assert (read_rating(reply).rating, read_rating(reply).reason) == (rating, "")


UNUSABLE = ["", "Realistic", '{"rating": 3}', '{"rating": null}', '{"rating": "Very realistic"}', '["Realistic"]']


@pytest.mark.parametrize("reply", [*UNUSABLE, '{"rating": "Realistic", "rating": "Impossible"}'])
def test_other_replies_are_unusable(reply):
    with pytest.raises(UnusableReply):
        read_rating(reply)


RATED = {1: "Realistic", 2: "Moderately realistic", 3: "Somewhat realistic", 4: "Impossible", 5: None}


@pytest.mark.parametrize(
    ("group", "of"),
    {
        "empty": [[]],
        "realistic": [[1, 2]],
        "non-realistic": [[3, 4]],
        "mixed": [[2, 3], [1, 4, 5]],
        None: [[5], [1, 5], [4, 5], [1, 9]],
    }.items(),
)
def test_questions_are_grouped_by_the_classes_of_their_chapters(group, of):
    assert {realism_of(chapters, RATED) for chapters in of} == {group}
