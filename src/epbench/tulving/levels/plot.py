"""The plans of all chapters of a book at level 2 or higher."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.events.events import Event, Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.banks import references_bank
from epbench.tulving.levels.book import Book
from epbench.tulving.levels.contrasts import add_contrasts, add_glosses
from epbench.tulving.levels.days import add_days
from epbench.tulving.levels.entangled import (
    Vain,
    add_corrections,
    add_disputes,
    add_outcomes,
    add_retellings,
    add_withdrawals,
    add_witnesses,
    choose_withdrawals,
)
from epbench.tulving.levels.people import add_people, finish_offices
from epbench.tulving.levels.places import add_places
from epbench.tulving.levels.plan import (
    SIDE_CHARACTER_WEIGHTS,
    SIDE_CHARACTERS,
    ChapterPlan,
    Evidence,
    Fixed,
    Spot,
    check_level,
)
from epbench.tulving.scenes.patterns import Sentence
from epbench.tulving.scenes.scene_files import (
    TALES,
    TONES,
    Scenery,
    distinct_paraphrases,
    load_scenery,
    read_sentence,
)
from epbench.tulving.scenes.spread import Spread

NAMED, ANONYMOUS = 0.5, 0.75
"""How often, from level 3 on, the kind of event is named, and a main character called by a word that is not the first name."""


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
    phrases: Mapping[str, Sequence[str]] = defaultdict(list)
    if (
        level >= 3 and len({event.content for event in events}) > 1
    ):  # what a phrase stands for is told in another chapter
        phrases = distinct_paraphrases(universe, scenery)
    plans = [
        _plan(level, number, event, layouts[number], universe, scenery, spread, streams[number], phrases[event.content])
        for number, event in enumerate(events)
    ]
    book = Book(events, layouts, plans, universe, scenery, spread, Spread(max(len(events), FEWEST_CHAPTERS)), seed)
    if level >= 4:
        corrected_in_vain = _add_references(book, level)
    if level >= 3:
        add_glosses(book)
        if level >= 5:
            add_withdrawals(book, corrected_in_vain)
        add_contrasts(book, TONES[universe.kind])
        for event, layout, plan, draws in zip(events, layouts, plans, streams, strict=True):
            plan.fixed += draw_asides(event, layout, universe, spread, draws)
    return plans


def _add_references(book: Book, level: int) -> list[Vain]:
    """What other chapters tell: each step builds on what those before it have settled.

    Returns:
        The chapters whose dates will be corrected in vain.
    """
    holdings = add_people(book, level)
    corrected_in_vain = []
    if level >= 5:
        pairs = add_witnesses(book)
        add_disputes(book, pairs)
        add_retellings(book, pairs)
        add_corrections(book)
        corrected_in_vain = choose_withdrawals(book)
    add_places(book, level)
    add_days(book, level)
    finish_offices(book, holdings)
    if level >= 5:
        add_outcomes(book)
    return corrected_in_vain


def _plan(
    level: int,
    number: int,
    event: Event,
    layout: Layout,
    universe: Universe,
    scenery: Scenery,
    spread: Spread,
    draws: RandomStream,
    phrases: Sequence[str],
) -> ChapterPlan:
    """The plan of a chapter that tells every fact itself, but for the kind of event, which a phrase may stand for."""
    deeds = _deeds(event, universe, spread, draws)
    lowered = " ".join([event.detail, *deeds]).lower()
    varied = level >= 3
    phrases = [words for words in phrases if spread.allows(words)]
    named = not phrases or draws.unit() < NAMED or event.content.lower() in lowered
    what = f"the {event.content}" if named else draws.pick(phrases)
    spread.add(what)
    heroes = references_bank()["heroes"]
    hero = f"the {draws.pick(heroes)}" if varied and draws.unit() < ANONYMOUS else event.first_name
    spots = {"location": layout.space, "date": layout.time, "entity": layout.entity, "content": layout.content}
    return ChapterPlan(
        level=level,
        when=f"on {draws.pick(FORMATS)(event.time) if varied else event.day}",
        where=f"{scenery.places[event.space].preposition} {event.space}",
        name=event.entity,
        hero=hero,
        what=what,
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


FEWEST_CHAPTERS = 100
"""A shorter book may repeat the words of a reference as often as one of so many chapters."""
MENTIONS = ("date", "space", "entity", "content")
NUMBERS = (1, 2)
"""How many of each kind a chapter has."""
FEWEST = 24


@cache
def asides_bank(universe: str) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences that mention something in passing.

    Args:
        universe: The name of a universe of the package; others share the sentences of the default one.

    Returns:
        The sentences by what they mention.
    """
    path = TALES / f"asides_{universe}.json"
    path = path if path.is_file() else TALES / "asides.json"
    listed = read_typed(path, dict[str, list[str]])
    bank = {}
    for mention in MENTIONS:
        where = f"{path}, {mention}"
        sentences = [read_sentence(where, text, frozenset([mention])).sentence for text in listed[mention]]
        if len(sentences) < FEWEST or any(f"{{{mention}}}" not in sentence.text for sentence in sentences):
            raise BadInput(f"{where}: expected {FEWEST} sentences or more, each with the slot {{{mention}}}")
        bank[mention] = sentences
    return bank


def asides_of(universe: Universe) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences that mention something in passing in the books of a universe."""
    return asides_bank(asides_name(universe))


def asides_name(universe: Universe) -> str:
    """The name of the sentences that a universe has for what is mentioned in passing; "" for one of the user's own."""
    return "" if universe.files_hash else universe.name


def draw_asides(event: Event, layout: Layout, universe: Universe, spread: Spread, draws: RandomStream) -> list[Fixed]:
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
    for mention, sentences in asides_of(universe).items():
        pool, actual = values[mention]
        n = draws.pick(NUMBERS)
        others = [value for value in draws.sample(pool, n + 1) if value != actual][:n]
        pool = list(sentences)
        for value in others:
            written = draws.pick(FORMATS)(value) if mention == "date" else str(value)  # type: ignore[arg-type]
            known = {mention: written}
            text = spread.freshest(pool, lambda told, known=known: spread.draft(told, draws, known.__getitem__), draws)  # type: ignore[misc]
            assert text is not None, "there are more sentences than asides"
            asides.append(Fixed(draws.between(1, layout.n_paragraphs), text))
    return asides
