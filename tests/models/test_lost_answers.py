"""A reply that holds no answer is a failure with its reason, never an abstention."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import Journal, read_journal
from epbench.judges.replies import failure_of
from epbench.models.openai.wire import NoCompletion, NoJson, read_chat
from epbench.models.protocol import Request, RuleBasedReader, Sampling, Usage
from epbench.models.replies import is_whole_json
from epbench.models.vllm import VllmModel
from tests.models.endpoint_asks import KEY, book, key, model_of, replies  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint

ASKED = Request("1", "", "book", "who?", Sampling(max_tokens=1024))
LABELLED = replace(ASKED, labels=("A", "B"))
ALL = {"completion_tokens": 1024}
CUT = "the answer was cut off: it used all 1,024 tokens it may have"
EMPTY = "the reply is empty"
THOUGHT = "the model used all 1,024 tokens for thinking and gave no answer"
NOTHING_AFTER = "the model gave no answer after its thinking"
EARLY = "the model's window or another limit ended it before the 1,024 tokens it may have"


def read(content, finish="stop", request=ASKED, usage=None, **message):
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return read_chat(json.dumps({"choices": [choice], "usage": usage}), request, "k")


@pytest.mark.parametrize(
    ("content", "finish", "more", "failure", "ended"),
    [
        ("May 07", "stop", {}, None, "stop"),
        ("May 07", None, {}, None, "stop"),
        ("May 07", 7, {}, None, "stop"),
        ("", "stop", {}, EMPTY, "empty"),
        (None, "tool_calls", {"tool_calls": []}, EMPTY, "empty"),
        ([], None, {}, EMPTY, "empty"),
        ("", "length", {}, "the reply is empty: it used all 1,024 tokens it may have", "length"),
        ("", "length", {"reasoning_content": "Let me see"}, THOUGHT, "length"),
        ("<think>Let me see", "length", {}, THOUGHT, "length"),
        ("<think>Let me see</think>\n", "stop", {}, NOTHING_AFTER, "empty"),
        (None, "stop", {"reasoning": "never ended"}, NOTHING_AFTER, "empty"),
        ("On May 07 and on", "length", {}, CUT, "length"),
        ('{"items": ["May 07"', "max_tokens", {}, CUT, "length"),
        ('Here it is: {"items": []}', "length", {}, CUT, "length"),
        (None, "stop", {"refusal": "I will not."}, "the model refused to answer: I will not.", "refusal"),
        ([{"type": "refusal", "refusal": "No."}], "stop", {}, "the model refused to answer: No.", "refusal"),
        ("Well", "content_filter", {}, "the endpoint's content filter stopped the answer", "content_filter"),
        ("May 0", "error", {}, "the endpoint ended the answer: error", "stop"),
    ],
)
def test_what_an_endpoint_lost_is_a_failure_with_its_reason_and_text_that_ended_is_none(
    content, finish, more, failure, ended
):
    reply = read(content, finish, usage=ALL, **more)
    assert (reply.failure, reply.ended, reply.usage.completion) == (failure, ended, 1024)


@pytest.mark.parametrize("text", ['{"a": 1}', '```json\n{"a": {}}\n```'])
def test_complete_json_is_an_answer_though_the_tokens_ran_out(text):
    for request in (ASKED, replace(ASKED, schema={"type": "object"})):
        reply = read(text, "length", request)
        assert (reply.text, reply.failure, reply.ended) == (text.strip(), None, "length")


@settings(deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda some: st.lists(some, max_size=3)
                    | st.dictionaries(st.text(max_size=5), some, max_size=3), max_leaves=8), st.integers(0, 200))  # fmt: skip
def test_a_part_of_json_is_not_whole(content, end):
    text = json.dumps([content])
    assert is_whole_json(text) and is_whole_json(f"```json\n{text}\n```")
    assert not any(is_whole_json(other) for other in (text[: min(end, len(text) - 1)], f"so: {text}", json.dumps(3)))


@pytest.mark.parametrize("request_", [replace(ASKED, keep_cut=True), LABELLED])
def test_a_cut_text_that_is_wanted_all_the_same_is_kept(request_):
    reply = read("A closer look", "length", request_)
    assert (reply.text, reply.failure, reply.ended) == ("A closer look", None, "length")
    assert read("", "length", request_).ended == read("<think>A", "length", request_).ended == "length"
    assert read("", "length", request_).failure and read("<think>A", "length", request_).failure
    assert read(None, "content_filter", request_).failure and read("A", refusal="No", request=request_).failure


def test_tokens_that_a_smaller_limit_took_are_not_blamed_on_the_request():
    assert read("On May", "length", usage={"completion_tokens": 99}).failure == f"the answer was cut off: {EARLY}"
    thinking = read("<think>On May", "length", usage={"completion_tokens": 99})
    assert thinking.failure == f"the model was cut off while it was thinking: {EARLY}"
    hidden = ALL | {"completion_tokens_details": {"reasoning_tokens": 1024}}
    assert read("", "length", usage=hidden).failure == THOUGHT


ODD = [{}, {"choices": []}, {"choices": [{"message": None}]}, {"choices": [{"message": {"content": ["Paris"]}}]}]


@pytest.mark.parametrize("body", [*ODD, {"error": {"message": "upstream"}}, None], ids=json.dumps)
def test_a_response_that_is_no_completion_fails_once(body):
    text = json.dumps(body)
    with LoopbackEndpoint() as endpoint:
        endpoint.completion = lambda _: body
        (reply,) = model_of(endpoint).answer(book(1))
    assert len(endpoint.calls) == 1
    assert reply.failure == f"the answer is no chat completion: {'upstream' if 'error' in text else text}"


def test_a_lost_answer_is_asked_for_once_and_again_by_the_next_start(tmp_path):
    """Its tokens were paid, and what came of it stands in the journal."""
    message = {"content": "On May", "reasoning_content": "hm"}
    with LoopbackEndpoint(more=lambda _: {"message": message, "choice": {"finish_reason": "length"}}) as endpoint:
        ask(tmp_path / ANSWERS, book(2), model_of(endpoint))
        assert len(endpoint.calls) == 2
        (first, _) = Journal(tmp_path / ANSWERS)
        assert first["failure"].startswith("the answer was cut off") and "answer" not in first
        assert (first["partial"], first["ended"], first["reasoning"]) == ("On May", "length", "hm")
        assert first["usage"]["prompt"] == 10 and first["usage"]["completion"] > 0
        endpoint.more = lambda _: {}
        ask(tmp_path / ANSWERS, book(2), model_of(endpoint))
    assert len(endpoint.calls) == 4
    for record in Journal(tmp_path / ANSWERS):
        assert record["answer"] and not {"failure", "partial", "ended"} & record.keys()


def test_a_refusal_is_kept_short_and_without_the_key():
    message = {"content": None, "refusal": f"{KEY} {'no ' * 900}"}
    with LoopbackEndpoint(more=lambda body: {"message": message}) as endpoint:
        reply = replies(endpoint, book(1))["the book-0"]
    assert len(endpoint.calls) == 1 and reply.ended == "refusal"
    assert reply.failure.startswith("the model refused to answer: *** no no") and len(reply.failure) == 400


def engine_reads(output, request=ASKED, opening=""):
    """The reply of a model whose tokenizer has one special token."""
    model = VllmModel("tiny")
    prompts = {"opening": lambda _: opening, "label_ids": lambda _: {"A": [7], "B": [8]}, "length": len}
    prompts["without_specials"] = lambda text: text.replace("<|end|>", "").strip()
    vars(model).update(identity="vllm:tiny", prompts=SimpleNamespace(**prompts))
    return model._read(request, output)


def output(text, finish, n=1024, **more):
    made = SimpleNamespace(text=text, finish_reason=finish, token_ids=[5] * n, **more)
    return SimpleNamespace(outputs=[made], prompt_token_ids=[1, 2, 3], num_cached_tokens=2)


@pytest.mark.parametrize(
    ("text", "finish", "opening", "failure", "ended"),
    [
        ("<|end|>", "stop", "", EMPTY, "empty"),
        ("Look and look", "length", "<think>\n", THOUGHT, "length"),
        ("Look.</think>May 07", "stop", "<think>\n", None, "stop"),
        ("May", "abort", "", "vLLM ended the answer: abort", "stop"),
    ],
)
def test_what_the_engine_lost_is_a_failure(text, finish, opening, failure, ended):
    reply = engine_reads(output(text, finish), opening=opening)
    assert (reply.failure, reply.ended, reply.usage.completion) == (failure, ended, 1024)


def test_the_engine_gives_labels_their_probabilities():
    first = {7: SimpleNamespace(logprob=-0.5), 8: SimpleNamespace(logprob=-1.5)}
    made = output("<|end|>", "length", 1, logprobs=[first])
    reply = engine_reads(made, LABELLED)
    assert reply.failure is None and reply.probabilities == pytest.approx({"A": 0.60653, "B": 0.22313}, rel=1e-3)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9)
    | st.sampled_from(["A", "text", "stop", "length", "<think>", "\ud83d", 10**400, -1, 1e308]),
    lambda some: st.lists(some, max_size=3)
    | st.dictionaries(st.sampled_from([
        "choices", "message", "content", "text", "type", "refusal", "reasoning", "reasoning_content", "token", "logprob",
        "top_logprobs", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "finish_reason",
    ]), some, max_size=5), max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(ANYTHING | st.text() | st.binary().map(lambda b: b.decode("latin-1")))
def test_any_body_is_a_reply_or_one_of_two_errors(body):
    for text in (json.dumps(body), body if isinstance(body, str) else "{"):
        try:
            reply = read_chat(text, LABELLED, "k")
        except (NoJson, NoCompletion) as error:
            assert str(error)
        else:
            json.dumps(asdict(reply), allow_nan=False)


@settings(deadline=None)
@given(ANYTHING, st.sampled_from(["message", "content", "refusal"]))
def test_no_odd_part_breaks_the_reading(odd, place):
    message = odd if place == "message" else {"content": "Paris", place: odd}
    try:
        reply = read_chat(json.dumps({"choices": [{"message": message}]}), LABELLED, "k")
    except NoCompletion:
        return
    assert reply.failure or reply.text


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["usage", "model", "id"]), ANYTHING),
       st.dictionaries(st.sampled_from(["logprobs", "finish_reason", "index"]), ANYTHING),
       st.dictionaries(st.sampled_from(["reasoning", "reasoning_content", "role", "tool_calls"]), ANYTHING))  # fmt: skip
def test_a_paid_answer_is_kept_whatever_stands_beside_it(body, choice, message):
    choice = {"message": {"content": "Paris"} | message} | choice
    ended = choice.get("finish_reason")
    reply = read_chat(json.dumps({"choices": [choice]} | body), LABELLED, "k")
    if str(ended).lower() not in ("error", "abort", "content_filter"):
        assert (reply.text, reply.failure) == ("Paris", None)
    assert 0 <= reply.usage.cached <= reply.usage.prompt <= 10**9 and 0 <= reply.usage.completion <= 10**9
    assert all(0 <= p <= 1 for p in (reply.probabilities or {}).values())


@pytest.mark.parametrize(
    "usage",
    ['"many"', "[7]", '{"prompt_tokens": NaN, "completion_tokens": -3}', f'{{"prompt_tokens": 1{"0" * 5000}}}',
     '{"prompt_tokens": true, "completion_tokens": 1e308, "prompt_tokens_details": {"cached_tokens": 5}}'],
    ids=lambda usage: usage[:40],
)  # fmt: skip
def test_an_odd_usage_costs_no_second_request(tmp_path, usage):
    text = f'{{"choices": [{{"message": {{"content": "Paris"}}, "logprobs": {{"content": 3}}}}], "usage": {usage}}}'
    assert read_chat(text, LABELLED, "k").usage == Usage()
    with LoopbackEndpoint() as endpoint:
        endpoint.script = lambda number, body: Fault("status", 200, raw=text)
        ask(tmp_path / ANSWERS, book(1), model_of(endpoint))
        assert len(endpoint.calls) == 1
    (record,) = read_journal(tmp_path / ANSWERS).values()
    assert record["answer"] == "Paris" and "usage" not in record


def test_a_deep_and_long_error_is_a_short_failure_of_one_question():
    text = '{"error": ' * 3000 + "1" + "}" * 3000
    with LoopbackEndpoint(script=lambda number, body: Fault("status", 400, raw=text)) as endpoint:
        (reply,) = model_of(endpoint).answer(book(1))
    assert reply.failure.startswith("400 {") and len(reply.failure) == 400


def test_an_endpoint_that_refused_is_asked_again(tmp_path):
    replies_to = {"0": iter(["I can't help with that.", "Oslo"]), "1": iter(["..."] * 3), "2": iter(["Bergen"])}
    with LoopbackEndpoint(lambda prompt: next(replies_to[prompt[-1]])) as endpoint:
        for n_calls in (3, 5, 6):
            ask(tmp_path / ANSWERS, book(3), model_of(endpoint), failure_of=failure_of)
            assert len(endpoint.calls) == n_calls
    said = {record["id"]: failure_of(record) or record["answer"] for record in Journal(tmp_path / ANSWERS)}
    assert said == {"the book-0": "Oslo", "the book-1": "the reply says nothing", "the book-2": "Bergen"}


def test_greedy_weights_and_rules_that_refused_are_not_asked_again(tmp_path):
    class Refusing(RuleBasedReader):
        name = "refusing"
        asked = 0

        def answer_to(self, request):
            self.asked += 1
            return "I can't help with that."

    for identity, costs_nothing in (("refusing", True), ("refusing@1f0c3a", False)):
        model = type("Model", (Refusing,), {"identity": identity, "costs_nothing": costs_nothing})()
        greedy, warm = book(2), book(2, sampling=Sampling(temperature=1.0))
        for requests, n in ((greedy, 2), (greedy, 2), (warm, 4), (warm, 6)):
            ask(tmp_path / identity, requests, model, failure_of=failure_of)
            assert model.asked == n
