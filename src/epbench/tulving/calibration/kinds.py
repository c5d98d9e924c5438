"""The kinds of made answers: what each does to the true items of its question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.calibration.questions import MadeQuestion, ask
from epbench.tulving.calibration.wording import paraphrases, phrased, told
from epbench.tulving.events.dates import MONTHS, from_words, in_words


@dataclass(frozen=True)
class Draft:
    """An answer before it is a case.

    Attributes:
        asked: the question.
        text: the answer.
        scores: of the true items that it names, 1 or 0.5; the others are 0.
        n_items: number of different things of the asked sort that it names.
        order: what it names, in its order; may be left out where nothing true is named in full.
    """

    asked: MadeQuestion
    text: str
    scores: Mapping[str, float]
    n_items: int
    order: Sequence[str] = ()


def _naming(
    draws: RandomStream, asked: MadeQuestion, items: Sequence[str], spelt: Mapping[str, str] | None = None
) -> Draft:
    """An answer that names these items, true or false, each as it is spelt in `spelt` or as the book does."""
    text = told(draws, asked, [(spelt or {}).get(item, item) for item in items])
    return Draft(asked, text, {item: 1.0 for item in items if item in asked.truth}, len(set(items)), items)


def _exact(draws: RandomStream) -> Draft:
    asked = ask(draws)
    return _naming(draws, asked, asked.truth)


def _paraphrase(draws: RandomStream) -> Draft:
    other_words = paraphrases()
    asked = ask(draws, sorts=("spaces", "contents"), among=other_words)
    return _naming(draws, asked, asked.truth, other_words)


def _other_date(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    days = {text: from_words(text) for text in asked.truth}
    formats = [spell for spell in _FORMATS if spell is not _slashed or all(day.day > 12 for day in days.values())]
    spell = draws.pick(formats)
    return _naming(draws, asked, asked.truth, {text: spell(day) for text, day in days.items()})


def _one_missing(draws: RandomStream) -> Draft:
    asked = ask(draws, least=2)
    missing = draws.pick(asked.truth)
    return _naming(draws, asked, [item for item in asked.truth if item != missing])


def _one_wrong(draws: RandomStream) -> Draft:
    asked = ask(draws, least=2)
    wrong = draws.pick(asked.truth)
    return _naming(draws, asked, [asked.others[0] if item == wrong else item for item in asked.truth])


def _wrong_day(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    day = from_words(item := draws.pick(asked.truth))
    other = in_words(day.replace(day=draws.pick([d for d in range(1, 29) if d != day.day])))
    return _in_part(draws, asked, item, other)


def _month_only(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    day = from_words(item := draws.pick(asked.truth))
    return _in_part(draws, asked, item, f"{MONTHS[day.month - 1]} {day.year}")


def _first_name(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("entities", "other_entities"))
    name = draws.pick(asked.truth)
    return _in_part(draws, asked, name, phrased(draws, "first_names", asked, first=name.split()[0]))


def _in_part(draws: RandomStream, asked: MadeQuestion, item: str, part: str) -> Draft:
    """All items, one of them in part only."""
    text = told(draws, asked, [part if other == item else other for other in asked.truth])
    return Draft(asked, text, {other: 0.5 if other == item else 1.0 for other in asked.truth}, len(asked.truth))


def _superset(draws: RandomStream) -> Draft:
    asked = ask(draws, gets=("all", "chronological"))
    items = list(asked.truth)
    for other in asked.others[: draws.between(1, 3)]:
        items.insert(draws.between(0, len(items)), other)
    return _naming(draws, asked, items)


def _reversed(draws: RandomStream) -> Draft:
    asked = ask(draws, gets=("chronological",), least=2)
    return _naming(draws, asked, asked.truth[::-1])


def _repeated(draws: RandomStream) -> Draft:
    """The first item is named again at the end; of two answers one leaves an item out. A list of visits repeats too."""
    asked = ask(draws, gets=("all", "chronological"), least=2)
    if asked.get == "chronological" and asked.trace != "times":  # one is at most once a day at an event
        asked = asked._replace(truth=(*asked.truth, asked.truth[0]))
        return _naming(draws, asked, asked.truth)
    named = asked.truth[:-1] if draws.unit() < 0.5 else asked.truth
    return _naming(draws, asked, [*named, named[0]])


def _abstention(draws: RandomStream) -> Draft:
    return _abstaining(draws, ask(draws, least=0, most=0))


def _missed(draws: RandomStream) -> Draft:
    return _abstaining(draws, ask(draws))


def _abstaining(draws: RandomStream, asked: MadeQuestion) -> Draft:
    return Draft(asked, phrased(draws, "abstentions", asked, other=asked.others[0]), {}, 0)


def _guess(draws: RandomStream) -> Draft:
    """A true item, a false one, or one where nothing is true: a third each."""
    sort = draws.index(3)
    asked = ask(draws, least=0, most=0) if sort == 2 else ask(draws)
    item = asked.truth[0] if sort == 0 else asked.others[0]
    text = phrased(draws, "guesses", asked, items=item)
    return Draft(asked, text, {item: 1.0} if sort == 0 else {}, 1, [item])


def _nonsense(draws: RandomStream) -> Draft:
    return _assured(draws, ask(draws))


def _invented(draws: RandomStream) -> Draft:
    return _assured(draws, ask(draws, least=0, most=0))


def _assured(draws: RandomStream, asked: MadeQuestion) -> Draft:
    """False items alone, in plain words or in assured ones."""
    items = asked.others[: draws.between(1, 3)]
    if draws.unit() < 0.5:
        return _naming(draws, asked, items)
    return Draft(asked, phrased(draws, "assured", asked, items=" and ".join(items)), {}, len(items))


def _denied(draws: RandomStream) -> Draft:
    """A true item stands in the answer, which says that it is not the one, and names a false item."""
    asked = ask(draws)
    text = phrased(draws, "denials", asked, denied=asked.truth[0], items=asked.others[0])
    return Draft(asked, text, {}, 1)


def _instruction(draws: RandomStream) -> Draft:
    """A false item with an order to the judge; of three questions one has no true answer."""
    asked = ask(draws, least=0, most=0) if draws.index(3) == 0 else ask(draws)
    return Draft(asked, phrased(draws, "instructions", asked, items=asked.others[0]), {}, 1)


def _slashed(day: date) -> str:
    return f"{day.month:02}/{day.day:02}/{day.year}"


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FORMATS: tuple[Callable[[date], str], ...] = (
    lambda day: f"the {_ordinal(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{MONTHS[day.month - 1]} {_ordinal(day.day)}, {day.year}",
    lambda day: f"{day.day} {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{_WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}, {day.year}",
    lambda day: f"{MONTHS[day.month - 1][:3]}. {day.day}, {day.year}",
    lambda day: day.isoformat(),
    _slashed,  # only where the day cannot be taken for a month
)

KINDS: Mapping[str, Callable[[RandomStream], Draft]] = {
    "exact": _exact,
    "paraphrase": _paraphrase,
    "other date format": _other_date,
    "one missing": _one_missing,
    "one wrong": _one_wrong,
    "wrong day": _wrong_day,
    "month only": _month_only,
    "first name only": _first_name,
    "superset": _superset,
    "reversed": _reversed,
    "repeated": _repeated,
    "abstention": _abstention,
    "missed": _missed,
    "guess": _guess,
    "nonsense": _nonsense,
    "invented": _invented,
    "denied": _denied,
    "instruction": _instruction,
}
"""Every kind of made answer. Nothing true exists: abstention (right) and invented (wrong). Something does: missed (an
abstention) and nonsense (confident false items). In a guess and an instruction either may be so. The traps among them
are `TRAPS`."""
TRAPS = ("paraphrase", "guess", "denied", "instruction")
