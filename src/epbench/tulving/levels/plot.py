"""The plans of all chapters of a book at level 2 or higher.

Level 2 tells a scene, and level 3 adds what distracts from it. Posters and first reports, rumours and invitations give a date, a
location, a person or a kind of event that turned out otherwise; which is which takes the sentence, not the position of the names.
What stands for a kind of event (`the evening of spoken verse`) is explained in another chapter, and each chapter mentions other
dates, people, locations and kinds of event in passing. Levels 4 (`people`, `places`, `days`) and 5 (`entangled`) are added
between these steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from epbench.draws import RandomStream
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.banks import CONTRASTS, asides_name, combined, references_bank, sentences_in
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
from epbench.tulving.levels.people import add_acquaintances, add_people, finish_offices
from epbench.tulving.levels.places import Meetings, add_places
from epbench.tulving.levels.plan import (
    BY_ANOTHER,
    LEVELS,
    MOST_LINKS,
    SIDE_CHARACTER_WEIGHTS,
    SIDE_CHARACTERS,
    Book,
    ChapterPlan,
    Evidence,
    Fixed,
    Spot,
    paragraphs_by_fact,
)
from epbench.tulving.scenes.patterns import pronouns_of
from epbench.tulving.scenes.scene_files import TONES, distinct_paraphrases, load_scenery
from epbench.tulving.scenes.spread import Spread, write_freshly

ANONYMOUS = 0.75
"""How often, from level 3 on, a main character is called by a word that is not the first name."""
FEWEST_CHAPTERS = 100
"""A shorter book may repeat the words of a reference as often as one of so many chapters."""


def draw_plans(
    level: int, events: Sequence[Event], layouts: Sequence[Layout], universe: Universe, *, seed: int = 0
) -> list[ChapterPlan]:
    """Draw the plan of every chapter, given its event and its layout; BadInput if the universe has no scenes."""
    scenery, spread, plans = load_scenery(universe), Spread(len(events)), list[ChapterPlan]()
    for event in events:
        spread.add(event.detail)
    streams = [RandomStream("level plan", seed, number) for number in range(len(events))]
    phrases: Mapping[str, Sequence[str]] = defaultdict(list)
    if level >= 3 and len({event.content for event in events}) > 1:  # another chapter tells what a phrase stands for
        phrases = distinct_paraphrases(universe, scenery)
    book = Book(events, layouts, plans, universe, scenery, spread, Spread(max(len(events), FEWEST_CHAPTERS)), seed)
    for number, event in enumerate(events):
        plans.append(_plan(book, level, number, phrases[event.content], streams[number]))
    corrected_in_vain = _add_references(book, level) if level >= 4 else []
    if level >= 3:
        add_glosses(book)
        add_withdrawals(book, corrected_in_vain)
        add_contrasts(book, TONES[universe.kind])
        for number, draws in enumerate(streams):
            add_asides(book, number, draws)
    return plans


def _add_references(book: Book, level: int) -> list[Vain]:
    """Add what other chapters tell, where each step builds on those before; return what `add_withdrawals` corrects in vain."""
    holdings, acquainted = add_people(book, level)
    meetings = Meetings(book)
    corrected_in_vain = []
    if level >= 5:
        pairs = add_witnesses(book)
        add_disputes(book, pairs)
        add_retellings(book, pairs)
        add_corrections(book)
        corrected_in_vain = choose_withdrawals(book)
    add_places(book, level, meetings)
    add_days(book, level)
    finish_offices(book, holdings)
    add_acquaintances(book, meetings, acquainted)
    if level >= 5:
        add_outcomes(book)
    return corrected_in_vain


def _plan(book: Book, level: int, number: int, phrases: Sequence[str], draws: RandomStream) -> ChapterPlan:
    """The plan of a chapter that tells every fact itself, but for the kind of event, which a phrase may stand for."""
    event, varied = book.events[number], level >= 3
    deeds = _deeds(book, event, draws)
    lowered = " ".join([event.detail, *deeds]).lower()
    phrases = [words for words in phrases if book.spread.allows(words)]
    named = not phrases or draws.unit() < 1 - LEVELS[level].elsewhere["content"] or event.content.lower() in lowered
    what = f"the {event.content}" if named else draws.pick(phrases)
    book.spread.add(what)
    heroes = references_bank()["heroes"]
    hero = f"the {draws.pick(heroes)}" if varied and draws.unit() < ANONYMOUS else event.first_name
    paragraphs = paragraphs_by_fact(book.layouts[number])
    return ChapterPlan(
        level=level,
        when=f"on {draws.pick(FORMATS)(event.time) if varied else event.day}",
        where=f"{book.scenery.places[event.space].preposition} {event.space}",
        name=event.entity,
        hero=hero,
        what=what,
        named=named,
        deeds=deeds,
        evidence={fact: Evidence(0, frozenset([Spot(number, paragraph)])) for fact, paragraph in paragraphs.items()},
    )


def _deeds(book: Book, event: Event, draws: RandomStream) -> tuple[str, ...]:
    """What the side characters do: other details of the same kind of event."""
    n = draws.weighted(SIDE_CHARACTERS, SIDE_CHARACTER_WEIGHTS)
    details = book.universe.details[event.content]
    taken = draws.sample([one for one in details if one != event.detail and book.spread.allows(one)], n)
    for detail in taken:
        book.spread.add(detail)
    return tuple(detail[0].lower() + detail[1:] for detail in taken)


PARTS = {
    "time": ("date", "time", "when"),
    "space": ("location", "space", "where"),
    "name": ("entity", "entity", "name"),
    "event": ("content", "content", "what"),
}
"""The fact that each part of the bank tells, what it is called in an event, and in a plan the words that tell it."""
NEAR = 8
"""From among how many chapters before and after it in time the date comes that is not so."""
MOST_TAKEN = 0.02
"""In which share of chapters the same words stand for what is not so at most; at least three may have them."""
CANDIDATES = 20
CONTRASTED = 0.95
"""How often a fact is told beside a value that is not so."""


def add_glosses(book: Book) -> None:
    """Explain in other chapters what each kind of event is called where it is not named, and deny what it might mean.

    There may be further names (`the Velvet Affair`) between what a chapter calls the event and its kind.
    """
    draws = RandomStream("glosses", book.seed)
    names = combined("{} {}", ("traits", "affairs"), RandomStream("names", book.seed))
    called: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, plan in enumerate(book.plans):
        if not plan.named:
            called[book.events[number].content][plan.what].append(number)
    contents = list(dict.fromkeys(event.content for event in book.events))

    # Denials are of the same sort as explanations, and as many: else their numbers would tell what a word means
    names_of = {
        content: list(islice(names, sum(draws.unit() < BY_ANOTHER for _ in range(MOST_LINKS - 1))))
        for content in called
    }
    for content, phrases in called.items():
        kinds = [other for other in contents if other != content]
        denied = {content: kinds}
        chain = [content, *names_of[content]]
        for name in names_of[content]:
            denied[name] = [one for other in kinds for one in names_of.get(other, ())] or kinds
        told = [
            _explain(book, f"the {name}", meaning, content, draws.pick(denied[meaning]), draws)
            for meaning, name in pairwise(chain)
        ]
        for words, numbers in phrases.items():
            spots = [_explain(book, words, chain[-1], content, draws.pick(denied[chain[-1]]), draws), *told]
            for number in numbers:
                own_spot = Spot(number, book.layouts[number].content)
                book.plans[number].evidence["content"] = Evidence(len(spots), frozenset([own_spot, *spots]))


def _explain(book: Book, words: str, meaning: str, content: str, wrong: str, draws: RandomStream) -> Spot:
    """Say in a chapter of another kind of event what words mean, and in one what they do not."""
    host = book.host(draws, lambda other: book.events[other].content != content)
    assert host is not None, "an event is only unnamed in a book with several kinds of event"
    book.deny("not_gloss", {"phrase": words}, "content", wrong, content, draws)
    return book.tell(host, "gloss", {"phrase": words, "meaning": meaning}, draws)


def add_contrasts(book: Book, tone: str) -> None:
    """Tell most facts in one sentence with a value that is not so, in the words that another chapter has for its own."""
    draws = RandomStream("contrasts", book.seed)
    bank = sentences_in(f"contrasts_{tone}")
    taken, most = Counter[str](), max(3, int(MOST_TAKEN * len(book.events)))
    by_day = book.by_day()
    for at, number in enumerate(by_day):
        near = [*by_day[max(0, at - NEAR) : at], *by_day[at + 1 : at + 1 + NEAR]]
        plan, paragraphs = book.plans[number], paragraphs_by_fact(book.layouts[number])
        for part, (fact, _, words_in_plan) in PARTS.items():
            if fact in plan.firm or draws.unit() >= CONTRASTED:
                continue
            others = _others(book, number, part, near if part == "time" else by_day, draws)
            instead = next((words for words in others if taken[words] < most), None)
            if instead is not None:
                taken[instead] += 1
                book.phrases.add(instead)
                known = {CONTRASTS[part]: getattr(plan, words_in_plan), "instead": instead}
                text = write_freshly(bank[part], known, book.spread, draws)
                plan.fixed.append(Fixed(paragraphs[fact], text))
                plan.contrasted.add(fact)


def _others(book: Book, number: int, part: str, others: Sequence[int], draws: RandomStream) -> Iterator[str]:
    """What is not so: a person with the same first name if there is one; else the words of other chapters for other values."""
    event, plan, (fact, value_of, words_of) = book.events[number], book.plans[number], PARTS[part]
    if part == "name" and plan.name == event.entity:
        namesakes = [name for name in book.universe.entities if name.split()[0] == event.first_name]
        yield from draws.sample([name for name in namesakes if name != event.entity], 1)
    for other in islice(draws.one_by_one(others), CANDIDATES):
        if part == "name" and pronouns_of(book.events[other].first_name) is not pronouns_of(event.first_name):
            continue  # `she` or `he` would tell who it is
        anchor = book.plans[other].refers.get(fact)
        if anchor == number or (anchor is not None and part != "time" and book.events[anchor].time >= event.time):
            continue  # `two days before` itself, or where they `had first met` later
        words: str = getattr(book.plans[other], words_of)
        differs = getattr(book.events[other], value_of) != getattr(event, value_of) and words != getattr(plan, words_of)
        if differs and fact not in book.plans[other].firm and book.phrases.allows(words):
            yield words


ASIDES = (1, 2)
"""How many of each kind a chapter has."""


def add_asides(book: Book, number: int, draws: RandomStream) -> None:
    """Have a chapter mention one or two other values of each kind, each in a paragraph of its own choice.

    Dates, locations, people and kinds of event are drawn from the whole universe, so that also those that no event of the
    book has are mentioned somewhere.
    """
    event, universe, spread = book.events[number], book.universe, book.spread
    values: Mapping[str, tuple[Sequence[object], object]] = {
        "date": (universe.times, event.time),
        "space": (universe.spaces, event.space),
        "entity": (universe.entities, event.entity),
        "content": (universe.contents, event.content),
    }
    for mention, sentences in sentences_in(asides_name(universe)).items():
        listed, actual = values[mention]
        n, pool = draws.pick(ASIDES), list(sentences)
        for value in [value for value in draws.sample(listed, n + 1) if value != actual][:n]:
            written = draws.pick(FORMATS)(value) if mention == "date" else str(value)  # type: ignore[arg-type]
            known = {mention: written}
            text = spread.freshest(pool, known.__getitem__, draws)
            assert text is not None, "there are more sentences than asides"
            book.plans[number].fixed.append(Fixed(draws.between(1, book.layouts[number].n_paragraphs), text))
