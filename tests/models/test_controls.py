"""Controls of generation: read from a line, part of a model's name, and obeyed by each backend."""

import json
from dataclasses import replace

import pytest
import torch

from epbench.arguments.declaring import parse
from epbench.models.controls import AS_IT_IS, TAKES, Controls, parse_model_args, refuse_controls
from epbench.models.hf.model import TransformersModel
from epbench.models.load import Options, load_model
from epbench.models.openai.wire import chat_body
from epbench.models.protocol import Request, Sampling, name_of, variant_of
from epbench.tulving.dataset.build import Recipe, make_book
from eval_scripts.booksort import Arguments
from tests.models.endpoint_asks import book, key, replies  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.refusals import refusal
from tests.tiny_model import CHAT, make_tiny_model

KEYS = "dtype, revision, adapter, enable_thinking, thinking_budget, reasoning_effort, chat_template_kwargs, extra_body, top_p, top_k, min_p, repetition_penalty, stop, system"  # fmt: skip
SWITCH = CHAT.replace("<|assistant|>\n", "<|assistant|>\n{% if enable_thinking is false %}<think></think>{% endif %}")


@pytest.fixture(scope="module")
def text():
    return make_book(Recipe("short", events=5)).book()


@pytest.fixture(scope="module")
def folder(text, tmp_path_factory):
    return str(make_tiny_model(tmp_path_factory.mktemp("tiny"), text, chat=SWITCH))


@pytest.fixture
def requests(text):
    sampling = Sampling(max_tokens=24)
    return [Request(f"q{i}", "Answer.", text[:1500], f"Who met number {i}?", sampling, keep_cut=True) for i in range(5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trust_remote_code=1", f"x: expected one of the keys {KEYS}, got 'trust_remote_code'"),
        ("revision=a,revision=b", "x: expected each key once, got 'revision' twice"),
        ("adapter=", "x: expected a value after adapter=, got none"),
        ("main", "x: expected KEY=VALUE, with commas between several of them, got 'main'"),
        ("revision=a,", "x: expected KEY=VALUE, with commas between several of them, got ''"),
        ("top_p=1.5", "x: top_p: expected a share above 0 up to 1, got 1.5"),
        ("top_k=many", "x: top_k: expected a whole number or null, found 'many'"),
        ("enable_thinking=1", "x: enable_thinking: expected true or false or null, found 1"),
        ('stop=["a",3]', "x: stop, field '[1]': expected a text, found 3"),
        ("extra_body=3", "x: extra_body: expected an object, found 3"),
    ],
)
def test_what_cannot_be_read_is_one_line(text, message):
    assert refusal(parse_model_args, text, "x") == message


def test_known_keys_are_read():
    assert parse_model_args("", "x") == ({}, AS_IT_IS)
    variant, controls = parse_model_args("dtype=float32, revision=refs/pr/3,adapter=a=b,top_p=0.8", "x")
    assert variant == {"dtype": "float32", "revision": "refs/pr/3", "adapter": "a=b"}
    assert controls == Controls(top_p=0.8)
    line = 'enable_thinking=False,stop=["\\n\\n", "a,b"],extra_body={"a":[1,2],"b":"}"},system=Be 3 words, top_k=20'
    assert parse_model_args(line, "x")[1].given == {
        "enable_thinking": False, "stop": ["\n\n", "a,b"], "extra_body": {"a": [1, 2], "b": "}"}, "top_k": 20,
        "system": "Be 3 words",
    }  # fmt: skip
    assert parse_model_args("stop=END,reasoning_effort=1", "x")[1] == Controls(stop=["END"], reasoning_effort="1")


def test_a_file_says_the_same_as_a_mapping(tmp_path):
    written = (
        "model-args:\n  enable_thinking: false\n  top_p: 0.8\n  stop: ['\\n', \"a,b\\n\"]\n  extra_body: {a: {b: 1}}\n"
    )
    (tmp_path / "run.yaml").write_text(written)
    words = "--dataset d --memory none --model openai:m --out o --config".split()
    args = parse(Arguments, "", [*words, str(tmp_path / "run.yaml")])
    expected = {"enable_thinking": False, "top_p": 0.8, "stop": ["\\n", "a,b\n"], "extra_body": {"a": {"b": 1}}}
    assert parse_model_args(args.backend.model_args, "x")[1].given == expected


def test_controls_are_part_of_the_name_and_so_of_every_key(folder):
    plain = load_model(f"hf:{folder}")
    thinking = load_model(f"hf:{folder}", Options(controls=Controls(top_k=3, top_p=0.5)))
    assert thinking.name == f"{plain.name}?top_k=3&top_p=0.5"
    assert thinking.identity.removeprefix(thinking.name) == plain.identity.removeprefix(plain.name)
    assert name_of(thinking.identity) == thinking.name
    assert variant_of(thinking) == {"model_args": {"top_k": 3, "top_p": 0.5}} and variant_of(plain) == {}
    long = Controls(system="You are somebody else, and you know it.").mark
    assert long.startswith("?system=") and len(long) == 20  # a hash, as the name of a file may hold it
    assert long != Controls(system="You are somebody else, and you know it!").mark


