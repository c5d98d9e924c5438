"""Levels 4 and 5: what a chapter tells only by reference to another chapter, and what an event changes for later ones.

Level 4. A nickname is given to a person in one chapter and used in others; a location is where somebody had first met the
florists of Marrow Lane; a date is so many days after an event of another chapter. A reference may lead to a reference, over
at most three links in all, and each is solved by the book alone.

Level 5. The main character of a chapter may be barred from its location for good, lose a thing, or find it again in a later
event; a chapter may give a wrong date that another one puts right; and two witnesses may disagree on a location, with one
rule in the book for whom to believe.

The sentences and phrases are in `references.json` and `outcomes.json` of `data/tales`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

from epbench.draws import RandomStream
from epbench.files.json_files import read_typed
from epbench.tulving.events.dates import FORMATS, WEEKDAYS
from epbench.tulving.events.events import Event, Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plan import ChapterPlan, Evidence, Fixed, Outcome, Spot
from epbench.tulving.scenes.patterns import Sentence, Spread, write_freshly
from epbench.tulving.scenes.scene_files import TALES

MOST_LINKS = 3
BY_NICKNAME, BY_MEETING, BY_RELATION = 0.6, 0.6, 0.75
"""How often a person, a location and a date are told by reference where they can be."""
CORRECTED, DISPUTED, LOSES, FINDS, BARRED = 0.15, 0.2, 0.5, 0.5, 0.3
"""How often a date is corrected, a location disputed, something lost, found again, and somebody barred, where they can be."""
MOST_DAYS = 60
"""How many days lie between two events at most if one dates the other."""
MOST_USES = 0.02
"""The largest share of chapters that refer to the same one, for a date and for a location; at least one may."""
TRIES = 24
"""How many chapters are looked at for one that can date another."""


@cache
def references_bank() -> Mapping[str, Sequence[str]]:
    """Return the sentences and phrases, and the words for nicknames, groups, things and witnesses, by what they are for."""
    banks = [read_typed(TALES / f"{name}.json", dict[str, list[str]]) for name in ("references", "outcomes")]
    return banks[0] | banks[1]


@cache
def patterns_of(part: str) -> Sequence[Sentence]:
    """Return the sentences or phrases of a part of the bank."""
    return [Sentence(text) for text in references_bank()[part]]


@dataclass(frozen=True)
class Book:
    """What is told by reference, chapter by chapter: each method adds one kind of reference to the plans.

    Attributes:
        events: The event of each chapter.
        layouts: The layout of each chapter.
        plans: The plan of each chapter, which is changed.
        universe: The universe of the events.
        spread: What the book has told so far.
        seed: The seed of all draws.
    """

    events: Sequence[Event]
    layouts: Sequence[Layout]
    plans: Sequence[ChapterPlan]
    universe: Universe
    spread: Spread
    seed: int

    @cached_property
    def _times_held(self) -> Counter[tuple[str, str]]:
        """How many events have a kind and a location."""
        return Counter((event.content, event.space) for event in self.events)

    @property
    def _most_uses(self) -> int:
        return max(1, int(MOST_USES * len(self.events)))

    def _tell(
        self, number: int, part: str, known: Mapping[str, str], draws: RandomStream, at: int | None = None
    ) -> Spot:
        """Fix a sentence of a part in a chapter, in a paragraph that is given or drawn before the words."""
        spot = Spot(number, draws.between(1, self.layouts[number].n_paragraphs) if at is None else at)
        self.plans[number].fixed.append(
            Fixed(spot.paragraph, write_freshly(patterns_of(part), known, self.spread, draws))
        )
        return spot

    def add_nicknames(self) -> None:
        """Give people with several chapters a nickname in one of these, and call them by it alone in most of the others."""
        draws = RandomStream("nicknames", self.seed)
        chapters: dict[str, list[int]] = defaultdict(list)
        for number, event in enumerate(self.events):
            chapters[event.entity].append(number)
        often = [numbers for numbers in chapters.values() if len(numbers) > 1]
        for numbers, nickname in zip(often, _combined("the {} {}", ("traits", "creatures"), draws), strict=False):
            anchor, *others = draws.sample(numbers, len(numbers))
            known = {"entity": self.events[anchor].entity, "nickname": nickname}
            spot = self._tell(anchor, "nickname", known, draws, self.layouts[anchor].entity)
            for number in others:
                if draws.unit() < BY_NICKNAME:
                    plan, own_spot = self.plans[number], Spot(number, self.layouts[number].entity)
                    plan.name, plan.hero = nickname, f"the {nickname.split()[-1]}"
                    plan.evidence["entity"] = Evidence(1, frozenset([own_spot, spot]))

    def add_accounts(self) -> None:
        """Have two witnesses disagree on the location of some chapters; the first chapter says whom to believe."""
        draws = RandomStream("accounts", self.seed)
        trusted, doubted = draws.sample(references_bank()["witnesses"], 2)
        rule = self._tell(0, "rule", {"trusted": trusted, "doubted": doubted}, draws)
        for number, (plan, event) in enumerate(zip(self.plans, self.events, strict=True)):
            if number == 0 or draws.unit() >= DISPUTED:
                continue
            other = next(space for space in draws.sample(self.universe.spaces, 2) if space != event.space)
            own_spot = Spot(number, self.layouts[number].space)
            plan.where = _phrase("claim", {"where": plan.where, "witness": trusted}, draws)
            known = {"witness": doubted, "space": other}
            against = write_freshly(patterns_of("counterclaim"), known, self.spread, draws)
            plan.fixed.append(Fixed(draws.between(1, self.layouts[number].n_paragraphs), against))
            plan.evidence["location"] = Evidence(1, frozenset([own_spot, rule]))

    def add_meetings(self) -> None:
        """Tell locations by whom the main character of another chapter had met there."""
        draws, plans = RandomStream("meetings", self.seed), self.plans
        groups = iter(list(_combined("the {} of {} {}", ("groups", "lanes", "roads"), draws, len(self.events))))
        uses = Counter[int]()
        earlier: dict[str, list[int]] = defaultdict(list)
        for number in draws.sample(range(len(self.events)), len(self.events)):
            space, plan = self.events[number].space, plans[number]
            told_by_itself = plan.evidence["location"].links == 0
            anchors = [
                candidate
                for candidate in earlier[space]
                if plans[candidate].evidence["location"].links < MOST_LINKS and uses[candidate] < self._most_uses
            ]
            if anchors and told_by_itself and draws.unit() < BY_MEETING:
                anchor = draws.pick(anchors)
                uses[anchor] += 1
                met = plans[anchor].met
                if met is None:
                    group = next(groups, None)
                    if group is None:
                        continue
                    spot = self._tell(anchor, "meeting", {"hero": plans[anchor].hero, "group": group}, draws)
                    met = plans[anchor].met = (group, spot)
                plan.where = _phrase("where", {"hero": plans[anchor].hero, "group": met[0]}, draws)
                own_spot = Spot(number, self.layouts[number].space)
                plan.evidence["location"] = _linked_evidence(plans[anchor], "location", own_spot, [met[1]])
            earlier[space].append(number)

    def add_corrections(self) -> None:
        """Give some chapters a wrong date, and put it right in another chapter."""
        draws = RandomStream("corrections", self.seed)
        for number, (event, plan) in enumerate(zip(self.events, self.plans, strict=True)):
            pointer = self._by_content(number, draws)
            if len(self.events) < 2 or pointer is None or draws.unit() >= CORRECTED:
                continue
            words, spots = pointer
            elsewhere = next(other for other in draws.sample(range(len(self.events)), 2) if other != number)
            wrong = next(day for day in draws.sample(self.universe.times, 2) if day != event.time)
            paragraph = draws.between(1, self.layouts[elsewhere].n_paragraphs)
            known = {"anchor": words, "date": draws.pick(FORMATS)(event.time)}
            spot = self._tell(elsewhere, "correction", known, draws, paragraph)
            plan.when = f"on {draws.pick(FORMATS)(wrong)}"
            plan.evidence["date"] = Evidence(1, frozenset([spot, *spots]))

    def add_relations(self) -> None:
        """Tell dates by how far they are from another chapter's, which is named by its event or by a meeting in it."""
        draws, plans = RandomStream("relations", self.seed), self.plans
        uses = Counter[int]()
        spread = Spread(len(self.events))  # of these phrases, which the sentences around them must keep as they are
        earlier: list[int] = []
        for number in draws.sample(range(len(self.events)), len(self.events)):
            event, plan = self.events[number], plans[number]
            if earlier and plan.evidence["date"].links == 0 and draws.unit() < BY_RELATION:
                for anchor in (draws.pick(earlier) for _ in range(TRIES)):
                    days = (event.time - self.events[anchor].time).days
                    elsewhere = (
                        self.events[anchor].space != event.space
                    )  # or the words for the location would stand twice
                    if (
                        uses[anchor] >= self._most_uses
                        or not elsewhere
                        or abs(days) > MOST_DAYS
                        or plans[anchor].evidence["date"].links >= MOST_LINKS
                        or (pointer := self._by_content(anchor, draws) or _by_meeting(plans[anchor], draws)) is None
                    ):
                        continue
                    relation = _relation(days, event, pointer[0], draws)
                    if not spread.allows(relation):
                        continue
                    spread.add(relation)
                    uses[anchor] += 1
                    plan.when = relation
                    own_spot = Spot(number, self.layouts[number].time)
                    plan.evidence["date"] = _linked_evidence(plans[anchor], "date", own_spot, pointer[1])
                    break
            earlier.append(number)

    def _by_content(self, number: int, draws: RandomStream) -> tuple[str, list[Spot]] | None:
        """An event by its kind and its location, and the paragraphs that tell these; None if that does not name it alone."""
        event, layout, plan = self.events[number], self.layouts[number], self.plans[number]
        held_once = self._times_held[event.content, event.space] == 1
        if not plan.named or plan.evidence["location"].links or not held_once:
            return None
        words = _phrase("anchor", {"content": event.content, "where": plan.where}, draws)
        return words, [Spot(number, layout.content), Spot(number, layout.space)]

    def add_outcomes(self) -> None:
        """Have main characters lose things and find some of them again, and bar them from where they never come back to."""
        draws = RandomStream("outcomes", self.seed)
        things = _combined("the {} {} {}", ("made_of", "owned", "marked"), draws)
        chapters: dict[str, list[int]] = defaultdict(list)
        for number in sorted(range(len(self.events)), key=lambda number: (self.events[number].time, number)):
            chapters[self.events[number].entity].append(number)
        for numbers in chapters.values():
            last_visit = {self.events[number].space: number for number in numbers}
            for place, number in enumerate(numbers):
                later = numbers[place + 1 :]
                if draws.unit() < LOSES and (thing := next(things, None)):
                    self._add_outcome("lost", number, thing, draws)
                    if later and draws.unit() < FINDS:
                        self._add_outcome("found", draws.pick(later), thing, draws)
                space = self.events[number].space
                if last_visit[space] == number and draws.unit() < BARRED:
                    self._add_outcome("barred", number, space, draws)

    def _add_outcome(self, kind: str, number: int, thing: str, draws: RandomStream) -> None:
        spot = self._tell(number, kind, {"hero": self.plans[number].hero, "object": thing}, draws)
        self.plans[number].outcomes.append(Outcome(kind, thing, spot))


