"""The vLLM backend against a real engine: `make test-vllm`."""

from __future__ import annotations

import json
import logging

import pytest

from epbench.errors import BadInput
from epbench.models.protocol import Request, Sampling
from epbench.models.vllm import VllmModel

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

SYSTEM = "You answer questions about a book."
TOKENS = 8000
SCHEMA = {
    "type": "object",
    "properties": {"found": {"type": "boolean"}, "label": {"enum": ["right", "wrong"]}},
    "required": ["found", "label"],
    "additionalProperties": False,
}


def ask(context, n, *, name="q", max_tokens=12, keep_cut=True, **more):
    """Random weights hardly ever end an answer, so what ran out of tokens is kept."""
    sampling = Sampling(max_tokens=max_tokens)
    question = "Question: On which dates did event {} take place, and who was there?"
    return [
        Request(f"{name}{i}", SYSTEM, context, question.format(i), sampling, keep_cut=keep_cut, **more)
        for i in range(n)
    ]


def answers(model, requests):
    replies = {reply.id: reply for reply in model.answer(requests)}
    assert sorted(replies) == sorted(request.id for request in requests)
    return [replies[request.id] for request in requests]


@pytest.fixture(scope="module")
def eight_thousand_tokens(book, model):
    """So much of the book."""
    tokens, _ = model.count_tokens(Request("", SYSTEM, book, ""))
    return book[: len(book) * TOKENS // tokens]


@pytest.fixture(scope="module")
def fifty(eight_thousand_tokens):
    return ask(eight_thousand_tokens, 50)


@pytest.fixture(scope="module")
def fifty_answers(model, fifty):
    return answers(model, fifty)


def test_a_book_is_computed_once_for_fifty_questions(model, fifty, fifty_answers, caplog):
    assert 0.8 * TOKENS < fifty_answers[0].usage.prompt < 1.2 * TOKENS
    assert fifty_answers[0].usage.cached == 0
    assert all(0 < reply.usage.cached < reply.usage.prompt for reply in fifty_answers[1:])
    with caplog.at_level(logging.INFO, "epbench"):
        list(model.answer(fifty[:2]))
    print(f"hit rate {model.hit_rate:.4f}")
    assert 0.97 <= model.hit_rate < 1
    assert "of the repeated prompt tokens came from the cache" in caplog.text


def test_greedy_text_is_that_of_transformers(model, tiny, fifty, fifty_answers):
    """In float32; where two tokens are as likely as that precision tells apart, either may come."""
    import torch
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    tokenizer = model.prompts.tokenizer
    same = 0
    for request, reply in list(zip(fifty, fifty_answers, strict=True))[:6]:
        ids = torch.tensor([model.prompts.ids(request)])
        made = reference.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
        text = tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
        same += text.strip().rstrip("\ufffd") == reply.text  # vLLM leaves out the head of a character that was cut off
    print(f"{same} of 6 greedy texts are the same")
    assert same >= 5
    assert len({reply.text for reply in fifty_answers}) > 1, "a model that always says the same would prove nothing"


def test_labels_have_the_probabilities_of_the_first_token(model, tiny, eight_thousand_tokens):
    import torch
    from transformers import AutoModelForCausalLM

    requests = ask(eight_thousand_tokens, 3, name="label", labels=("A", "B"))
    replies = answers(model, requests)
    reference = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    tokenizer = model.prompts.tokenizer
    for request, reply in zip(requests, replies, strict=True):
        assert reply.usage.completion == 1
        logits = reference(torch.tensor([model.prompts.ids(request)])).logits[0, -1]
        probabilities = torch.softmax(logits, -1)
        for label in "AB":
            spelled = [id for token, id in tokenizer.get_vocab().items() if token in (label, f"\u0120{label}")]
            assert len(spelled) == 2, "the tiny tokenizer should know both spellings"
            assert reply.probabilities[label] == pytest.approx(sum(probabilities[spelled].tolist()), rel=1e-2, abs=1e-6)
    assert all(reply.usage.cached > 0.9 * reply.usage.prompt for reply in replies[1:])


def test_a_label_that_is_no_token_is_refused(model):
    with pytest.raises(BadInput, match="expected one token"):
        list(model.answer(ask("A story.", 1, labels=("Supercalifragilistic",))))
    assert not model._llm.llm_engine.has_unfinished_requests()


def test_a_schema_is_followed(model, eight_thousand_tokens):
    for reply in answers(model, ask(eight_thousand_tokens, 3, name="schema", max_tokens=200, schema=SCHEMA)):
        answer = json.loads(reply.text)
        assert answer.keys() == {"found", "label"} and answer["label"] in ("right", "wrong")


def test_a_schema_that_the_engine_cannot_follow_fails_alone(model):
    wrong = ask("A story.", 1, name="wrong", schema={"type": "nonsense"})
    failed, answered = answers(model, [*wrong, *ask("A story.", 1)])
    assert failed.failure and "\n" not in failed.failure
    assert answered.failure is None


def test_a_prompt_that_exceeds_the_window_fails_with_both_numbers(model, book):
    long = ask(book * 4, 2, name="long")
    requests = [*long, *ask("A short story.", 1)]
    *failed, answered = answers(model, requests)
    assert [reply.failure for reply in failed] == [
        f"prompt of {model.count_tokens(request)[0]:,} tokens and answer of 12 do not fit in the window of 32,768 tokens"
        for request in long
    ]
    assert answered.failure is None


def test_short_contexts_are_answered_together_and_each_is_computed_once(model):
    contexts = [
        f"Story {i} tells of harbour number {i}, of its pilots, its cranes and of the long rain. " * 4
        for i in range(20)
    ]
    requests = [request for i, context in enumerate(contexts) for request in ask(context, 3, name=f"{i}-")]
    finished = [reply.id for reply in model.answer(requests)]
    assert sorted(finished[:20]) == sorted(f"{i}-0" for i in range(20))
    assert len(set(finished)) == 60


def test_closing_the_iterator_empties_the_engine(model, eight_thousand_tokens):
    replies = model.answer(ask(eight_thousand_tokens, 20, name="closed"))
    next(replies), next(replies)
    replies.close()
    assert not model._llm.llm_engine.has_unfinished_requests()


def test_an_engine_that_cannot_start_is_one_line(model, tiny):
    with pytest.raises(BadInput, match="max_model_len") as error:
        list(VllmModel(str(tiny), max_model_len=10**6).answer(ask("A story.", 1)))
    assert "\n" not in str(error.value)
