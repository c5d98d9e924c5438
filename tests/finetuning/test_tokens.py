"""Samples against what the templates write and what a prompt is, for templates and tokenizers of many kinds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.finetuning.tokens import SampleTokens
from epbench.models.hf.prompt_tokens import common_prefix
from epbench.models.protocol import Request
from tests.finetuning.tiny_tokenizers import CHATML, ENDS, TEMPLATES, TEXT, tokenizer_with
from tests.refusals import refusal

KINDS = ("bytes", "pieces", "characters")
CHUNK = "CHAPTER I\n\nThe ferry left the harbour at dawn."
USER = f"Read this part of the book.\n\n{CHUNK}"
TALK = [
    {"role": "system", "content": "Be good."},
    {"role": "user", "content": "user"},
    {"role": "assistant", "content": "user"},
    {"role": "user", "content": "The keeper or the ferry?"},
    {"role": "assistant", "content": "The keeper, who said so."},
]
QUESTION = Request("q", "Be good.", CHUNK, "Who lit the lamp?")
LABELLED = Request("q", "Be good.", "", "A or B?", labels=("A", "B"), answer_start="Answer: Segment")
every = pytest.mark.parametrize("template", TEMPLATES)
of_every_kind = pytest.mark.parametrize("kind", KINDS)


def tokens_with(template, kind="bytes", **more):
    return SampleTokens(tokenizer_with(template, kind), **more)


def learned(tokens, sample):
    return tokens.tokenizer.decode([id_ for id_, flag in zip(sample.ids, sample.learned, strict=True) if flag])


def written(tokens, sample):
    return tokens.tokenizer.decode(sample.ids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("chatml", f"<|im_start|>system\nBe good.<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"),
        ("mistral", f"<s>[INST] Be good.\n\n{USER} [/INST]</s>"),
        ("gemma", f"<s><start_of_turn>user\nBe good.\n\n{USER}<end_of_turn>\n"),
        ("unended", f"system: Be good.\nuser: {USER}\n</s>"),
        ("channels", f"<|start|>system<|message|>Be good.<|im_end|><|start|>user<|message|>{USER}<|im_end|></s>"),
        ("none", f"<s>Be good.\n\n{USER}</s>"),
    ],
)
def test_a_reading_is_the_system_and_user_message_with_one_beginning_and_an_end(template, text):
    tokens = tokens_with(template)
    sample = tokens.reading("69087/3", "text", "Be good.", USER, CHUNK, "all")
    assert written(tokens, sample) == text
    assert (sample.id, sample.kind, len(sample.learned)) == ("69087/3", "text", len(sample.ids))
    assert sample.learned == [False] + [True] * (len(sample.ids) - 1)


@of_every_kind
@every
def test_the_text_of_a_reading_is_learned_with_the_token_at_the_end(template, kind):
    tokens = tokens_with(template, kind)
    sample = tokens.reading("1", "text", "Be good.", USER, f"\n{CHUNK} ", "text")
    prompt = tokens.prompts.ids(Request("1", "Be good.", "", USER))
    assert CHUNK[:-1] in tokens.tokenizer.decode(sample.ids[: common_prefix([sample.ids, prompt])])
    assert learned(tokens, sample).split() == (CHUNK + ENDS[template]).split()


@of_every_kind
@every
def test_answers_are_learned_each_with_the_token_that_ends_it(template, kind):
    tokens = tokens_with(template, kind)
    sample = tokens.dialogue("1", TALK, "text")
    first = {"unended": "", "channels": "<|im_end|>"}.get(template, ENDS[template])
    assert "".join(learned(tokens, sample).split()) == f"user{first}Thekeeper,whosaidso.{ENDS[template]}"
    assert tokens.dialogue("1", TALK, "all").ids == sample.ids
    assert tokens.dialogue("1", TALK, "all").learned == [False] + [True] * (len(sample.ids) - 1)


@of_every_kind
@every
@pytest.mark.parametrize("request_", [QUESTION, LABELLED], ids=["free", "labelled"])
def test_a_question_is_the_prompt_and_what_the_model_has_to_write(request_, template, kind):
    tokens = tokens_with(template, kind)
    answer = "A" if request_.labels else "The keeper did."
    sample = tokens.answer("1", request_, answer)
    prompt = tokens.prompts.ids(request_)
    assert sample.ids[: len(prompt)] == prompt
    assert sample.learned == [False] * len(prompt) + [True] * (len(sample.ids) - len(prompt))
    assert (sample.kind, sample.n_learned) == ("question", len(sample.ids) - len(prompt))
    text = tokens.tokenizer.decode(prompt)
    lead = {"empty-reasoning": "<think>\n\n</think>\n\n", "open-reasoning": "\n</think>\n\n"}.get(template, "")
    lead = "<|channel|>final<|message|>" if template == "channels" else lead
    spaced = " " * (template in ("none", "mistral", "late-system"))
    if request_.labels:
        lead, spaced = "", " " * (not text.endswith(" "))
    assert written(tokens, sample) == text + lead + spaced + answer + ENDS[template]


def test_an_answer_that_would_merge_with_the_prompt_stands_by_itself():
    """The prompt ends in `lamp.`, which one token holds together with the blank, or with what comes next."""
    template = "{{ messages[0].content }}{% if messages[1:] %}{{ messages[1].content }}{{ eos_token }}{% endif %}"
    tokens = tokens_with(template)
    sample = tokens.answer("1", Request("1", "", "", "the har"), "bour")
    prompt = tokens.prompts.ids(Request("1", "", "", "the har"))
    assert sample.ids[: len(prompt)] == prompt and written(tokens, sample) == "the harbour</s>"
    assert tokens.tokenizer("the harbour</s>", add_special_tokens=False)["input_ids"] != sample.ids


@every
def test_what_cannot_end_is_refused_and_templates_with_an_end_of_their_own_need_no_other(template):
    tokenizer = tokenizer_with(template)
    tokenizer.eos_token = None
    tokens = SampleTokens(tokenizer)
    if ENDS[template] != "</s>":
        assert written(tokens, tokens.dialogue("1", TALK, "all")).rstrip().endswith(ENDS[template])
    elif template != "channels":  # which spells </s> itself
        said = "sample 1: model : expected a token that ends a text, found none"
        assert refusal(tokens.dialogue, "1", TALK, "all").startswith(said)


def test_a_longer_sample_is_refused_and_never_cut():
    n = len(tokens_with("llama").reading("1", "text", "", USER, CHUNK, "all").ids)
    exact = tokens_with("llama", max_length=n)
    assert len(exact.reading("1", "text", "", USER, CHUNK, "all").ids) == n
    short = tokens_with("llama", max_length=n - 1)
    said = f"sample 1: found {n} tokens, expected at most {n - 1}; nothing is cut: make"
    assert refusal(short.reading, "1", "text", "", USER, CHUNK, "all").startswith(said)
    assert refusal(short.answer, "2", QUESTION, TEXT).startswith("sample 2: found ")
    talk = [TALK[1], {"role": "assistant", "content": TEXT}]
    assert len(short.dialogue("3", talk, "all").ids) > n, "the caller drops it and counts"


@pytest.mark.parametrize(
    ("template", "mark"),
    [("chatml", "<|im_end|>"), ("gemma", "<end_of_turn>"), ("gemma", "<start_of_turn>"), (None, "</s>")],
)
def test_a_special_token_in_a_message_is_refused_with_its_place(template, mark):
    tokens = tokens_with(template)
    text = f"He wrote {mark} there."
    talk = [TALK[1], {"role": "assistant", "content": text}]
    at = f"character 9: expected plain text, found '{mark}', which is a special token of this model"
    assert refusal(tokens.reading, "1", "text", "", text, text, "text") == f"sample 1: message 0 (user), {at}"
    assert refusal(tokens.dialogue, "1", talk, "all") == f"sample 1: message 1 (assistant), {at}"
    assert refusal(tokens.answer, "1", QUESTION, text) == f"sample 1: message 0 (assistant), {at}"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('not today') }}", "model : its chat template cannot write the prompt (not today)"),
        ("{{ bos_token }}", "message 0: the chat template does not write all of it"),
        (CHATML.replace("m.content", "m.content | upper"), "message 0: the chat template changes it ('question')"),
        (CHATML.replace("m.content", "m.content + m.content"), "message 0: the chat template changes it ('question')"),
    ],
)
def test_a_template_that_fails_or_changes_messages_is_refused(template, message):
    assert refusal(tokens_with(template).dialogue, "row 7", TALK[1:3], "all") == f"sample row 7: {message}"


@pytest.mark.parametrize(
    ("talk", "message"),
    [
        (TALK[:2], "expected the roles user, assistant, …, assistant, perhaps after system, found system, user"),
        ([], "expected the roles user, assistant, …, assistant, perhaps after system, found nothing"),
    ],
)
def test_other_turns_are_refused(talk, message):
    assert refusal(tokens_with("llama").dialogue, "1", talk, "all") == f"sample 1: {message}"


@pytest.mark.parametrize("text", ["", " \n", "not in there"])
def test_the_text_must_be_in_the_message(text):
    said = refusal(tokens_with("llama").reading, "1", "text", "", USER, text, "all")
    assert said.startswith("sample 1: expected the text as a part of the user message, found ")


def test_a_tokenizer_without_places_is_refused():
    class Slow:
        is_fast, name_or_path, chat_template = False, "own", None

    with pytest.raises(BadInput, match="^model own: expected a fast tokenizer, .*, found Slow$"):
        SampleTokens(Slow())


WORDS = st.sampled_from([
    "user", "assistant", "model", " ", "\n", "\n\n", "\u00a0", "[INST]", "[/INST]", "</think>", "Answer:", "é", "e\u0301", "🙂",
    "</s>", "<|im_end|>", "<end_of_turn>", "<|eot_id|>", "\ue0000\ue001", "\ud83d", "\x00", "{{ m }}",
])  # fmt: skip
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=8).map("".join)
FILLED = TEXTS.filter(str.strip)
ROUND_TRIP = {
    (template, kind): tokens_with(template, kind) for template in TEMPLATES for kind in ("bytes", "characters")
}


def spells_a_mark(tokens, *texts):
    added = tokens.tokenizer.added_tokens_decoder.values()
    turns = "<start_of_turn>" in (tokens.tokenizer.chat_template or "")
    return any(token.content in text for token in added for text in texts if token.special or turns)


@pytest.mark.slow
@given(st.sampled_from(list(ROUND_TRIP)), TEXTS, FILLED, TEXTS, FILLED)
def test_any_conversation_is_written_whole_and_only_its_answers_are_learned(which, system, question, more, answer):
    tokens = ROUND_TRIP[which]
    contents = [question, answer, more, answer]
    talk = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]
    if system.strip():
        talk.insert(0, {"role": "system", "content": system})
    if spells_a_mark(tokens, *(message["content"] for message in talk)):
        assert "special token" in refusal(tokens.dialogue, "1", talk, "text")
        return
    sample = tokens.dialogue("1", talk, "text")
    shown = answer.strip().replace("\ud83d", "\ufffd")
    whole = tokens.tokenizer.decode(tokens.prompts.begin) + tokens.prompts.conversation(talk)
    assert written(tokens, sample).removesuffix("</s>") == whole.removesuffix("</s>")
    parts = learned(tokens, sample)
    assert parts.count(shown) >= 2 and parts.rstrip().endswith(ENDS[which[0]])
    if which[1] == "characters":
        rest = parts.replace(ENDS[which[0]], "").replace("<|im_end|>", "")
        assert "".join(rest.split()) == "".join((shown * 2).split())


@given(st.sampled_from(list(ROUND_TRIP)), TEXTS, TEXTS, FILLED)
def test_any_text_is_read_whole_and_learned(which, before, after, chunk):
    tokens = ROUND_TRIP[which]
    user = f"{before}\n\n{chunk}\n\n{after}"
    if spells_a_mark(tokens, user):
        assert "special token" in refusal(tokens.reading, "1", "text", "Be good.", user, chunk, "text")
        return
    sample = tokens.reading("1", "text", "Be good.", user, chunk, "text")
    shown = chunk.strip().replace("\ud83d", "\ufffd")
    assert shown in written(tokens, sample) and shown in learned(tokens, sample)
    if which[1] == "characters":
        assert learned(tokens, sample) == shown + ENDS[which[0]]


@given(st.sampled_from(list(ROUND_TRIP)), TEXTS, FILLED)
def test_any_answer_follows_the_prompt(which, question, answer):
    tokens = ROUND_TRIP[which]
    if spells_a_mark(tokens, answer):
        assert "special token" in refusal(tokens.answer, "1", Request("1", "", "", question), answer)
        return
    request = Request("1", "", "", question)
    sample, prompt = tokens.answer("1", request, answer), tokens.prompts.ids(request)
    assert sample.ids[: len(prompt)] == prompt
    shown = answer.strip().replace("\ud83d", "\ufffd")
    assert learned(tokens, sample).endswith(shown + ENDS[which[0]])
