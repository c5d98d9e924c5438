"""Where a part of a prompt is among its tokens."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.models.hf.model import TransformersModel
from epbench.models.hf.prompt_tokens import find_parts, tokens_of
from epbench.models.protocol import Request
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
    with pytest.raises(BadInput, match="part 0 of a text"):
        prompts.located(ASKED, [" "])


def test_half_a_surrogate_pair_is_found_as_it_is_written(prompts):
    odd = Request("1", "", "", "Segment A: a \ud83d lamp.")
    ids, (span,) = prompts.located(odd, ["a \ud83d lamp"])
    assert ids == prompts.ids(odd)
    assert prompts.tokenizer.decode([ids[i] for i in span]).strip() == "a \ufffd lamp"


def test_white_space_at_the_ends_of_a_span_is_not_part_of_it():
    text = "a: bc d\n e"
    offsets = [(0, 0), (0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 9), (9, 10)]
    assert tokens_of(text, offsets, (3, 7)) == tokens_of(text, offsets, (2, 9)) == [3, 4, 5, 6]
    assert tokens_of(text, offsets, (3, 10)) == [3, 4, 5, 6, 7, 8]
    assert tokens_of(text, offsets, (4, 7)) == [4, 5, 6]
    assert tokens_of(text, offsets, (2, 3)) == tokens_of(text, offsets, (4, 4)) == []
    assert tokens_of("é", [(0, 1), (0, 1)], (0, 1)) == [0, 1]


@given(st.lists(st.text("ab \n", min_size=1, max_size=4), min_size=1, max_size=12), st.data())
def test_tokens_of_spans_that_follow_one_another(pieces, data):
    """They are those that hold the words, without a token too many; two spans share one where they cut it."""
    text, offsets, end = "".join(pieces), [], 0
    for piece in pieces:
        offsets.append((end, end + len(piece)))
        end += len(piece)
    first, middle, last = sorted(data.draw(st.integers(0, end)) for _ in range(3))
    left, right, whole = (tokens_of(text, offsets, span) for span in ((first, middle), (middle, last), (first, last)))
    assert set(left) | set(right) <= set(whole) and len(set(left) & set(right)) <= 1
    words = text[first:last].strip()
    assert whole == list(range(whole[0], whole[-1] + 1)) if words else whole == []
    if words:
        held, ends = text[offsets[whole[0]][0] : offsets[whole[-1]][1]], (pieces[whole[0]], pieces[whole[-1]])
        assert words in held and (len(whole) == 1 or words not in held.removeprefix(ends[0]).removesuffix(ends[1]))


@given(st.lists(st.text("abc ", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=5))
def test_parts_are_found_in_order(parts):
    text = "|".join(parts)
    found = find_parts(text, parts)
    assert [text[start:end] for start, end in found] == [part.strip() for part in parts]
    assert all(one[1] <= other[0] for one, other in pairwise(found))
