"""Where a part of a prompt is among its tokens."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.models.hf.model import TransformersModel
from epbench.models.hf.prompt_tokens import find_parts, tokens_of
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


def test_a_token_belongs_to_a_span_if_it_has_a_character_of_it():
    offsets = [(0, 0), (0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 9), (9, 10)]
    assert tokens_of(offsets, (3, 7)) == [3, 4, 5, 6] and tokens_of(offsets, (4, 7)) == [4, 5, 6]
    assert tokens_of(offsets, (3, 10)) == [3, 4, 5, 6, 7, 8] and tokens_of(offsets, (4, 4)) == []
    assert tokens_of([(0, 1), (0, 1)], (0, 1)) == [0, 1]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.data())
def test_tokens_of_spans_that_follow_one_another(lengths, data):
    """They are those that hold the characters, without a token too many; two spans share one where they cut it."""
    offsets = list(pairwise(accumulate(lengths, initial=0)))
    first, middle, last = sorted(data.draw(st.integers(0, sum(lengths))) for _ in range(3))
    left, right, whole = (tokens_of(offsets, span) for span in ((first, middle), (middle, last), (first, last)))
    assert set(left) | set(right) == set(whole) and len(set(left) & set(right)) <= 1
    if first == last:
        assert whole == []
    else:
        assert whole == list(range(whole[0], whole[-1] + 1))
        assert offsets[whole[0]][0] <= first < offsets[whole[0]][1]
        assert offsets[whole[-1]][0] < last <= offsets[whole[-1]][1]


@given(st.lists(st.text("abc ", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=5))
def test_parts_are_found_in_order(parts):
    text = "|".join(parts)
    found = find_parts(text, parts)
    assert [text[start:end] for start, end in found] == [part.strip() for part in parts]
    assert all(one[1] <= other[0] for one, other in pairwise(found))
