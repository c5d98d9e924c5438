import re

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.memories import between
from epbench.memories.between import HEAD, read_after, told_after, told_after_in, unrelated
from epbench.memories.load import load_memory
from tests.memories.test_session import FACTS, conversations, run_system
from tests.refusals import refusal

READER = Oracle(load_prompts())  # counts words


@pytest.mark.parametrize("n", [30, 1000, 5000])
def test_text_has_the_tokens_and_a_longer_one_begins_with_a_shorter(n):
    text = " ".join(unrelated(n, READER))
    assert n - 20 <= len(text.split()) <= n
    assert " ".join(unrelated(2 * n, READER)).startswith(text)


def test_no_sentence_has_an_answer_in_it():
    words = set(re.findall(r"\w+", " ".join(unrelated(2000, READER)).casefold()))
    assert {"beeswax", "chisel", "crock"} <= words
    answers = ["Beeswax", "a chisel that is blunt", "older workshops", "", "!"]
    text = " ".join(unrelated(2000, READER, answers)).casefold()
    assert "beeswax" not in text and "older workshops" not in text and "chisel" in text


def test_too_few_tokens_and_answers_everywhere_are_refused():
    assert unrelated(0, READER) == []
    assert "at least one sentence, got 3" in refusal(unrelated, 3, READER)
    assert "every sentence of the unrelated text has an answer" in refusal(unrelated, 100, READER, ["is", "and", "the"])


def test_a_context_is_followed_by_the_text_if_there_are_both():
    assert read_after("A book.", ["One.", "Two."]) == f"A book.\n\n{HEAD}\n\nOne. Two."
    assert (read_after("", ["One."]), read_after("A book.", [])) == ("", "A book.")


def test_every_store_is_told_the_text_last(tmp_path):
    real = [*conversations("a", FACTS[:2]), *conversations("b", FACTS[:1])]
    sentences = unrelated(250, READER)
    told = told_after(real, sentences)
    assert told[:3] == real
    assert [(one.store, one.units) for one in told[3:]] == [(store, ()) for store in "aaabbb"][: len(told) - 3]
    for store in "ab":
        mine = [one for one in told if one.store == store]
        stamps = [turn["timestamp"] for one in mine for turn in one.turns]
        assert stamps == sorted(set(stamps)) and len({one.id for one in mine}) == len(mine)
        assert " ".join(one.turns[0]["content"] for one in mine if not one.units) == " ".join(sentences)
    run_system(load_memory("full-context"), tmp_path, told, [])
    assert [(one.id, one.store) for one in told_after_in(tmp_path)] == [(one.id, one.store) for one in told[3:]]
    assert told_after(real, []) == real and between.WORDS == 100
