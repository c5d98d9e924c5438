"""All questions of a book, answered from an index by cue (paper: Appendices B.2.2 and B.2.3).

The index maps every cue (15 combinations of time, space, entity, content) with its values to the matching events. It is
built once, so that each question takes one look-up instead of a scan of the book. Fake events, which no chapter tells, give the
questions without an answer; the text of the paper and the data that it published disagree on how they are made, and both rules
are here. Of all questions, five for every template and bin are asked (Appendix B.2.4).
"""

from __future__ import annotations

import gc
import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from operator import attrgetter
from random import Random
from typing import Literal, NamedTuple

from epbench.draws import RandomStream
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.questions.templates import CUE_LETTERS, CUES, TEMPLATES_BY_CUE, Get, Template, Trace

Origin = Literal["book", "inner", "outer"]
EmptyRule = Literal["paper", "published"]
Values = tuple[str, ...]  # those of an event or of a cue, in the order t s e c

_Pools = Mapping[Origin, Mapping[str, Sequence[str]]]
_SEED = 2  # of the published code, for each of its three streams
_APART = 10_000_000  # between the seeds of two books, as for the events of the paper
_MOST_OUTER = 1000  # chapters; the published rule draws no outer events for a longer book


def fake_events(
    rows: Sequence[Values], unused: Mapping[str, Sequence[str]], *, rule: EmptyRule = "paper", seed: int = 0
) -> Iterator[tuple[Origin, Values]]:
    """Yield events of a book with some elements replaced, and where the new ones come from. Some may be real events.

    Inner ones take them from other chapters, outer ones from the values that no event uses. An element stays if there is
    no other value for it.

    The rule `paper` is that of its text: each chapter gives an inner event and an outer one, and each element is replaced with
    probability 1/2. `published` is that of the published data, of whose books a seed of 0 makes the draws: each chapter gives
    one event, which is inner or outer with probability 1/2, or inner in a book of more than 1,000 chapters, and one to four
    elements are replaced, each number being equally likely.
    """
    pools: _Pools = {
        "inner": {letter: sorted({row[i] for row in rows}) for i, letter in enumerate(CUE_LETTERS)},
        "outer": {letter: sorted(unused[letter]) for letter in CUE_LETTERS},
    }
    return _by_the_paper(rows, pools, seed) if rule == "paper" else _as_published(rows, pools, seed)


def _by_the_paper(rows: Sequence[Values], pools: _Pools, seed: int) -> Iterator[tuple[Origin, Values]]:
    for (number, row), origin in product(enumerate(rows), pools):
        draws = RandomStream("empty", seed, origin, number)
        event = []
        for value, pool in zip(row, pools[origin].values(), strict=True):
            replaced, unit = draws.unit() < 0.5, draws.unit()
            event.append(_other(value, pool, lambda n, unit=unit: int(unit * n)) if replaced else value)  # type: ignore[misc]
        yield origin, tuple(event)


def _as_published(rows: Sequence[Values], pools: _Pools, seed: int) -> Iterator[tuple[Origin, Values]]:
    """One event of each chapter, by the draws of Python's `random` that the published code makes."""
    order, masks, origins = (Random(_SEED + _APART * seed) for _ in range(3))
    choices: tuple[Origin, ...] = ("inner", "outer") if len(rows) <= _MOST_OUTER else ("inner",)
    for place in order.sample(range(len(rows)), len(rows)):
        n_replaced = masks.randint(1, len(CUE_LETTERS))
        replaced = masks.sample(CUE_LETTERS, n_replaced)
        origin = origins.choices(choices)[0]
        draws = Random(place + 1 + _APART * seed)
        event = [
            _other(value, pool, draws.randrange) if letter in replaced else value
            for value, (letter, pool) in zip(rows[place], pools[origin].items(), strict=True)
        ]
        yield origin, tuple(event)


def _other(value: str, pool: Sequence[str], draw: Callable[[int], int]) -> str:
    """Another value of a sorted pool, or the value itself if there is none; `draw` returns a number below another one."""
    at = bisect_left(pool, value)
    in_pool = at < len(pool) and pool[at] == value
    n_others = len(pool) - in_pool
    if not n_others:
        return value
    k = draw(n_others)
    return pool[k + (in_pool and k >= at)]


