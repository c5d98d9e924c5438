"""Level 5: what an event changes for later ones, dates that another chapter corrects, and two accounts that disagree.

The main character of a chapter may be barred from its location for good, lose a thing, or find it again in a later event; a
chapter may give a wrong date that another one puts right; and two witnesses may disagree on a location, with one rule in the
book for whom to believe. The sentences are in `data/tales/outcomes.json`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from epbench.draws import RandomStream
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import ChapterPlan, Evidence, Fixed, Outcome, Spot
from epbench.tulving.levels.references import content_anchor
from epbench.tulving.scenes.patterns import Sentence, Spread, write_freshly
from epbench.tulving.scenes.tale_files import TALES

CORRECTED, DISPUTED, LOSES, FINDS, BARRED = 0.15, 0.2, 0.5, 0.5, 0.3
"""How often a date is corrected, a location disputed, something lost, found again, and somebody barred, where they can be."""


@cache
def outcomes_bank() -> Mapping[str, Sequence[str]]:
    """Return the sentences and phrases, and the words for things and witnesses, by what they are for."""
    return read_typed(TALES / "outcomes.json", dict[str, list[str]])


@cache
def outcome_patterns(part: str) -> Sequence[Sentence]:
    """Return the sentences or phrases of a part of the bank."""
    return [Sentence(text) for text in outcomes_bank()[part]]


def add_accounts(
    layouts: Sequence[Layout],
    events: Sequence[Event],
    plans: Sequence[ChapterPlan],
    universe: Universe,
    spread: Spread,
    seed: int,
) -> None:
    """Have two witnesses disagree on the location of some chapters; the first chapter says whom to believe."""
    draws = RandomStream("accounts", seed)
    trusted, doubted = draws.sample(outcomes_bank()["witnesses"], 2)
    rule = Spot(0, draws.between(1, layouts[0].n_paragraphs))
    told = write_freshly(outcome_patterns("rule"), {"trusted": trusted, "doubted": doubted}, spread, draws)
    plans[0].fixed.append(Fixed(rule.paragraph, told))
    for number, (plan, event) in enumerate(zip(plans, events, strict=True)):
        if number == 0 or draws.unit() >= DISPUTED:
            continue
        other = next(space for space in draws.sample(universe.spaces, 2) if space != event.space)
        own = Spot(number, layouts[number].space)
        plan.where = _phrase("claim", {"where": plan.where, "witness": trusted}, draws)
        against = write_freshly(outcome_patterns("counterclaim"), {"witness": doubted, "space": other}, spread, draws)
        plan.fixed.append(Fixed(draws.between(1, layouts[number].n_paragraphs), against))
        plan.evidence["location"] = Evidence(1, frozenset([own, rule]))


def add_corrections(
    events: Sequence[Event],
    layouts: Sequence[Layout],
    plans: Sequence[ChapterPlan],
    universe: Universe,
    spread: Spread,
    seed: int,
) -> None:
    """Give some chapters a wrong date, and put it right in another chapter."""
    draws = RandomStream("corrections", seed)
    times_held = Counter((event.content, event.space) for event in events)
    for number, (event, plan) in enumerate(zip(events, plans, strict=True)):
        found = content_anchor(number, event, layouts[number], plan, times_held, draws)
        if len(events) < 2 or found is None or draws.unit() >= CORRECTED:
            continue
        words, spots = found
        elsewhere = next(other for other in draws.sample(range(len(events)), 2) if other != number)
        wrong = next(day for day in draws.sample(universe.times, 2) if day != event.time)
        spot = Spot(elsewhere, draws.between(1, layouts[elsewhere].n_paragraphs))
        told = write_freshly(
            outcome_patterns("correction"), {"anchor": words, "date": draws.pick(FORMATS)(event.time)}, spread, draws
        )
        plans[elsewhere].fixed.append(Fixed(spot.paragraph, told))
        plan.when = f"on {draws.pick(FORMATS)(wrong)}"
        plan.evidence["date"] = Evidence(1, frozenset([spot, *spots]))


def add_outcomes(
    events: Sequence[Event], layouts: Sequence[Layout], plans: Sequence[ChapterPlan], spread: Spread, seed: int
) -> None:
    """Have main characters lose things and find some of them again, and bar them from where they never come back to."""
    draws = RandomStream("outcomes", seed)
    things = _things(draws)
    chapters: dict[str, list[int]] = defaultdict(list)
    for number in sorted(range(len(events)), key=lambda number: (events[number].time, number)):
        chapters[events[number].entity].append(number)
    for numbers in chapters.values():
        last_visit = {events[number].space: number for number in numbers}
        for place, number in enumerate(numbers):
            later = numbers[place + 1 :]
            if draws.unit() < LOSES and (thing := next(things, None)):
                _happens("lost", number, thing, layouts, plans, spread, draws)
                if later and draws.unit() < FINDS:
                    _happens("found", draws.pick(later), thing, layouts, plans, spread, draws)
            if last_visit[events[number].space] == number and draws.unit() < BARRED:
                _happens("barred", number, events[number].space, layouts, plans, spread, draws)


def _happens(
    kind: str,
    number: int,
    thing: str,
    layouts: Sequence[Layout],
    plans: Sequence[ChapterPlan],
    spread: Spread,
    draws: RandomStream,
) -> None:
    spot = Spot(number, draws.between(1, layouts[number].n_paragraphs))
    told = write_freshly(outcome_patterns(kind), {"hero": plans[number].hero, "object": thing}, spread, draws)
    plans[number].fixed.append(Fixed(spot.paragraph, told))
    plans[number].outcomes.append(Outcome(kind, thing, spot))


def _things(draws: RandomStream) -> Iterator[str]:
    """All things that can be lost, in random order, such as `the silver whistle with a crack in it`."""
    bank = outcomes_bank()
    triples = list(product(bank["made_of"], bank["owned"], bank["marked"]))
    for made_of, owned, marked in draws.sample(triples, len(triples)):
        yield f"the {made_of} {owned} {marked}"


def _phrase(part: str, known: Mapping[str, str], draws: RandomStream) -> str:
    return draws.pick(outcome_patterns(part)).write_phrase(draws, known.__getitem__)
