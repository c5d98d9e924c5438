"""A greedy answer that goes in circles is an answer: neither more tokens nor another try would change what it says."""

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import read_journal
from epbench.models.hf import shared_prefix
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request, Sampling
from epbench.models.replies import split_reasoning, text_of_first_round
from epbench.runs.usage import token_usage, usage_line
from tests.models.test_lost_answers import ALL, CUT, LABELLED, THOUGHT, read
from tests.tiny_model import make_tiny_model

ROUND = "I am glad that you are pleased with the answer. "
LOOP = "The answer is E. " + ROUND * 30
ONCE = "The answer is E. " + ROUND.rstrip()
TEXT = "Mia Poe met Leo Ray in Oslo. " * 40


WORDS = st.sampled_from(["Tim", "Kim", "im", ", ", " ", "\n", "2024", "é", "."])


@given(st.lists(WORDS, max_size=9), st.lists(WORDS, min_size=1, max_size=9), st.integers(0, 50))
def test_what_a_loop_says_is_kept_and_the_rest_is_repetition(start, round_, cut):
    round_ = [*round_, " "]
    text = "".join(start + round_ * 200)
    text = text[: len(text) - cut]
    said = text_of_first_round(text)
    assert said is not None and text.startswith(said) and len(said) < len("".join(start + round_ * 2)) + 2
    assert set(re.findall(r"\w+", text)[:-1]) <= set(re.findall(r"\w+", said)), "every name, as a whole"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ROUND * 3,
        LOOP + "And so it ends.",
        "".join(f"On May {i} {ROUND}" for i in range(40)),
        "".join(f"{i} {ROUND}\n" for i in range(40)),
    ],
)
def test_a_text_that_says_something_new_is_no_loop(text):
    assert text_of_first_round(text) is None


def test_what_is_left_ends_with_an_item_and_numbers_of_a_list_say_nothing_new():
    dates = ["On May 28, 2024", "On June 24, 2024", "On July 22, 2024"]
    text = "\n".join(f"{i + 1}. {dates[i % 3]}" for i in range(60))
    assert text_of_first_round(text) == "1. On May 28, 2024\n2. On June 24, 2024\n3. On July 22, 2024"
    text = "They met in:\n" + "".join(f"{i}) Oslo\n{i + 1}) New York\n" for i in range(1, 99, 2))
    assert text_of_first_round(text) == "They met in:\n1) Oslo\n2) New York"
    names = "Kim Hill, Tim Hill, " * 40
    assert text_of_first_round(names) == "Kim Hill, Tim Hill,"


def test_an_answer_in_circles_is_an_answer_without_its_repetitions():
    reply = read(LOOP, "length", usage=ALL)
    assert (reply.text, reply.failure, reply.ended) == (ONCE, None, "loop")
    assert reply.usage.completion == 1024, "what was generated is what is paid"
    assert read(LOOP, "stop").text == LOOP.strip(), "an answer that ended by itself stays as it is"


def test_only_a_greedy_answer_in_free_text_is_taken_so():
    warm = Request("1", "", "book", "who?", Sampling(max_tokens=1024, temperature=0.7))
    schema = Request("1", "", "book", "who?", Sampling(max_tokens=1024), schema={"type": "object"})
    for request in (warm, schema):
        reply = read(LOOP, "length", request, usage=ALL)
        assert (reply.text, reply.failure, reply.ended) == (LOOP.strip(), CUT, "length")
    for request in (LABELLED, replace(warm, keep_cut=True)):
        assert read(LOOP, "length", request).ended == "length"


def test_thinking_in_circles_is_a_failure():
    reply = read(f"<think>{LOOP}", "length", usage=ALL)
    assert (reply.text, reply.failure) == ("", THOUGHT)


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory):
    """A model that sees nothing but the last token, so that it must come back to one of them, and that never ends."""
    model = TransformersModel(str(make_tiny_model(tmp_path_factory.mktemp("m") / "tiny", TEXT)))
    with torch.no_grad():
        for layer in model.reader.forward.model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
    model.reader.end_ids = frozenset()
    return model


REQUESTS = [Request(f"{i}", "", TEXT, f"Who met {i}?", Sampling(max_tokens=1024)) for i in range(4)]


@pytest.mark.slow
def test_generation_stops_at_a_loop_and_the_answer_is_the_one_of_all_tokens(forgetful, monkeypatch):
    short = {reply.id: reply for reply in forgetful.answer(REQUESTS)}
    monkeypatch.setattr(shared_prefix, "_LOOK_EVERY", 10**9)
    whole = {reply.id: reply for reply in forgetful.answer(REQUESTS)}
    assert {reply.ended for reply in short.values()} == {"loop"}
    assert {i: reply.text for i, reply in short.items()} == {i: reply.text for i, reply in whole.items()}
    assert all(reply.usage.completion < 500 for reply in short.values())
    assert {reply.usage.completion for reply in whole.values()} == {1024}


def test_it_is_journaled_as_an_answer_and_counted(forgetful, tmp_path):
    requests = REQUESTS[:3]
    ask(tmp_path / ANSWERS, requests, forgetful)
    records = list(read_journal(tmp_path / ANSWERS).values())
    assert [record["ended"] for record in records] == ["loop"] * 3 and all(record["answer"] for record in records)
    usage = token_usage(records)
    assert usage["looped"] == 3 and usage["failed"] == {} and usage["generated"] < 3 * 500
    assert usage_line(usage).endswith(", 3 answers went in circles")
    ask(tmp_path / ANSWERS, requests, forgetful)
    assert len((tmp_path / ANSWERS).read_text().splitlines()) == 3, "nothing is asked again"


def test_the_same_weights_are_not_asked_again_for_what_they_would_cut_again(forgetful, tmp_path):
    short = [replace(request, sampling=Sampling(max_tokens=5)) for request in REQUESTS[:3]]
    warm = [replace(request, sampling=Sampling(max_tokens=5, temperature=1.0)) for request in REQUESTS[:3]]
    for requests, n in ((short, 3), (short, 3), (REQUESTS[:3], 6), (warm, 9), (warm, 12)):
        ask(tmp_path / ANSWERS, requests, forgetful)
        assert len((tmp_path / ANSWERS).read_text().splitlines()) == n
    failures = [record.get("failure") for record in read_journal(tmp_path / ANSWERS).values()]
    assert failures.count("the answer was cut off: it used all 5 tokens it may have") == 6


ANALYSIS = "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>"


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Paris.", "", "Paris."),
        ("<think>It was\nMay.</think>\n\nMay 07", "It was\nMay.", "May 07"),
        ("\n<thinking>a</thinking> b", "a", "b"),
        ("<think>one</think><think>two</think>three", "one\n\ntwo", "three"),
        ("the prompt opened it</think>b", "the prompt opened it", "b"),
        ("<think>cut off in the mid", "cut off in the mid", ""),
        ("<think>a</think><think>cut", "a\n\ncut", ""),
        ("He wrote <think> on the wall.", "", "He wrote <think> on the wall."),
        (f"{ANALYSIS}final<|message|>May 07<|return|>", "Look it up.", "May 07"),
        (f"{ANALYSIS}commentary to=x<|message|>b<|call|>", "Look it up.\n\nb", ""),
        ("<|channel|>analysis a <|channel|>final b", "a", "b"),
        ("analysisLook it up.assistantfinalMay 07", "Look it up.", "May 07"),
        ("analysis of the text: May 07", "", "analysis of the text: May 07"),
    ],
)
def test_reasoning_is_split_off(text, reasoning, answer):
    assert split_reasoning(text) == (reasoning, answer)