Bin = Literal["0", "1", "2", "3-5", "6+"]

BINS: tuple[Bin, ...] = ("0", "1", "2", "3-5", "6+")


class Question(NamedTuple):
    """A question and its true answer; the fields are the columns of the dataset."""

    id: str  # the same for the same template and cue in every book
    template: int  # the number of the template, from 0
    cue: str  # the letters of the given elements, in the order `t s e c`
    time: str | None  # the given date as the book writes it; None if it is not given
    space: str | None  # the given location, or None
    entity: str | None  # the given person, or None
    content: str | None  # the given kind of event, or None
    trace: Trace  # what is asked for
    get: Get  # `all` matches, the `latest` one, or all in `chronological` order
    question: str  # the text of the question
    answer: list[str]  # the true items: one for `latest`, in date order with repeats for `chronological`
    chapters: list[int]  # the numbers of all matching chapters, ascending
    n_chapters: int  # how many there are
    bin: Bin  # the bin by n_chapters
    origin: Origin  # `book` for a question with an answer; `inner` or `outer` for how an empty one was made


TRACED: Mapping[Trace, Callable[[Chapter], Sequence[str]]] = {
    "times": lambda chapter: (chapter.event.day,),
    "spaces": lambda chapter: (chapter.event.space,),
    "entities": lambda chapter: (chapter.event.entity,),
    "contents": lambda chapter: (chapter.event.content,),
    "other_entities": lambda chapter: chapter.secondary,
    "full_details": lambda chapter: (chapter.text,),
}
"""By trace, what one chapter contributes to an answer."""

CueIndex = dict[str, dict[Values, list[int]]]


def bin_of(n_chapters: int) -> Bin:
    """Return the bin of a question by the number of chapters that match its cue."""
    return BINS[n_chapters] if n_chapters <= 2 else "3-5" if n_chapters <= 5 else "6+"


def cue_values(chapter: Chapter) -> Values:
    """Return (t, s, e, c) as the book writes them."""
    event = chapter.event
    return (event.day, event.space, event.entity, event.content)


def all_questions(
    chapters: Sequence[Chapter], unused: Mapping[str, Sequence[str]], *, empty: EmptyRule = "paper", seed: int = 0
) -> list[Question]:
    """Return every question that the book answers, then the empty ones, without duplicates; see `fake_events`."""
    with without_collector():
        by_date = sorted(chapters, key=lambda chapter: chapter.event.time)
        index = _index_by_cue(by_date)
        events = fake_events([cue_values(chapter) for chapter in chapters], unused, rule=empty, seed=seed)
        return _answered(by_date, index) + _empty(events, index)


def single_event(questions: Sequence[Question]) -> list[Question]:
    """Return the fine-tuning set: questions with one matching chapter (paper: Appendix B.2.5)."""
    return [question for question in questions if question.n_chapters == 1]


def unused_values(universe: Mapping[str, Sequence[str]], used: Sequence[Values]) -> dict[str, list[str]]:
    """Return the values of the universe that no event uses, by cue letter."""
    taken = {letter: {values[i] for values in used} for i, letter in enumerate(CUE_LETTERS)}
    return {letter: [value for value in universe[letter] if value not in taken[letter]] for letter in CUE_LETTERS}


def _given(cue: str, event: Values) -> Values:
    """The values of a cue, of those of all letters."""
    return tuple([value for letter, value in zip(CUE_LETTERS, event, strict=True) if letter in cue])


def _index_by_cue(by_date: Sequence[Chapter]) -> CueIndex:
    """For every cue and its values, the matching chapters as positions in `by_date`."""
    rows = [cue_values(chapter) for chapter in by_date]
    index: CueIndex = {cue: defaultdict(list) for cue in CUES}
    for cue, matches in index.items():
        for place, row in enumerate(rows):
            matches[_given(cue, row)].append(place)
    return index


