"""What chapters mention in passing: in each universe in its own words, and known to the solver as such."""

import re

import pytest

from epbench.draws import RandomStream
from epbench.tulving.events.universe import load_universe
from epbench.tulving.levels.banks import asides_name, sentences_in
from epbench.tulving.scenes.patterns import expansions, longest_literal
from epbench.tulving.scenes.scene_files import MOST_LITERAL_WORDS
from epbench.tulving.solving.frames import frames_of
from tests.tulving.levels.books import UNIVERSES
from tests.tulving.own_universe import write_universe

VALUES = {
    "date": "the fourth of October, 2025",
    "space": "Rope Loft",
    "entity": "Jonas Weir",
    "content": "Knot Contest",
}


@pytest.mark.parametrize("name", UNIVERSES)
def test_every_aside_is_one_sentence_that_the_solver_knows(name):
    universe = load_universe(name)
    frames = frames_of(universe)
    for mention, sentences in sentences_in(asides_name(universe)).items():
        for sentence in sentences:
            assert sentence.slots == {mention} and expansions(sentence.pattern) >= 8
            assert longest_literal(sentence.pattern) <= MOST_LITERAL_WORDS
            for seed in range(20):
                text = sentence.write(RandomStream(seed), {mention: VALUES[mention]}.__getitem__)
                assert text.count(VALUES[mention]) == 1 and not re.search(r"[.!?]\W? [A-Z\"]", text)
                found = (label for (_, label), frame in frames.fitting(text) if frame.regex.fullmatch(text))
                assert next(found, None) == "aside", text


def test_asides_are_of_each_kind_and_universes_share_none():
    banks = [sentences_in(asides_name(load_universe(name))) for name in UNIVERSES]
    for mention in VALUES:
        texts = [sentence.text for bank in banks for sentence in bank[mention]]
        assert len(set(texts)) == len(texts) >= 24 * len(UNIVERSES)


def test_a_universe_of_ones_own_has_the_asides_of_the_default_one(tmp_path):
    own = load_universe(str(write_universe(tmp_path / "ward")), 12)
    assert asides_name(own) == asides_name(load_universe())
