import pytest

from epbench.booksort.context.remembered import Told, conversation_starts, find, rarity_of
from epbench.booksort.dataset.load import load_books
from epbench.errors import BadInput
from tests.booksort.made_texts import paragraphs


def test_conversations_end_with_the_sentence_that_is_nearest_to_their_length():
    text = "One two three. Four five six seven. Eight nine. " * 20
    assert conversation_starts(text, 9) == list(range(0, 180, 9))
    assert conversation_starts(text, 10) == list(range(0, 180, 9))
    assert conversation_starts(text, 1) == [i + more for i in range(0, 180, 9) for more in (0, 3, 7)]
    assert conversation_starts(text, 500) == [0] == conversation_starts("no end of a sentence " * 90, 50)


def test_conversations_hold_the_whole_text_once():
    text = "\n\n".join(paragraphs(3000))
    starts = conversation_starts(text, 100)
    lengths = [end - start for start, end in zip(starts, [*starts[1:], len(text.split())], strict=True)]
    assert sum(lengths) == len(text.split()) and min(lengths) >= 75 and max(lengths) <= 150


@pytest.mark.parametrize("whole", [False, True])
def test_the_needed_conversations_hold_the_segments(dataset, pairs, whole):
    told = Told(pairs, load_books(dataset) if whole else [], 40)
    assert len(told.texts) == (2 if whole else 24)
    for pair in pairs:
        needed = " ".join(told.needed(pair))
        assert all(segment in needed for segment in pair.segments)
        assert find(pair.segments, told.needed(pair), told.rarity[told.store_of(pair)]).in_order
        for part, segment in zip(told.parts(pair), pair.segments, strict=True):
            texts = told.texts[told.store_of(pair)]
            assert segment in " ".join(texts[i] for i in part)
            assert all(segment not in " ".join(texts[i] for i in part if i != left) for left in part)


def test_a_length_below_one_and_an_excerpt_of_another_book_are_refused(dataset, pairs):
    with pytest.raises(BadInput, match="--conversation-words: expected at least 1, got 0"):
        Told(pairs, [], 0)
    first, second = load_books(dataset)
    swapped = [type(first)(first.book_idx, first.title, second.text), second]
    with pytest.raises(BadInput, match="an excerpt is not in book 101"):
        Told(pairs, swapped, 40).parts(pairs[0])


FIRST = "The miller's daughter hid seven copper coins beneath the old granary floor before dawn."
SECOND = "A stranger in a torn green coat asked the ferryman for passage across the river."
OTHER = "Rain fell on the village all night and nobody went out except the baker and his dog."
RARITY = rarity_of([FIRST, SECOND, OTHER, "The dog of the baker slept in the granary."])


@pytest.mark.parametrize(
    ("memories", "both", "in_order", "verbatim"),
    [
        ([FIRST, SECOND], True, True, True),
        ([SECOND, FIRST], True, False, True),
        ([f"{OTHER} {FIRST.upper()} {OTHER} {SECOND}"], True, True, True),
        ([FIRST[:55], SECOND, FIRST[55:]], True, True, True),  # where the larger part stands
        ([FIRST[:30], SECOND], False, False, False),
        ([], False, False, False),
        (["Seven coins of copper: the miller's daughter hid them under the granary's floor.", SECOND], True, True, False),
        (["Someone in a torn green coat, a stranger, wanted passage from the ferryman.", FIRST], True, False, False),
        (["The daughter of a miller has money.", "Someone wants to cross."], False, False, False),
    ],
)  # fmt: skip
def test_segments_are_found_word_for_word_or_by_their_rare_words(memories, both, in_order, verbatim):
    found = find((FIRST, SECOND), memories, RARITY)
    assert (found.both, found.in_order, found.verbatim) == (both, in_order, verbatim)
