"""The calibration set: answers whose verdict is certain, by which a judge is checked before its scores are believed.

Each is a question of our templates about values of our universes, true items drawn for it, and an answer worded so
that it is certain which of them it names: bare, in a sentence, or as a list, alone or with words around it. What each kind
of answer does to the true items of its question is in `KINDS`, the texts are in `data/made_answers.toml`. The decisions are
those of the published judge's examples (paper: Section 4.3, Appendices B.3.1 and B.4): 1 for an item that is named, even in
other words, 0.5 for a part of it (the month of a date, a first name), 0 for what is not named. False items share no word and
no month with the true ones of their question, so that none of them is half right. The set has no full accounts of a chapter.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.tulving.dataset.schema import answer_text
from epbench.tulving.events.dates import MONTHS, WEEKDAYS, from_words, in_words, numbered
from epbench.tulving.events.universe import as_texts, load_universe, secondary_names
from epbench.tulving.judging.verdicts import JudgeInput
from epbench.tulving.questions.templates import PUBLISHED_TEMPLATES, Get, Trace

SORTS: tuple[Trace, ...] = ("times", "spaces", "entities", "contents", "other_entities")
GETS: tuple[Get, ...] = ("all", "latest", "chronological")
# The element whose values a sort takes; other entities have a list of their own.
_LETTERS = dict(zip(SORTS, "tsec", strict=False))
_N_OTHERS = 3
_N_SIDE = 400  # side names to draw from; more would only take time
_SMALL_WORDS = frozenset(["of", "the", "de", "del"])


class CalibrationQuestion(NamedTuple):
    """A question with its true items."""

    trace: Trace
    get: Get
    question: str
    cue: str  # what the question gives, in words
    # The true items; empty where nothing matches. Dates of a chronological question are in their order.
    reference: tuple[str, ...]
    others: tuple[str, ...]  # three false items of the same sort that share no word and no month with the true ones


def ask(
    draws: RandomStream,
    *,
    sorts: Sequence[Trace] = SORTS,
    gets: Sequence[Get] = GETS,
    least: int = 1,
    most: int = 4,
    among: Container[str] | None = None,
) -> CalibrationQuestion:
    """Draw a question with `least` to `most` true items, taken only from `among` if given; one for the latest has at most one."""
    # Passports are valid for one calibration set, which must stay the same when templates are added.
    gets = [get for get in gets if get != "latest" or least < 2]
    templates = [template for template in PUBLISHED_TEMPLATES if template.trace in sorts and template.get in gets]
    trace = draws.pick(sorted({template.trace for template in templates}))
    get = draws.pick(sorted({template.get for template in templates if template.trace == trace}))
    template = draws.pick([template for template in templates if (template.trace, template.get) == (trace, get)])
    values = draws.pick([world for world in _worlds() if among is None or any(item in among for item in world[trace])])
    cue_values = {letter: draws.pick(values[sort]) for sort, letter in _LETTERS.items() if letter in template.cue}

    pool = draws.sample(values[trace], len(values[trace]))
    size = draws.between(least, most) if get != "latest" else min(1, most)
    reference = _apart([item for item in pool if among is None or item in among], [], size)
    others = _apart(pool, reference, _N_OTHERS)
    if trace == "times" and get == "chronological":
        reference.sort(key=from_words)
    question, cue = template.text.format_map(cue_values), _cue(cue_values)
    return CalibrationQuestion(trace, get, question, cue, tuple(reference), tuple(others))


_WORLDS = ("default", "news", "scifi")
"""The universes whose names the answers of a passport are about; another one would make stored passports worthless."""


@cache
def _worlds() -> list[dict[Trace, list[str]]]:
    side: dict[Trace, list[str]] = {"other_entities": list(islice(secondary_names(), _N_SIDE))}
    texts = [as_texts(load_universe(name)) for name in _WORLDS]
    return [{sort: of[letter] for sort, letter in _LETTERS.items()} | side for of in texts]


def _apart(pool: Sequence[str], taken: Sequence[str], size: int) -> list[str]:
    """The first items of the pool, at most `size`, that share nothing with one another or with those taken."""
    used = {word for item in taken for word in _words(item)}
    chosen: list[str] = []
    for item in pool:
        if len(chosen) == size:
            break
        if used.isdisjoint(words := _words(item)):
            chosen.append(item)
            used |= words
    return chosen


@cache
def _words(item: str) -> frozenset[str]:
    """What makes two items alike: the month of a date, or else the words, except the smallest."""
    try:
        day = from_words(item)
    except ValueError:
        return frozenset(item.casefold().split()) - _SMALL_WORDS
    return frozenset([f"{day.year}-{day.month}"])


def _cue(values: dict[str, str]) -> str:
    """The given values as one phrase: `Zoe Brown at the Dog Show at Bryant Park on May 07, 2024`."""
    words = {"e": "{}", "c": "at the {}", "s": "at {}", "t": "on {}"}
    phrase = " ".join(words[letter].format(values[letter]) for letter in words if letter in values)
    return phrase.removeprefix("at ").removeprefix("on ")


@dataclass(frozen=True)
class Draft:
    """A calibration answer before it is put into the form that a judge gets."""

    question: CalibrationQuestion
    text: str
    scores: Mapping[str, float]  # 1 or 0.5 for each true item that it names; the others score 0
    n_items: int  # number of different things of the requested kind that it names
    order: Sequence[str] = ()  # what it names, in its order; may be left out where nothing true is named in full


def _naming(
    draws: RandomStream,
    asked: CalibrationQuestion,
    items: Sequence[str] | None = None,
    spelt: Mapping[str, str] | None = None,
) -> Draft:
    """An answer that names these items, by default all true ones, each spelt as in `spelt`, or else as in the book."""
    items = asked.reference if items is None else items
    text = worded(draws, asked, [(spelt or {}).get(item, item) for item in items])
    return Draft(asked, text, {item: 1.0 for item in items if item in asked.reference}, len(set(items)), items)


def _in_part(draws: RandomStream, asked: CalibrationQuestion, item: str, part: str) -> Draft:
    text = worded(draws, asked, [part if other == item else other for other in asked.reference])
    return Draft(asked, text, {other: 0.5 if other == item else 1.0 for other in asked.reference}, len(asked.reference))


def _paraphrase(draws: RandomStream) -> Draft:
    asked = ask(draws, sorts=("spaces", "contents"), among=paraphrases())
    return _naming(draws, asked, spelt=paraphrases())


def _other_date(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    days = {text: from_words(text) for text in asked.reference}
    is_clear = all(day.day > 12 for day in days.values())
    spell = draws.pick([form for form in _FORMATS if form is not _SLASHED or is_clear])
    spelt = {
        text: spell.format(
            date=day, nth=numbered(day.day), month=MONTHS[day.month - 1], weekday=WEEKDAYS[day.weekday()]
        )
        for text, day in days.items()
    }
    return _naming(draws, asked, spelt=spelt)


def _one_missing(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    missing = draws.pick(asked.reference)
    return _naming(draws, asked, [item for item in asked.reference if item != missing])


def _one_wrong(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    wrong = draws.pick(asked.reference)
    return _naming(draws, asked, [asked.others[0] if item == wrong else item for item in asked.reference])


def _wrong_day(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    day = from_words(item := draws.pick(asked.reference))
    other = in_words(day.replace(day=draws.pick([d for d in range(1, 29) if d != day.day])))
    return _in_part(draws, asked, item, other)


def _month_only(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    day = from_words(item := draws.pick(asked.reference))
    return _in_part(draws, asked, item, f"{MONTHS[day.month - 1]} {day.year}")


def _first_name(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    name = draws.pick(asked.reference)
    return _in_part(draws, asked, name, phrased(draws, "first_names", asked, first=name.split()[0]))


def _superset(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    items = list(asked.reference)
    for other in asked.others[: draws.between(1, 3)]:
        items.insert(draws.between(0, len(items)), other)
    return _naming(draws, asked, items)


def _repeated(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    """The first item is named again at the end; half of the answers leave an item out. A list of visits repeats too."""
    if asked.get == "chronological" and asked.trace != "times":  # nobody is at two events on one day
        return _naming(draws, asked._replace(reference=(*asked.reference, asked.reference[0])))
    named = asked.reference[:-1] if draws.unit() < 0.5 else asked.reference
    return _naming(draws, asked, [*named, named[0]])


def _abstaining(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    return Draft(asked, phrased(draws, "abstentions", asked, other=asked.others[0]), {}, 0)


def _guess(draws: RandomStream) -> Draft:
    """A true item, a false one, or one where nothing is true, in a third of the answers each."""
    sort = draws.index(3)
    asked = ask(draws, least=0, most=0) if sort == 2 else ask(draws)
    item = asked.reference[0] if sort == 0 else asked.others[0]
    text = phrased(draws, "guesses", asked, items=item)
    return Draft(asked, text, {item: 1.0} if sort == 0 else {}, 1, [item])


def _assured(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    """Only false items, in plain or in confident words."""
    items = asked.others[: draws.between(1, 3)]
    if draws.unit() < 0.5:
        return _naming(draws, asked, items)
    return Draft(asked, phrased(draws, "assured", asked, items=" and ".join(items)), {}, len(items))


def _denied(draws: RandomStream, asked: CalibrationQuestion) -> Draft:
    """The answer mentions a true item but says that it is wrong, and names a false item."""
    text = phrased(draws, "denials", asked, denied=asked.reference[0], items=asked.others[0])
    return Draft(asked, text, {}, 1)


def _instruction(draws: RandomStream) -> Draft:
    """A false item with an instruction to the judge; a third of the questions have no true answer."""
    asked = ask(draws, least=0, most=0) if draws.index(3) == 0 else ask(draws)
    return Draft(asked, phrased(draws, "instructions", asked, items=asked.others[0]), {}, 1)


_SLASHED = "{date:%m/%d/%Y}"  # only where the day cannot be taken for a month
_FORMATS = (
    "the {nth} of {month} {date.year}",
    "{month} {nth}, {date.year}",
    "{date.day} {month} {date.year}",
    "{weekday}, {month} {date.day}, {date.year}",
    "{month:.3}. {date.day}, {date.year}",
    "{date}",
    _SLASHED,
)


def _of(
    answer: Callable[[RandomStream, CalibrationQuestion], Draft], **questions: Any
) -> Callable[[RandomStream], Draft]:
    """A kind of answer to such questions; see `ask`."""
    return lambda draws: answer(draws, ask(draws, **questions))


KINDS: Mapping[str, Callable[[RandomStream], Draft]] = {
    "exact": _of(_naming),
    "paraphrase": _paraphrase,
    "other date format": _of(_other_date, sorts=("times",)),
    "one missing": _of(_one_missing, least=2),
    "one wrong": _of(_one_wrong, least=2),
    "wrong day": _of(_wrong_day, sorts=("times",)),
    "month only": _of(_month_only, sorts=("times",)),
    "first name only": _of(_first_name, sorts=("entities", "other_entities")),
    "superset": _of(_superset, gets=("all", "chronological")),
    "reversed": _of(
        lambda draws, asked: _naming(draws, asked, asked.reference[::-1]), gets=("chronological",), least=2
    ),
    "repeated": _of(_repeated, gets=("all", "chronological"), least=2),
    "abstention": _of(_abstaining, least=0, most=0),
    "missed": _of(_abstaining),
    "guess": _guess,
    "nonsense": _of(_assured),
    "invented": _of(_assured, least=0, most=0),
    "denied": _of(_denied),
    "instruction": _instruction,
}
"""All kinds. Where nothing true exists: abstention (right) and invented (wrong). Where something does: missed (an
abstention) and nonsense (confident false items). A guess and an instruction may be either. `TRAPS` are among them."""
TRAPS = ("paraphrase", "guess", "denied", "instruction")


_MARKS = ("- {item}", "* {item}", "{i}. {item}", "{i}) {item}", "{i}. **{item}**", "- {item} (Chapter {chapter})")


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
        return _filled(draws.pick(wording["wording"]["plain"]), asked, items=answer_text(items))
    if form == 1:
        return _filled(draws.pick(wording["sentences"][asked.trace]), asked, items=answer_text(items))
    mark = draws.pick(_MARKS)
    lines = [mark.format(i=i, item=item, chapter=7 * i - 3) for i, item in enumerate(items, 1)]
    if form == 3:
        preamble, closing = draws.pick(wording["wording"]["preambles"]), draws.pick(wording["wording"]["closings"])
        lines = [_filled(preamble, asked), "", *lines, "", _filled(closing, asked)]
    return "\n".join(lines)


def _filled(text: str, asked: CalibrationQuestion, **fill: str) -> str:
    thing, things = _wording()["sorts"][asked.trace]
    return text.format(cue=asked.cue, thing=thing, things=things, **fill)


FEWEST, USUAL = 20, 30  # answers per kind


@dataclass(frozen=True)
class CalibrationAnswer:
    """An answer, and what a judge should find in it."""

    kind: str  # one of `KINDS`
    judge_input: JudgeInput  # what the judge gets; its reference is empty where nothing matches the question
    scores: tuple[float, ...]  # for each true item, repeats included: 1 if named, 0.5 if named in part, 0 if not named
    n_items: int  # number of different things of the requested kind that the answer names, false ones included
    # The true items in the order of the answer; None where no order is asked for, or where it does not count because an
    # item is missing or named in part only
    order: tuple[str, ...] | None

    @cached_property
    def decisions(self) -> dict[str, float]:
        """The score of each different true item."""
        return dict(zip(self.judge_input.reference, self.scores, strict=True))


def make_calibration_set(n: int = USUAL, seed: int = 0) -> list[CalibrationAnswer]:
    """Make n answers of every kind, at least 20 as a rate over fewer says little; a larger n leaves the others as they are."""
    if n < FEWEST:
        raise BadInput(f"calibration set: expected at least {FEWEST} answers per kind, got {n}")
    return [_make(kind, seed, number) for kind in KINDS for number in range(n)]


def fingerprint_of_set(calibration_set: Sequence[CalibrationAnswer]) -> str:
    """Short hash of the whole set: passports with the same hash were made with the same answers."""
    return hashlib.sha256(json.dumps([_hashed(answer) for answer in calibration_set]).encode()).hexdigest()[:16]


def _hashed(answer: CalibrationAnswer) -> dict[str, Any]:
    """An answer under the names that fingerprints in stored passports were made with."""
    of = answer.judge_input
    case = {name: getattr(of, name) for name in ("id", "question", "trace", "get")}
    case |= {"truth": of.reference, "answer": of.answer}
    found = {name: getattr(answer, name) for name in ("scores", "n_items", "order")}
    return {"kind": answer.kind, "case": case, **found}


def _make(kind: str, seed: int, number: int) -> CalibrationAnswer:
    draft = KINDS[kind](RandomStream("made answer", seed, kind, number))
    asked = draft.question
    id_ = f"{kind}-{number:03}"
    judge_input = JudgeInput(id_, asked.question, asked.trace, asked.get, asked.reference, draft.text)
    scores = tuple(draft.scores.get(item, 0.0) for item in asked.reference)
    named = [item for item in draft.order if draft.scores.get(item) == 1]
    ordered = asked.get == "chronological" and len(set(asked.reference)) > 1 and set(named) == set(asked.reference)
    return CalibrationAnswer(kind, judge_input, scores, draft.n_items, tuple(dict.fromkeys(named)) if ordered else None)
