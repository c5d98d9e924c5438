"""The plans of all chapters of a book at level 2 or higher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.events.events import Event, Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import (
    SIDE_CHARACTER_WEIGHTS,
    SIDE_CHARACTERS,
    ChapterPlan,
    Evidence,
    Fixed,
    Spot,
    check_level,
)
from epbench.tulving.levels.references import Book
from epbench.tulving.scenes.patterns import Spread, pronouns_of
from epbench.tulving.scenes.scene_files import (
    SCENE_SLOTS,
    TALES,
    Scenery,
    Told,
    load_scenery,
    paraphrases,
    read_sentence,
)

NAMED = 0.5
"""How often the kind of event is named at level 3 and higher."""


def draw_plans(
    level: int, events: Sequence[Event], layouts: Sequence[Layout], universe: Universe, *, seed: int = 0
) -> list[ChapterPlan]:
    """Draw the plan of every chapter.

    Args:
        level: 2 or higher.
        events: The event of each chapter.
        layouts: Its layout.
        universe: The universe of the events.
        seed: The same seed gives the same plans on any machine.

    Raises:
        BadInput: There is no such level, or the universe has no scenes.
    """
    check_level(level)
    scenery = load_scenery(universe)
    spread = Spread(len(events))
    for event in events:
        spread.add(event.detail)
    streams = [RandomStream("level plan", seed, number) for number in range(len(events))]
    plans = [
        _plan(level, number, event, layouts[number], universe, scenery, spread, streams[number])
        for number, event in enumerate(events)
    ]
    book = Book(events, layouts, plans, universe, spread, seed)
    if level >= 4:
        book.add_nicknames()
        if level >= 5:
            book.add_accounts()
        book.add_meetings()
        if level >= 5:
            book.add_corrections()
        book.add_relations()
    if level >= 5:
        book.add_outcomes()
    if level >= 3:
        for event, layout, plan, draws in zip(events, layouts, plans, streams, strict=True):
            plan.fixed += draw_asides(event, layout, plan.hero, universe, spread, draws)
    return plans


def _plan(
    level: int,
    number: int,
    event: Event,
    layout: Layout,
    universe: Universe,
    scenery: Scenery,
    spread: Spread,
    draws: RandomStream,
) -> ChapterPlan:
    """The plan of a chapter that tells every fact itself."""
    deeds = _deeds(event, universe, spread, draws)
    lowered = " ".join([event.detail, *deeds]).lower()
    varied = level >= 3
    phrases = [words for words in paraphrases(event.content, universe, scenery) if spread.allows(words)]
    named = not varied or draws.unit() < NAMED or event.content.lower() in lowered or not phrases
    phrase = f"the {event.content}" if named else draws.pick(phrases)
    spread.add(phrase)
    spots = {"location": layout.space, "date": layout.time, "entity": layout.entity, "content": layout.content}
    return ChapterPlan(
        level=level,
        when=f"on {draws.pick(FORMATS)(event.time) if varied else event.day}",
        where=f"{scenery.places[event.space].preposition} {event.space}",
        name=event.entity,
        hero=event.first_name,
        what=phrase,
        named=named,
        deeds=deeds,
        evidence={fact: Evidence(0, frozenset([Spot(number, paragraph)])) for fact, paragraph in spots.items()},
    )


def _deeds(event: Event, universe: Universe, spread: Spread, draws: RandomStream) -> tuple[str, ...]:
    """What the side characters do: other details of the same kind of event."""
    n = draws.weighted(SIDE_CHARACTERS, SIDE_CHARACTER_WEIGHTS)
    others = [detail for detail in universe.details[event.content] if detail != event.detail and spread.allows(detail)]
    taken = draws.sample(others, n)
    for detail in taken:
        spread.add(detail)
    return tuple(detail[0].lower() + detail[1:] for detail in taken)


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
        entries = [read_sentence(f"{path}, {mention}", text, frozenset(_SLOTS)) for text in listed[mention]]
        if len(entries) < FEWEST or any(set(MENTIONS) & entry.sentence.slots != {mention} for entry in entries):
            raise BadInput(
                f"{path}, {mention}: expected {FEWEST} sentences or more, each with the slot {{{mention}}} alone"
            )
        bank[mention] = entries
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
        pool, actual = values[mention]
        n = draws.pick(NUMBERS)
        others = [value for value in draws.sample(pool, n + 1) if value != actual][:n]
        waiting = iter(draws.sample(sentences, len(sentences)))
        for value in others:
            written = draws.pick(FORMATS)(value) if mention == "date" else str(value)  # type: ignore[arg-type]
            text = next(
                sentence
                for sentence in (tell_of(event, hero, entry, {mention: written}, draws) for entry in waiting)
                if spread.allows(sentence)
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
