"""Level 4: dates, locations and people that a chapter tells only by reference to another chapter.

A nickname is given to a person in one chapter and used in others; a location is where somebody had first met the florists
of Marrow Lane; a date is so many days after an event of another chapter. A reference may lead to a reference, over at most
three links in all, and each is solved by the book alone. The sentences and phrases are in `data/tales/references.json`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

from epbench.draws import RandomStream
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import WEEKDAYS
from epbench.tulving.events.events import Event
from epbench.tulving.events.layouts import Layout
from epbench.tulving.levels.plan import ChapterPlan, Evidence, Fixed, Spot
from epbench.tulving.scenes.patterns import Sentence, Spread, write_freshly
from epbench.tulving.scenes.tale_files import TALES

MOST_LINKS = 3
BY_NICKNAME, BY_MEETING, BY_RELATION = 0.6, 0.6, 0.75
"""How often a person, a location and a date are told by reference where they can be."""
MOST_DAYS = 60
"""How many days lie between two events at most if one dates the other."""
MOST_USES = 0.02
"""The largest share of chapters that refer to the same one, for a date and for a location; at least one may."""
TRIES = 24
"""How many chapters are looked at for one that can date another."""


@cache
def references_bank() -> Mapping[str, Sequence[str]]:
    """Return the phrases, and the words for nicknames and groups, by what they are for."""
    return read_typed(TALES / "references.json", dict[str, list[str]])


@cache
def patterns_of(part: str) -> Sequence[Sentence]:
    """Return the sentences or phrases of a part of the bank."""
    return [Sentence(text) for text in references_bank()[part]]


def nicknames(draws: RandomStream) -> list[str]:
    """Return all nicknames in random order, such as `the Quiet Heron`."""
    bank = references_bank()
    pairs = list(product(bank["traits"], bank["creatures"]))
    return [f"the {trait} {creature}" for trait, creature in draws.sample(pairs, len(pairs))]


def groups(draws: RandomStream, n: int) -> list[str]:
    """Return at most n different groups of people, such as `the florists of Marrow Lane`, in random order."""
    bank = references_bank()
    triples = list(product(bank["groups"], bank["lanes"], bank["roads"]))
    return [f"the {people} of {lane} {road}" for people, lane, road in draws.sample(triples, n)]


def add_nicknames(
    events: Sequence[Event], layouts: Sequence[Layout], plans: Sequence[ChapterPlan], spread: Spread, seed: int
) -> None:
    """Give people with several chapters a nickname in one of these, and call them by it alone in most of the others."""
    draws = RandomStream("nicknames", seed)
    chapters: dict[str, list[int]] = defaultdict(list)
    for number, event in enumerate(events):
        chapters[event.entity].append(number)
    often = [numbers for numbers in chapters.values() if len(numbers) > 1]
    for numbers, nickname in zip(often, nicknames(draws), strict=False):
        anchor, *others = draws.sample(numbers, len(numbers))
        entity, paragraph = events[anchor].entity, layouts[anchor].entity
        told = write_freshly(patterns_of("nickname"), {"entity": entity, "nickname": nickname}, spread, draws)
        plans[anchor].fixed.append(Fixed(paragraph, told))
        for number in others:
            if draws.unit() < BY_NICKNAME:
                plan, own = plans[number], Spot(number, layouts[number].entity)
                plan.name, plan.hero = nickname, f"the {nickname.split()[-1]}"
                plan.evidence["entity"] = Evidence(1, frozenset([own, Spot(anchor, paragraph)]))


def add_meetings(
    events: Sequence[Event], layouts: Sequence[Layout], plans: Sequence[ChapterPlan], spread: Spread, seed: int
) -> None:
    """Tell locations by whom the main character of another chapter had met there."""
    draws = RandomStream("meetings", seed)
    supply = iter(groups(draws, len(events)))
    uses, most_uses = Counter[int](), _most_uses(events)
    earlier: dict[str, list[int]] = defaultdict(list)
    met: dict[int, str] = {}
    for number in draws.sample(range(len(events)), len(events)):
        space, plan = events[number].space, plans[number]
        told_by_itself = plan.evidence["location"].links == 0
        anchors = [
            one
            for one in earlier[space]
            if plans[one].evidence["location"].links < MOST_LINKS and uses[one] < most_uses
        ]
        if anchors and told_by_itself and draws.unit() < BY_MEETING:
            anchor = draws.pick(anchors)
            uses[anchor] += 1
            if anchor not in met:
                group = next(supply, None)
                if group is None:
                    continue
                met[anchor] = group
                spot = Spot(anchor, draws.between(1, layouts[anchor].n_paragraphs))
                known = {"hero": plans[anchor].hero, "group": group}
                told = write_freshly(patterns_of("meeting"), known, spread, draws)
                plans[anchor].fixed.append(Fixed(spot.paragraph, told))
                plans[anchor].met = (group, spot)
            plan.where = _met_at(plans[anchor], draws)
            plan.evidence["location"] = _through(plans[anchor], "location", Spot(number, layouts[number].space), [])
        earlier[space].append(number)


def _most_uses(events: Sequence[Event]) -> int:
    return max(1, int(MOST_USES * len(events)))


def _met_at(anchor: ChapterPlan, draws: RandomStream) -> str:
    assert anchor.met is not None, "somebody is met in the anchor's chapter"
    known = {"hero": anchor.hero, "group": anchor.met[0]}
    return draws.pick(patterns_of("where")).write_phrase(draws, known.__getitem__)


def _through(anchor: ChapterPlan, fact: str, own: Spot, also: Sequence[Spot]) -> Evidence:
    """The evidence of a fact that another chapter tells: that of the other's, how to find the other, and one's own words."""
    told, meeting = anchor.evidence[fact], [anchor.met[1]] if fact == "location" and anchor.met else []
    return Evidence(told.links + 1, told.spots | {own, *meeting, *also})


def add_relations(events: Sequence[Event], layouts: Sequence[Layout], plans: Sequence[ChapterPlan], seed: int) -> None:
    """Tell dates by how far they are from another chapter's, which is named by its event or by a meeting in it."""
    draws = RandomStream("relations", seed)
    times_held = Counter((event.content, event.space) for event in events)
    uses, most_uses = Counter[int](), _most_uses(events)
    spread = Spread(len(events))  # of these phrases, which the sentences around them must keep as they are
    earlier: list[int] = []
    for number in draws.sample(range(len(events)), len(events)):
        event, plan = events[number], plans[number]
        if earlier and plan.evidence["date"].links == 0 and draws.unit() < BY_RELATION:
            for anchor in (draws.pick(earlier) for _ in range(TRIES)):
                days = (event.time - events[anchor].time).days
                elsewhere = events[anchor].space != event.space  # or the words for the location would stand twice
                if (
                    uses[anchor] >= most_uses
                    or not elsewhere
                    or abs(days) > MOST_DAYS
                    or plans[anchor].evidence["date"].links >= MOST_LINKS
                ):
                    continue
                found = _anchor(anchor, events[anchor], layouts[anchor], plans[anchor], times_held, draws)
                if found is None:
                    continue
                words, spots = found
                told = _relation(days, event, words, draws)
                if not spread.allows(told):
                    continue
                spread.add(told)
                uses[anchor] += 1
                plan.when = told
                own = Spot(number, layouts[number].time)
                plan.evidence["date"] = _through(plans[anchor], "date", own, spots)
                break
        earlier.append(number)


