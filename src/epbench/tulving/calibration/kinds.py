"""The kinds of calibration answers: what each does to the true items of its question.

An answer is worded bare, in a sentence, or as a list, alone or with words around it. The texts are in `data/made_answers.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from epbench.draws import RandomStream
from epbench.files.packaged import packaged
from epbench.tulving.calibration.questions import CalibrationQuestion, ask
from epbench.tulving.events.dates import MONTHS, from_words, in_words


@dataclass(frozen=True)
class Draft:
    """A calibration answer before it is put into the form that a judge gets.

    Attributes:
        question: The question.
        text: The answer.
        scores: 1 or 0.5 for each true item that it names; the others score 0.
        n_items: Number of different things of the requested kind that it names.
        order: What it names, in its order; may be left out where nothing true is named in full.
    """

    question: CalibrationQuestion
    text: str
    scores: Mapping[str, float]
    n_items: int
    order: Sequence[str] = ()


def _naming(
    draws: RandomStream, asked: CalibrationQuestion, items: Sequence[str], spelt: Mapping[str, str] | None = None
) -> Draft:
    """An answer that names these items, true or false, each spelt as in `spelt`, or else as in the book."""
    text = worded(draws, asked, [(spelt or {}).get(item, item) for item in items])
    return Draft(asked, text, {item: 1.0 for item in items if item in asked.reference}, len(set(items)), items)


def _exact(draws: RandomStream) -> Draft:
    asked = ask(draws)
    return _naming(draws, asked, asked.reference)


def _paraphrase(draws: RandomStream) -> Draft:
    other_words = paraphrases()
    asked = ask(draws, sorts=("spaces", "contents"), among=other_words)
    return _naming(draws, asked, asked.reference, other_words)


def _other_date(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    days = {text: from_words(text) for text in asked.reference}
    formats = [spell for spell in _FORMATS if spell is not _slashed or all(day.day > 12 for day in days.values())]
    spell = draws.pick(formats)
    return _naming(draws, asked, asked.reference, {text: spell(day) for text, day in days.items()})


def _one_missing(draws: RandomStream) -> Draft:
    asked = ask(draws, least=2)
    missing = draws.pick(asked.reference)
    return _naming(draws, asked, [item for item in asked.reference if item != missing])


def _one_wrong(draws: RandomStream) -> Draft:
    asked = ask(draws, least=2)
    wrong = draws.pick(asked.reference)
    return _naming(draws, asked, [asked.others[0] if item == wrong else item for item in asked.reference])


def _wrong_day(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    day = from_words(item := draws.pick(asked.reference))
    other = in_words(day.replace(day=draws.pick([d for d in range(1, 29) if d != day.day])))
    return _in_part(draws, asked, item, other)


def _month_only(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("times",))
    day = from_words(item := draws.pick(asked.reference))
    return _in_part(draws, asked, item, f"{MONTHS[day.month - 1]} {day.year}")


def _first_name(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("entities", "other_entities"))
    name = draws.pick(asked.reference)
    return _in_part(draws, asked, name, phrased(draws, "first_names", asked, first=name.split()[0]))


def _in_part(draws: RandomStream, asked: CalibrationQuestion, item: str, part: str) -> Draft:
    """All items, one of them in part only."""
    text = worded(draws, asked, [part if other == item else other for other in asked.reference])
    return Draft(asked, text, {other: 0.5 if other == item else 1.0 for other in asked.reference}, len(asked.reference))


def _superset(draws: RandomStream) -> Draft:
    asked = ask(draws, gets=("all", "chronological"))
    items = list(asked.reference)
    for other in asked.others[: draws.between(1, 3)]:
        items.insert(draws.between(0, len(items)), other)
    return _naming(draws, asked, items)


def _reversed(draws: RandomStream) -> Draft:
    asked = ask(draws, gets=("chronological",), least=2)
    return _naming(draws, asked, asked.reference[::-1])


def _repeated(draws: RandomStream) -> Draft:
    """The first item is named again at the end; half of the answers leave an item out. A list of visits repeats too."""
    asked = ask(draws, gets=("all", "chronological"), least=2)
    if asked.get == "chronological" and asked.trace != "times":  # nobody is at two events on one day
        asked = asked._replace(reference=(*asked.reference, asked.reference[0]))
        return _naming(draws, asked, asked.reference)
    named = asked.reference[:-1] if draws.unit() < 0.5 else asked.reference
    return _naming(draws, asked, [*named, named[0]])


def _abstention(draws: RandomStream) -> Draft:
    return _abstaining(draws, ask(draws, least=0, most=0))


def _missed(draws: RandomStream) -> Draft:
    return _abstaining(draws, ask(draws))


def _abstaining(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    return Draft(asked, phrased(draws, "abstentions", asked, other=asked.others[0]), {}, 0)


def _guess(draws: RandomStream) -> Draft:
    """A true item, a false one, or one where nothing is true, in a third of the answers each."""
    sort = draws.index(3)
    asked = ask(draws, least=0, most=0) if sort == 2 else ask(draws)
    item = asked.reference[0] if sort == 0 else asked.others[0]
    text = phrased(draws, "guesses", asked, items=item)
    return Draft(asked, text, {item: 1.0} if sort == 0 else {}, 1, [item])


def _nonsense(draws: RandomStream) -> Draft:
    return _assured(draws, ask(draws))


def _invented(draws: RandomStream) -> Draft:
    return _assured(draws, ask(draws, least=0, most=0))


def _assured(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    """Only false items, in plain or in confident words."""
    items = asked.others[: draws.between(1, 3)]
    if draws.unit() < 0.5:
        return _naming(draws, asked, items)
    return Draft(asked, phrased(draws, "assured", asked, items=" and ".join(items)), {}, len(items))


def _denied(draws: RandomStream) -> Draft:
    """The answer mentions a true item but says that it is wrong, and names a false item."""
    asked = ask(draws)
    text = phrased(draws, "denials", asked, denied=asked.reference[0], items=asked.others[0])
    return Draft(asked, text, {}, 1)


def _instruction(draws: RandomStream) -> Draft:
    """A false item with an instruction to the judge; a third of the questions have no true answer."""
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
"""All kinds. Where nothing true exists: abstention (right) and invented (wrong). Where something does: missed (an
abstention) and nonsense (confident false items). A guess and an instruction may be either. `TRAPS` are among them."""
TRAPS = ("paraphrase", "guess", "denied", "instruction")


_MARKS: tuple[Callable[[int, str], str], ...] = (
    lambda i, item: f"- {item}",
    lambda i, item: f"* {item}",
    lambda i, item: f"{i}. {item}",
    lambda i, item: f"{i}) {item}",
    lambda i, item: f"{i}. **{item}**",
    lambda i, item: f"- {item} (Chapter {7 * i - 3})",
)


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(packaged("epbench.tulving", "made_answers.toml").read_text("utf-8"))


def paraphrases() -> dict[str, str]:
    """Other words for spaces and contents, by their names."""
    listed = _wording()["paraphrases"]
    return {**listed["spaces"], **listed["contents"]}


def phrased(draws: RandomStream, section: str, asked: CalibrationQuestion, **fill: str) -> str:
    """One of the texts of a section, filled in for this question."""
    return _filled(draws.pick(_wording()[section]["texts"]), asked, **fill)


def worded(draws: RandomStream, asked: CalibrationQuestion, items: Sequence[str]) -> str:
    """An answer that names the items in this order and claims no others."""
    wording = _wording()
    form = draws.index(4)
    if form == 0:
        return _filled(draws.pick(wording["wording"]["plain"]), asked, items=_joined(items))
    if form == 1:
        return _filled(draws.pick(wording["sentences"][asked.trace]), asked, items=_joined(items))
    mark = draws.pick(_MARKS)
    lines = [mark(number, item) for number, item in enumerate(items, 1)]
    if form == 3:
        preamble, closing = draws.pick(wording["wording"]["preambles"]), draws.pick(wording["wording"]["closings"])
        lines = [_filled(preamble, asked), "", *lines, "", _filled(closing, asked)]
    return "\n".join(lines)


def _filled(text: str, asked: CalibrationQuestion, **fill: str) -> str:
    thing, things = _wording()["sorts"][asked.trace]
    return text.format(cue=asked.cue, thing=thing, things=things, **fill)


def _joined(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else items[0]
