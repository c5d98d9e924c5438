"""An answer that begins as the request says, for every kind of tokenizer and template, and probabilities after it."""

import json
from dataclasses import replace

import pytest
import torch

from epbench.models.hf import prompt_tokens
from epbench.models.hf.checkpoint import label_ids
from epbench.models.hf.model import TransformersModel
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.models.openai.wire import chat_body
from epbench.models.protocol import Request, Sampling
from tests.finetuning.tiny_tokenizers import tokenizer_with
from tests.models.hf.tiny_models import alone
from tests.tiny_model import CHAT, CHAT_WITHOUT_SYSTEM, make_tiny_model

START = "Answer: Segment"
TEXT = "Segment A: the ferry. Segment B: the lamp. Answer: Segment A. Answer: Segment B. " * 60
REQUEST = Request("q", "You read.", TEXT[:900], "A or B?", labels=("A", "B"), answer_start=START)
OPENING = CHAT.replace("<|assistant|>\n{% endif %}", "<|assistant|>\n<think>\n{% endif %}")
CHANNELS = "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}<|start|>assistant"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", TEXT)


@pytest.fixture
def tokenizer(folder):
    return TransformersModel(str(folder)).prompts.tokenizer


def templated(tokenizer, template):
    tokenizer.chat_template = template
    return PromptTokens(tokenizer)


@pytest.mark.parametrize(
    ("template", "start", "end"),
    [
        (CHAT, START, "<|assistant|>\nAnswer: Segment"),
        (CHAT, "", "<|assistant|>\n"),
        (CHAT_WITHOUT_SYSTEM, START, "<|assistant|>\nAnswer: Segment"),
        (OPENING, START, "<|assistant|>\n<think>\n\n</think>\n\nAnswer: Segment"),  # what it opens is closed
        (CHANNELS, START, "<|start|>assistant<|channel|>final<|message|>Answer: Segment"),
        (None, START, "A or B?\nAnswer: Segment"),
        (None, "Segment", "A or B?\nAnswer: Segment"),
        (None, "", "A or B?\nAnswer:"),
    ],
)
def test_the_prompt_ends_with_the_start(tokenizer, template, start, end):
    prompts, request = templated(tokenizer, template), replace(REQUEST, answer_start=start)
    assert prompts.text(request).endswith(end)
    ids = prompts.ids(request)
    assert template == CHANNELS or (ids[0] == tokenizer.bos_token_id and ids.count(tokenizer.bos_token_id) == 1)
    assert prompts.opening(request) == ""


def test_the_template_is_rendered_once_for_the_opening_of_a_reply_that_grows(tokenizer, monkeypatch):
    rendered, render = [], prompt_tokens.render
    monkeypatch.setattr(prompt_tokens, "render", lambda *args, **how: rendered.append(args) or render(*args, **how))
    prompts, asked = templated(tokenizer, OPENING), replace(REQUEST, system="", answer_start="")
    assert [prompts.opening(asked) for _ in range(5)] == ["<think>\n"] * 5 and len(rendered) == 1
    prompts.opening(replace(asked, question="B or C?"))
    assert len(rendered) == 2


@pytest.mark.parametrize("template", [CHAT, None])
def test_a_space_that_is_a_token_of_its_own_stands_in_the_prompt(template):
    prompts = templated(tokenizer_with(None, "characters"), template)
    assert prompts.text(REQUEST).endswith("Answer: Segment ")
    free = replace(REQUEST, labels=())
    assert prompts.text(free).endswith("Answer: Segment"), "an answer that is written brings its space itself"
    assert prompts.tokenizer.decode(prompts.ids(REQUEST)[-1]) == " "
    assert [prompts.tokenizer.decode(id_) for id_ in label_ids(prompts.tokenizer, "A")] == ["A"]


@pytest.mark.parametrize("template", [CHAT, None])
def test_probabilities_are_those_behind_the_start_over_all_spellings(folder, template):
    model = TransformersModel(str(folder))
    model.prompts.tokenizer.chat_template = template
    others = [replace(REQUEST, id=f"q{i}", question=f"Which of them is number {i}, A or B?") for i in range(4)]
    replies = {reply.id: reply for reply in model.answer(others)}
    causal, tokenizer = model.reader.forward.model, model.prompts.tokenizer
    for request in others:
        ids = model.prompts.ids(request)
        assert tokenizer.decode(ids).endswith(START)
        with torch.inference_mode():
            probabilities = causal(torch.tensor([ids])).logits[0, -1].softmax(-1)
        reply = replies[request.id]
        for label in "AB":
            spelled = [tokenizer.convert_tokens_to_ids(token) for token in (label, f"Ġ{label}")]
            assert len(set(spelled)) == 2 and tokenizer.unk_token_id not in spelled
            assert reply.probabilities[label] == pytest.approx(float(probabilities[spelled].sum()), rel=1e-3, abs=1e-7)
        assert reply.text == tokenizer.decode([int(probabilities.argmax())]).strip()
    assert sorted(reply.usage.cached > 0 for reply in replies.values()) == [False, True, True, True]


def test_text_goes_on_from_the_start(folder):
    model = TransformersModel(str(folder))
    free = replace(REQUEST, labels=(), sampling=Sampling(max_tokens=6), keep_cut=True)
    (reply,) = model.answer([free])
    expected = alone(model.reader.forward.model, model.prompts.ids(free), 6)
    assert reply.text == model.prompts.tokenizer.decode(expected, skip_special_tokens=True).strip()


def test_an_endpoint_gets_the_prompt_without_the_start():
    body = chat_body(replace(REQUEST, sampling=Sampling(max_tokens=25)), "tiny")
    assert START not in json.dumps(body["messages"][-1]["content"][900:]) and body["max_tokens"] == 25
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