def _anchor(
    number: int,
    event: Event,
    layout: Layout,
    plan: ChapterPlan,
    times_held: Mapping[tuple[str, str], int],
    draws: RandomStream,
) -> tuple[str, list[Spot]] | None:
    """Words that name the event of one chapter alone, and where these are told; None if there are none."""
    if found := content_anchor(number, event, layout, plan, times_held, draws):
        return found
    if plan.met is not None:
        known = {"hero": plan.hero, "group": plan.met[0]}
        return draws.pick(patterns_of("landmark")).write_phrase(draws, known.__getitem__), [plan.met[1]]
    return None


def content_anchor(
    number: int,
    event: Event,
    layout: Layout,
    plan: ChapterPlan,
    times_held: Mapping[tuple[str, str], int],
    draws: RandomStream,
) -> tuple[str, list[Spot]] | None:
    """Return an event by its kind and its location, and the paragraphs that tell these.

    Args:
        number: The number of the event.
        event: The event.
        layout: The layout of its chapter.
        plan: Its plan.
        times_held: How many events of the book have a kind and a location.
        draws: The draws of the words.

    Returns:
        None if its chapter does not tell both, or if there are several such events.
    """
    if not plan.named or plan.evidence["location"].links or times_held[event.content, event.space] > 1:
        return None
    known = {"content": event.content, "where": plan.where}
    words = draws.pick(patterns_of("anchor")).write_phrase(draws, known.__getitem__)
    return words, [Spot(number, layout.content), Spot(number, layout.space)]


def _relation(days: int, event: Event, anchor: str, draws: RandomStream) -> str:
    """The date of an event by its distance from another one."""
    known = {"anchor": anchor, "side": "after" if days > 0 else "before"}
    if days == 0:
        part = "same"
    elif abs(days) <= 7 and draws.unit() < 0.5:
        part, known["weekday"] = "weekday", WEEKDAYS[event.time.weekday()]
    elif days % 7 == 0 and abs(days) > 7:
        part, known["n"] = "weeks", in_letters(abs(days) // 7)
    elif abs(days) == 1:
        part = "day"
    else:
        part, known["n"] = "days", in_letters(abs(days))
    return draws.pick(patterns_of(part)).write_phrase(draws, known.__getitem__)


_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_letters(n: int) -> str:
    """Return a number from 0 to 99 in letters."""
    if n < 20:
        return _ONES[n]
    tens, ones = divmod(n, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")


NUMBERS = {in_letters(n): n for n in range(100)}
"""The numbers by their letters."""
