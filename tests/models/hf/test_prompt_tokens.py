"""Where a part of a prompt is among its tokens."""

import pytest

from epbench.errors import BadInput
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request
from tests.refusals import refusal
from tests.tiny_model import CHAT_WITHOUT_SYSTEM, make_tiny_model

TEXT = "The lamp at the ferry went out. A lamp in the harbour did not, said the captain: wait for winter. " * 30
PARTS = ["the lamp at the ferry", "a lamp é😀 in the\nharbour "]
ASKED = Request("1", "You read.", "", f"Segment A: {PARTS[0]}\nSegment B: {PARTS[1]}\n\nWhich is first, the lamp?")


@pytest.fixture(scope="module", params=[True, False, CHAT_WITHOUT_SYSTEM], ids=["chat", "plain", "no system"])
def prompts(request, tmp_path_factory):
    return TransformersModel(str(make_tiny_model(tmp_path_factory.mktemp("tiny"), TEXT, chat=request.param))).prompts


def test_parts_of_a_prompt_are_found_among_its_tokens(prompts):
    ids, spans = prompts.located(ASKED, PARTS)
    assert ids == prompts.ids(ASKED)
    for part, span in zip(PARTS, spans, strict=True):
        assert span == list(range(span[0], span[-1] + 1))
        shown = prompts.tokenizer.decode([ids[i] for i in span])
        assert shown.strip() == part.strip()
        assert prompts.tokenizer.decode(ids[: span[0]]).rstrip().endswith((" A:", " B:"))
    assert prompts.located(ASKED, []) == (ids, [])


def test_what_is_not_in_the_prompt_is_refused(prompts):
    with pytest.raises(BadInput, match=r"part 1 of a text: expected it behind character \d+ of \d+, got 'the lamp at"):
        prompts.located(ASKED, PARTS[::-1])
    assert "part 0 of a text" in refusal(prompts.located, ASKED, [" "])


def test_half_a_surrogate_pair_is_found_as_it_is_written(prompts):
    odd = Request("1", "", "", "Segment A: a \ud83d lamp.")
    ids, (span,) = prompts.located(odd, ["a \ud83d lamp"])
    assert ids == prompts.ids(odd)
    assert prompts.tokenizer.decode([ids[i] for i in span]).strip() == "a \ufffd lamp"