@pytest.mark.parametrize("kind", ["hf", "vllm", "openai", "inspect", "lexical"])
def test_what_a_backend_lacks_is_refused_by_name(kind):
    values = {"thinking_budget": 9, "extra_body": {"a": 1}, "min_p": 0.1, "enable_thinking": True}
    for name, value in values.items():
        if name in TAKES.get(kind, ()):
            refuse_controls(f"{kind}:m", Controls(**{name: value}))
        else:
            said = refusal(refuse_controls, f"{kind}:m", Controls(**{name: value}))
            assert f"there is no control {name} for it, got" in said


def test_a_template_gets_its_switch_and_a_system_message_comes_first(folder, requests):
    model = TransformersModel(folder, controls=Controls(enable_thinking=False, system="Be brief."))
    prompt = model.prompts.text(requests[0])
    assert prompt.endswith("<|assistant|>\n<think></think>") and "<|system|>\nBe brief.\n\nAnswer.<|end|>" in prompt
    plain = TransformersModel(folder)
    assert model.count_tokens(requests[0])[0] > plain.count_tokens(requests[0])[0]


@pytest.mark.slow
def test_a_penalty_is_that_of_generate(folder, requests):
    model = TransformersModel(folder, controls=Controls(repetition_penalty=1.3))
    causal = model.reader.forward.model
    for request in requests[:2]:
        given = torch.tensor([model.prompts.ids(request)])
        out = causal.generate(given, max_new_tokens=24, do_sample=False, repetition_penalty=1.3, pad_token_id=0)
        expected = model.prompts.tokenizer.decode(out[0, given.shape[1] :], skip_special_tokens=True).strip()
        assert [reply.text for reply in model.answer([request])] == [expected]
    together = {reply.id: reply.text for reply in model.answer(requests)}
    assert together == {reply.id: reply.text for request in requests for reply in model.answer([request])}


@pytest.mark.slow
def test_draws_from_the_most_probable_token_alone_are_greedy(folder, requests):
    warm = [replace(request, sampling=Sampling(24, temperature=2.0)) for request in requests]
    greedy = {reply.id: reply.text for reply in TransformersModel(folder).answer(requests)}
    for controls in (Controls(top_k=1), Controls(top_p=1e-6), Controls(min_p=1.0)):
        assert {reply.id: reply.text for reply in TransformersModel(folder, controls=controls).answer(warm)} == greedy
    assert {reply.id: reply.text for reply in TransformersModel(folder).answer(warm)} != greedy


def test_an_answer_ends_before_a_text_at_which_it_stops(folder, requests):
    full = {reply.id: reply.text for reply in TransformersModel(folder).answer(requests)}
    word = full["q0"].split()[1]
    model = TransformersModel(folder, controls=Controls(stop=["never there", word]))
    for reply in model.answer([replace(request, keep_cut=False) for request in requests]):
        if word in full[reply.id]:
            assert reply.text == full[reply.id].partition(word)[0].strip()
            assert reply.failure is None and reply.ended == "stop"
        else:
            assert reply.failure == "the answer was cut off: it used all 24 tokens it may have"


def test_an_endpoint_is_sent_what_was_asked_for():
    controls = Controls(
        enable_thinking=False, reasoning_effort="low", top_p=0.8, top_k=20, stop=["\n"], system="Be brief.",
        chat_template_kwargs={"a": 1}, extra_body={"provider": {"order": ["x"]}, "seed": 7},
    )  # fmt: skip
    usage = {"completion_tokens_details": {"reasoning_tokens": 3}}
    with LoopbackEndpoint(more=lambda body: {"usage": usage}) as endpoint:
        got = replies(endpoint, book(1), controls=controls)
    assert got["the book-0"].failure is None
    assert endpoint.calls[0].body == {
        **chat_body(book(1)[0], "tiny"), "seed": 7, "reasoning_effort": "low", "top_p": 0.8, "top_k": 20, "stop": ["\n"],
        "chat_template_kwargs": {"enable_thinking": False, "a": 1}, "provider": {"order": ["x"]},
        "messages": [
            {"role": "system", "content": "Be brief.\n\nYou read."},
            {"role": "user", "content": book(1)[0].user},
        ],
    }  # fmt: skip
    assert got["the book-0"].usage.thinking == 3
    assert json.loads(json.dumps(controls.given)) == controls.given


def test_a_provider_of_inspect_is_asked_for_it():
    from epbench.models.inspect_ai import asked_for

    controls = Controls(
        thinking_budget=512, reasoning_effort="low", top_p=0.8, top_k=20, stop=["\n"], extra_body={"a": 1}
    )
    config = asked_for(Request("1", "", "", "Who?", Sampling(9)), controls=controls)
    found = (config.reasoning_tokens, config.reasoning_effort, config.top_p, config.top_k, config.stop_seqs)
    assert found == (512, "low", 0.8, 20, ["\n"]) and config.extra_body == {"a": 1} and config.max_tokens == 9
    odd = Controls(reasoning_effort="a lot")
    assert "reasoning_effort" in refusal(asked_for, Request("1", "", "", "Who?"), controls=odd)
