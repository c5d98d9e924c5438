import logging
from dataclasses import replace

import pytest
import torch

from epbench.models.hf.model import TransformersModel
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.models.protocol import Request, Sampling
from epbench.tulving.dataset.build import Recipe, make_book
from tests.models.hf import tiny_models
from tests.refusals import refusal
from tests.tiny_model import CHAT_WITHOUT_SYSTEM, make_tiny_model

SYSTEM = "You answer from the text."


@pytest.fixture(scope="module")
def made():
    return make_book(Recipe("short"))


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), made.book())


@pytest.fixture(scope="module")
def plain_folder(made, tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("plain"), made.book(), chat=False)


@pytest.fixture(scope="module")
def questions(made):
    texts = list(dict.fromkeys(q.question for q in made.questions))
    return [texts[i * len(texts) // 24] for i in range(24)]


@pytest.fixture(scope="module")
def requests(made, questions):
    book = made.book()[:4000]
    sampling = Sampling(max_tokens=12)  # random weights hardly ever end an answer
    return [Request(f"q{i}", SYSTEM, book, q, sampling, keep_cut=True) for i, q in enumerate(questions)]


def alone(model, request):
    """The plain path: the tokenizer on the whole prompt, the prompt by itself through `generate`."""
    tokenizer, causal = model.prompts.tokenizer, model.reader.forward.model
    if tokenizer.chat_template:
        messages = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    else:
        ids = tokenizer(f"{request.system}\n\n{request.user}\nAnswer:")["input_ids"]
    new = tiny_models.alone(causal, ids, request.sampling.max_tokens)
    return ids, tokenizer.decode(new, skip_special_tokens=True).strip()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["folder", "plain_folder"])
def test_answers_are_those_of_the_plain_path(which, requests, request):
    path = request.getfixturevalue(which)
    model = TransformersModel(str(path))
    assert model.name == f"hf:{path}"
    replies = {reply.id: reply for reply in model.answer(requests)}
    expected = {r.id: alone(model, r) for r in requests}
    assert {i: reply.text for i, reply in replies.items()} == {i: text for i, (_, text) in expected.items()}
    assert len({reply.text for reply in replies.values()}) >= 10
    for r in requests:
        assert model.prompts.ids(r) == expected[r.id][0]
        assert replies[r.id].key == r.key(model.identity)
        assert replies[r.id].usage.prompt == len(expected[r.id][0]) == model.count_tokens(r)[0]
        assert 0 < replies[r.id].usage.completion <= 12
    shared = model.count_tokens(requests[0])[1]
    cached = sorted(reply.usage.cached for reply in replies.values())
    assert cached[0] == 0 and len(set(cached[1:])) == 1 and shared <= cached[1] <= shared + 20


@pytest.mark.slow
def test_draws_are_the_same_for_the_same_seed(folder, requests):
    model = TransformersModel(str(folder))

    def texts(seed, order=1, repeat=0):
        warm = [replace(r, sampling=Sampling(8, 1.0, seed), repeat=repeat) for r in requests[:8]]
        return {reply.id: reply.text for reply in model.answer(warm[::order])}

    assert texts(1) == texts(1, order=-1)
    assert sum(texts(1)[i] != text for i, text in texts(2).items()) >= 6
    assert sum(texts(1)[i] != text for i, text in texts(1, repeat=1).items()) >= 6


def test_what_does_not_fit_is_refused_with_both_numbers_and_the_rest_is_answered(made, folder, requests, tmp_path):
    n = TransformersModel(str(folder)).count_tokens(requests[0])[0]
    model = TransformersModel(str(make_tiny_model(tmp_path / "m", made.book(), window=n + 8)))
    fits, long = (replace(requests[0], id=f"{m}", sampling=Sampling(max_tokens=m)) for m in (8, 9))
    replies = {reply.id: reply for reply in model.answer([fits, long, replace(long, id="label", labels=("A",))])}
    assert model.window() == n + 8 and replies["8"].failure is replies["label"].failure is None
    why = f"prompt of {n:,} tokens and answer of 9 do not fit in the window of {n + 8:,} tokens"
    assert (replies["9"].failure, replies["9"].text) == (why, "")


def test_tokens_are_counted_without_weights(folder, requests, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    model = TransformersModel(str(tmp_path))
    n, shared = model.count_tokens(requests[0])
    assert 0 < shared < n < model.window() == 32768
    assert "cannot read its weights" in refusal(next, model.answer(requests))


@pytest.mark.parametrize("path", ["nowhere/at/all", "no-such-model", "./missing", "owner/no such name"])
def test_a_missing_model_is_one_line(path):
    model = TransformersModel(path)
    for call in (model.window, lambda: model.count_tokens(Request("1", "", "", "q"))):
        assert f"model {path}" in refusal(call)


@pytest.mark.parametrize(("setting", "match"), [({"dtype": "float7"}, "float7"), ({"device": "cuda:99"}, "cuda:99")])
def test_a_missing_device_or_dtype_is_one_line(folder, requests, setting, match):
    assert match in refusal(next, TransformersModel(str(folder), **setting).answer(requests[:1]))


@pytest.mark.parametrize(("native", "dtype"), [(True, torch.bfloat16), (False, torch.float16)])
def test_a_gpu_computes_in_bfloat16_only_if_it_has_it(folder, monkeypatch, native, dtype):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: native or including_emulation)
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, device: self)  # there may be no GPU
    assert TransformersModel(str(folder), device="cuda").reader.forward.model.dtype == dtype


