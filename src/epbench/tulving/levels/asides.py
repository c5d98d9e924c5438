"""Sentences that mention another date, location, person or kind of event in passing, as nobody would take for the chapter's.

The sentences are in `data/tales/asides.json`, by what they mention; the mention is the slot of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import Fixed
from epbench.tulving.scenes.patterns import Spread
from epbench.tulving.scenes.people import pronouns_of
from epbench.tulving.scenes.scene_files import SCENE_SLOTS, Told, read_sentence
from epbench.tulving.scenes.tale_files import TALES

MENTIONS = ("date", "space", "entity", "content")
NUMBERS = (1, 2)
"""How many of each kind a chapter has."""
FEWEST = 24

_SLOTS = (SCENE_SLOTS - {"thing", "feature", "people"}) | set(MENTIONS)


@cache
def asides_bank() -> Mapping[str, Sequence[Told]]:
    """Return the sentences by what they mention."""
    path = TALES / "asides.json"
    listed = read_typed(path, dict[str, list[str]])
    bank = {}
    for mention in MENTIONS:
        told = [read_sentence(f"{path}, {mention}", text, frozenset(_SLOTS)) for text in listed[mention]]
        if len(told) < FEWEST or any(set(MENTIONS) & one.sentence.slots != {mention} for one in told):
            raise BadInput(
                f"{path}, {mention}: expected {FEWEST} sentences or more, each with the slot {{{mention}}} alone"
            )
        bank[mention] = told
    return bank


def draw_asides(
    event: Event, layout: Layout, hero: str, universe: Universe, spread: Spread, draws: RandomStream
) -> list[Fixed]:
    """Draw the asides of a chapter: one or two of each kind, each in a paragraph of its own choice.

    Dates, locations, people and kinds of event are drawn from the whole universe, so that also those that no event of the
    book has are mentioned somewhere.
    """
    values: Mapping[str, tuple[Sequence[object], object]] = {
        "date": (universe.times, event.time),
        "space": (universe.spaces, event.space),
        "entity": (universe.entities, event.entity),
        "content": (universe.contents, event.content),
    }
    asides = []
    for mention, sentences in asides_bank().items():
        pool, own = values[mention]
        n = draws.pick(NUMBERS)
        others = [value for value in draws.sample(pool, n + 1) if value != own][:n]
        waiting = iter(draws.sample(sentences, len(sentences)))
        for value in others:
            written = draws.pick(FORMATS)(value) if mention == "date" else str(value)  # type: ignore[arg-type]
            text = next(
                told
                for told in (tell_of(event, hero, one, {mention: written}, draws) for one in waiting)
                if spread.allows(told)
            )
            spread.add(text)
            asides.append(Fixed(draws.between(1, layout.n_paragraphs), text))
    return asides


def tell_of(event: Event, hero: str, told: Told, known: Mapping[str, str], draws: RandomStream) -> str:
    """Return a sentence of a plan: it calls the main character by the chapter's word, and then by a pronoun."""
    words = pronouns_of(event.first_name)
    people = {"him": words.object, "his": words.possessive, "himself": words.reflexive}
    subjects = iter([hero])
    return told.sentence.write(
        draws, lambda slot: next(subjects, words.subject) if slot == "who" else {**people, **known}[slot]
    )
