"""Level 5: accounts that disagree, corrections, and what an event changes for its main character.

Pairs of witnesses disagree on where or when some events were; for each pair, a chapter somewhere says whom of the two to believe,
who may be the one who dissents. A wrong date is put right in another chapter; another correction was itself mistaken, and is
withdrawn. Somebody loses a thing, finds it again in a later event, or is barred from a location for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple, TypeVar

from epbench.draws import RandomStream
from epbench.tulving.events.dates import FORMATS
from epbench.tulving.levels.banks import combined, phrase, references_bank
from epbench.tulving.levels.plan import Book, Evidence, Outcome, Spot

T = TypeVar("T")

DISPUTED, RETOLD, CORRECTED, WITHDRAWN = 0.15, 0.25, 0.5, 0.15
"""How often a location is disputed, a date told by another chapter too, or corrected, or corrected in vain, where it can be."""
LOSES, FINDS, BARRED = 0.5, 0.5, 0.3
"""How often something is lost, found again, and somebody barred, where they can be."""
CHAPTERS_PER_PAIR = 8


class Witnesses(NamedTuple):
    """Two witnesses who disagree, and where it is told whom to believe."""

    trusted: str
    doubted: str
    rule: Spot


def add_witnesses(book: Book) -> list[Witnesses]:
    """Draw pairs of witnesses, and tell for each whom of the two to believe."""
    draws = RandomStream("witnesses", book.seed)
    names = draws.sample(references_bank()["witnesses"], len(references_bank()["witnesses"]))
    n_pairs = min(len(names) // 2, 1 + len(book.events) // CHAPTERS_PER_PAIR)
    pairs = []
    for trusted, doubted in zip(names[:n_pairs], names[n_pairs:], strict=False):
        host = draws.index(len(book.events))
        rule = book.tell(host, "rule", {"trusted": trusted, "doubted": doubted}, draws)
        pairs.append(Witnesses(trusted, doubted, rule))
    return pairs


def _drawn(
    book: Book, pairs: Sequence[Witnesses], share: float, draws: RandomStream
) -> Iterator[tuple[int, Witnesses]]:
    """A share of the chapters, each with a pair of which another chapter says whom to believe."""
    for number in range(len(book.events)):
        elsewhere = [pair for pair in pairs if pair.rule.number != number]
        if draws.unit() < share and elsewhere:
            yield number, draws.pick(elsewhere)


def _accounts(pair: Witnesses, true: T, wrong: T, draws: RandomStream) -> tuple[bool, tuple[str, T], tuple[str, T]]:
    """Whether a chapter's own witness is right, and who says what: its own one, and the other one."""
    trusted, doubted = (pair.trusted, true), (pair.doubted, wrong)
    own_is_right = draws.unit() < 0.5
    return (own_is_right, trusted, doubted) if own_is_right else (own_is_right, doubted, trusted)


def add_disputes(book: Book, pairs: Sequence[Witnesses]) -> None:
    """Have witnesses disagree on where some events were, both in the chapter itself."""
    draws = RandomStream("disputes", book.seed)
    for number, pair in _drawn(book, pairs, DISPUTED, draws):
        plan, space = book.plans[number], book.events[number].space
        other = next(name for name in draws.sample(book.universe.spaces, 2) if name != space)
        own_is_right, (own, told), (against, told_against) = _accounts(pair, space, other, draws)
        words = f"{book.scenery.places[told].preposition} {told}"
        plan.where = phrase("claim", {"words": words, "witness": own}, draws)
        spot = book.tell(number, "counterclaim", {"witness": against, "space": told_against}, draws)
        right = Spot(number, book.layouts[number].space) if own_is_right else spot
        plan.evidence["location"] = Evidence(1, frozenset([right, pair.rule]))
        plan.firm.add("location")


def add_retellings(book: Book, pairs: Sequence[Witnesses]) -> None:
    """Have witnesses disagree on when some events were, one of them in another chapter."""
    draws = RandomStream("retellings", book.seed)
    for number, pair in _drawn(book, pairs, RETOLD, draws):
        plan, event = book.plans[number], book.events[number]
        pointer = book.by_content(number, draws)
        elsewhere = book.host(draws, lambda other, number=number: other != number)  # type: ignore[misc]
        if pointer is None or elsewhere is None or number in book.most_links:
            continue
        wrong = next(day for day in draws.sample(book.universe.times, 2) if day != event.time)
        own_is_right, (own, told), (against, told_against) = _accounts(pair, event.time, wrong, draws)
        plan.when = phrase("claim", {"words": f"on {draws.pick(FORMATS)(told)}", "witness": own}, draws)
        known = {"witness": against, "anchor": pointer[0], "date": draws.pick(FORMATS)(told_against)}
        spot = book.tell(elsewhere, "retelling", known, draws)
        right = [Spot(number, book.layouts[number].time)] if own_is_right else [spot, *pointer[1]]
        plan.evidence["date"] = Evidence(1, frozenset([*right, pair.rule]))
        plan.firm.add("date")
        book.named.add(number)