def _answered(by_date: Sequence[Chapter], index: CueIndex) -> list[Question]:
    questions: list[Question] = []
    traced = {trace: [items_of(chapter) for chapter in by_date] for trace, items_of in TRACED.items()}
    numbers = [chapter.number for chapter in by_date]
    for cue, matches in index.items():
        for values, places in matches.items():
            given, where = dict(zip(cue, values, strict=True)), sorted([numbers[place] for place in places])
            for template in TEMPLATES_BY_CUE[cue]:
                answer = _answer(template.get, traced[template.trace], places)
                questions.append(question_of(template, given, template.text.format_map(given), answer, where, "book"))
    return questions


def _answer(get: Get, traced: Sequence[Sequence[str]], places: Sequence[int]) -> list[str]:
    """The true items; `places` are in date order, so the last is the latest. Only a chronological answer keeps repeats."""
    if get == "latest":
        return list(traced[places[-1]])
    items = [item for place in places for item in traced[place]]
    return items if get == "chronological" else list(dict.fromkeys(items))


def question_of(
    template: Template, given: Mapping[str, str], text: str, answer: list[str], chapters: list[int], origin: Origin
) -> Question:
    """Build a question of a template from the elements of its cue by letter; the answer is in the order of `Question.answer`.

    Its id depends on template and cue alone, so that answers can be compared between books.
    """
    hashed = "\x1f".join([str(template.id), *(given.get(letter, "") for letter in CUE_LETTERS)])
    id_ = f"t{template.id:02d}-{hashlib.sha1(hashed.encode()).hexdigest()[:12]}"
    time, space, entity, content = map(given.get, CUE_LETTERS)
    about = template.trace, template.get, text, answer, chapters, len(chapters), bin_of(len(chapters)), origin
    return Question(id_, template.id, template.cue, time, space, entity, content, *about)


def _empty(events: Iterable[tuple[Origin, Values]], index: CueIndex) -> list[Question]:
    """Questions without an answer: the cues of fake events that nothing in the book matches."""
    no_item, no_chapter = list[str](), list[int]()  # shared by all of them: most questions of a large book are empty
    taken, questions = {cue: set(index[cue]) for cue in CUES}, list[Question]()
    for origin, event in events:
        for cue in CUES:
            values = _given(cue, event)
            if values not in taken[cue]:
                taken[cue].add(values)
                given = dict(zip(cue, values, strict=True))
                for template in TEMPLATES_BY_CUE[cue]:
                    text = template.text.format_map(given)
                    questions.append(question_of(template, given, text, no_item, no_chapter, origin))
    return questions


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the collector, which would look through all objects again and again as their number grows; then it is as it was."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


Selection = Literal["uniform", "alphabetical"]

PER_TEMPLATE_AND_BIN = 5


def select(questions: Sequence[Question], *, rule: Selection = "uniform", seed: int = 0) -> list[Question]:
    """Select five questions for every (template, bin), or all if there are fewer.

    The rule `uniform` draws them by seed, and a draw depends neither on the order nor on the number of the other questions.
    `alphabetical` takes the first by the text of the cue, as the released books do in spite of the paper's description; it
    favours dates in April and names that begin with A.
    """
    chosen: list[Question] = []
    pools: dict[tuple[int, Bin], list[Question]] = defaultdict(list)
    for question in questions:
        pools[question.template, question.bin].append(question)
    for template, bin_ in sorted(pools, key=lambda key: (key[0], BINS.index(key[1]))):
        pool = sorted(pools[template, bin_], key=attrgetter("id"))
        if rule == "alphabetical":
            picked = sorted(pool, key=completed_cue)[:PER_TEMPLATE_AND_BIN]
        else:
            picked = RandomStream("selection", seed, template, bin_).sample(pool, PER_TEMPLATE_AND_BIN)
        chosen += sorted(picked, key=attrgetter("id"))
    return chosen


def completed_cue(question: Question) -> str:
    """Return the cue as the published tables write it: `(*, {High Line}, {Zoe Brown}, *)`."""
    values = (question.time, question.space, question.entity, question.content)
    return "(" + ", ".join("*" if value is None else f"{{{value}}}" for value in values) + ")"