@pytest.mark.parametrize("native", [True, False])
def test_bfloat16_on_a_cpu_that_lacks_it_is_no_secret(folder, requests, monkeypatch, caplog, native):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: native)
    with caplog.at_level(logging.WARNING, "epbench"):
        list(TransformersModel(str(folder), dtype="bfloat16", device="cpu").answer(requests[:1]))
    assert ("in float32 it computes several times as fast" in caplog.text) is not native


@pytest.mark.parametrize(
    "template", [CHAT_WITHOUT_SYSTEM, "{% for m in messages if m.role == 'user' %}U:{{ m.content }}{% endfor %}"]
)
def test_system_text_goes_where_the_template_lets_it(made, requests, tmp_path, template, caplog):
    model = TransformersModel(str(make_tiny_model(tmp_path / "m", made.book(), chat=template)))
    with caplog.at_level(logging.INFO, "epbench"):
        text = model.prompts.text(requests[0])
    assert f"{SYSTEM}\n\n{requests[0].user}" in text
    assert "goes into the user message" in caplog.text
    assert next(model.answer(requests[:1])).failure is None


def test_reasoning_is_kept_apart(made, requests, tmp_path, monkeypatch):
    opened = "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n"
    model = TransformersModel(str(make_tiny_model(tmp_path / "m", made.book(), chat=opened)))
    monkeypatch.setattr(type(model.prompts.tokenizer), "decode", lambda *_, **__: "Look.</think>May 07<|end|>")
    reply = next(model.answer(requests[:1]))
    assert (reply.reasoning, reply.text) == ("Look.", "May 07")
    assert reply.usage.thinking == model.prompts.length("Look.") > 0
    monkeypatch.setattr(type(model.prompts.tokenizer), "decode", lambda *_, **__: "Look and look")
    reply = next(model.answer(requests[:1]))
    assert (reply.reasoning, reply.text) == ("Look and look", "")
    assert reply.failure == "the model used all 12 tokens for thinking and gave no answer" and reply.ended == "length"


def test_an_answer_that_ran_out_of_tokens_is_a_failure_that_keeps_its_text(folder, requests):
    model = TransformersModel(str(folder))
    kept = {reply.id: reply for reply in model.answer(requests)}
    strict = {reply.id: reply for reply in model.answer([replace(r, keep_cut=False) for r in requests])}
    cut = [id_ for id_, reply in kept.items() if reply.ended == "length"]
    assert cut and all(kept[id_].failure is None for id_ in cut)
    for id_ in cut:
        assert strict[id_].failure == "the answer was cut off: it used all 12 tokens it may have"
        assert (strict[id_].text, strict[id_].ended, strict[id_].usage.completion) == (kept[id_].text, "length", 12)
    assert all(strict[id_].text == reply.text for id_, reply in kept.items())


def _tokenizers(text):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    how = {"special_tokens": ["<unk>"], "show_progress": False}
    for pre in (pre_tokenizers.Metaspace(), pre_tokenizers.Metaspace(split=False), pre_tokenizers.ByteLevel()):
        raw = Tokenizer(models.BPE(unk_token="<unk>"))
        raw.pre_tokenizer = pre
        raw.normalizer = normalizers.NFKC()
        corpus = text.split(".") if getattr(pre, "split", True) is False else [text]
        raw.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=900, **how))
        yield PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>")
    raw = Tokenizer(models.Unigram())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    raw.train_from_iterator([text], trainers.UnigramTrainer(vocab_size=600, unk_token="<unk>", **how))
    yield PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>")


@pytest.mark.slow
def test_tokens_of_a_joined_prompt_are_those_of_the_whole_text(made, questions):
    text = made.book()[:30_000]
    odd = ["é", "", "  spaces  ", "a" * 900, "\n\n\n", "4", "—" * 50, "日本語", *questions]
    for tokenizer in _tokenizers(text):
        prompts, joined = PromptTokens(tokenizer), 0
        for question in odd:
            request = Request("1", SYSTEM, text[: 12_000 + len(question)] if question == "4" else text, question)
            whole = tokenizer(prompts.text(request), add_special_tokens=False)["input_ids"]
            assert prompts.ids(request) == whole, question
            joined += prompts._last[1].text != prompts.text(request)
        assert joined >= len(odd) - 4