def add_corrections(book: Book) -> None:
    """Give some chapters a wrong date, in a paragraph that tells nothing else, and put it right in another chapter."""
    draws = RandomStream("corrections", book.seed)
    for number, pointer, wrong in _with_other_dates(book, CORRECTED, draws):
        layout, own_spot = book.layouts[number], Spot(number, book.layouts[number].time)
        told_there = {
            layout.space,
            layout.entity,
            layout.content,
            *(fixed.paragraph for fixed in book.plans[number].fixed),
        }
        if layout.time in told_there:
            continue
        book.misdated.add(own_spot)
        host = book.host(draws, lambda other, number=number: other != number)  # type: ignore[misc]
        assert host is not None, "an event that is named by kind and location is not the only one"
        known = {"anchor": pointer[0], "date": draws.pick(FORMATS)(book.events[number].time)}
        spot = book.tell(host, "correction", known, draws)
        plan = book.plans[number]
        plan.when = f"on {draws.pick(FORMATS)(wrong)}"
        plan.firm.add("date")
        plan.evidence["date"] = Evidence(1, frozenset([spot, *pointer[1]]))
        book.named.add(number)


Vain = tuple[int, str, date]
"""A chapter whose date is corrected though it is right: its number, the words that name it elsewhere, and the wrong date."""


def choose_withdrawals(book: Book) -> list[Vain]:
    """Choose the chapters for `add_withdrawals`, which keep telling their date themselves."""
    chosen = []
    for number, pointer, wrong in _with_other_dates(book, WITHDRAWN, RandomStream("corrected in vain", book.seed)):
        book.plans[number].firm.add("date")
        book.named.add(number)
        chosen.append((number, pointer[0], wrong))
    return chosen


def add_withdrawals(book: Book, chosen: Sequence[Vain]) -> None:
    """Correct some dates that are right, and withdraw that; where nobody need read it who does not read both."""
    draws = RandomStream("withdrawals", book.seed)
    read = {spot for plan in book.plans for evidence in plan.evidence.values() for spot in evidence.spots}
    read |= {outcome.spot for plan in book.plans for outcome in plan.outcomes}
    unread = [
        spot
        for number, layout in enumerate(book.layouts)
        for paragraph in range(1, layout.n_paragraphs + 1)
        if (spot := Spot(number, paragraph)) not in read
    ]
    for number, words, wrong in chosen:
        others = [spot for spot in unread if spot.number != number]
        if len(others) < 2:
            continue
        hosts = draws.sample(others, 2)
        known = {"anchor": words, "date": draws.pick(FORMATS)(wrong)}
        book.tell(hosts[0].number, "correction", known, draws, hosts[0].paragraph)
        book.tell(hosts[1].number, "withdrawal", {"anchor": words}, draws, hosts[1].paragraph)
        book.plans[number].withdrawn.add(hosts[1].number)


def _with_other_dates(
    book: Book, share: float, draws: RandomStream
) -> Iterator[tuple[int, tuple[str, Sequence[Spot]], date]]:
    """A share of the chapters that tell their date themselves, each with words that name it elsewhere and a wrong date."""
    for number, (event, plan) in enumerate(zip(book.events, book.plans, strict=True)):
        settled = "date" in plan.firm or plan.evidence["date"].links or number in book.most_links
        if len(book.events) < 2 or settled or draws.unit() >= share:
            continue
        if (pointer := book.by_content(number, draws)) is not None:
            yield number, pointer, next(day for day in draws.sample(book.universe.times, 2) if day != event.time)


def add_outcomes(book: Book) -> None:
    """Have main characters lose things and find some of them again, and bar them from where they never come back to."""
    draws = RandomStream("outcomes", book.seed)
    things = combined("the {} {} {}", ("made_of", "owned", "marked"), draws)
    for numbers in book.by_person().values():
        last_visit = {book.events[number].space: number for number in numbers}
        for place, number in enumerate(numbers):
            later = numbers[place + 1 :]
            if draws.unit() < LOSES and (thing := next(things, None)):
                _add_outcome(book, "lost", number, thing, draws)
                if later and draws.unit() < FINDS:
                    _add_outcome(book, "found", draws.pick(later), thing, draws)
            space = book.events[number].space
            if last_visit[space] == number and draws.unit() < BARRED:
                _add_outcome(book, "barred", number, space, draws)


def _add_outcome(book: Book, kind: str, number: int, thing: str, draws: RandomStream) -> None:
    spot = book.tell(number, kind, {"hero": book.plans[number].hero, "object": thing}, draws)
    book.plans[number].outcomes.append(Outcome(kind, thing, spot))