def _combined(form: str, parts: Sequence[str], draws: RandomStream, n: int | None = None) -> Iterator[str]:
    """At most n combinations of the words of some parts in random order, drawn at the first one; by default all."""
    words = list(product(*(references_bank()[part] for part in parts)))
    for chosen in draws.sample(words, len(words) if n is None else n):
        yield form.format(*chosen)


def _linked_evidence(anchor: ChapterPlan, fact: str, own_spot: Spot, also: Sequence[Spot]) -> Evidence:
    """The evidence of a fact that another chapter tells: that of the other's, how to find the other, and one's own words."""
    evidence = anchor.evidence[fact]
    return Evidence(evidence.links + 1, evidence.spots | {own_spot, *also})


def _by_meeting(plan: ChapterPlan, draws: RandomStream) -> tuple[str, list[Spot]] | None:
    """A chapter by whom its main character meets in it, and where that is told; None if nobody is met."""
    if plan.met is None:
        return None
    return _phrase("landmark", {"hero": plan.hero, "group": plan.met[0]}, draws), [plan.met[1]]


def _phrase(part: str, known: Mapping[str, str], draws: RandomStream) -> str:
    return draws.pick(patterns_of(part)).write_phrase(draws, known.__getitem__)


def _relation(days: int, event: Event, anchor: str, draws: RandomStream) -> str:
    """The date of an event by its distance from another one."""
    known = {"anchor": anchor, "side": "after" if days > 0 else "before"}
    if days == 0:
        part = "same"
    elif abs(days) <= 7 and draws.unit() < 0.5:
        part, known["weekday"] = "weekday", WEEKDAYS[event.time.weekday()]
    elif days % 7 == 0 and abs(days) > 7:
        part, known["n"] = "weeks", IN_LETTERS[abs(days) // 7]
    elif abs(days) == 1:
        part = "day"
    else:
        part, known["n"] = "days", IN_LETTERS[abs(days)]
    return _phrase(part, known, draws)


_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""".split()
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


IN_LETTERS = (*_ONES, *(f"{tens}-{ones}".removesuffix("-zero") for tens in _TENS for ones in _ONES[:10]))
"""The numbers from 0 to 99."""
