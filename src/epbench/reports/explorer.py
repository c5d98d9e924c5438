"""Question by question: the part of a page in which each question of a run can be found, filtered and read.

A benchmark makes a `QuestionCard` for each question; `explorer_html` turns them into HTML with their texts as data. The
texts never become markup: a script of the page reads them and shows them as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from epbench.files.text import printable
from epbench.reports.page import render

Outcome = Literal["right", "wrong", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "failed")
MOST_BYTES = 20_000_000  # the size of the texts of evidence up to which a page carries them
MOST_QUESTIONS = 40_000
"""The number of questions up to which a page carries all of them; the largest dataset has 35,000."""
MOST_CHARACTERS = 100_000  # the length of an answer or a reason up to which a page shows it whole


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a text of evidence that is marked."""

    where: str | tuple[int, int]  # words, wherever they occur, in any case; or the characters from and to
    label: str  # what the mark says, such as `time` or `item found`; it stands in words beside the marked ones
    kind: Literal["cue", "found", "lost"] = "cue"  # what the question gives, or what the answer has or has not


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that a question is about."""

    source: str  # where it is from, such as `Chapter 7`
    text: int  # its number among the texts of the page
    marks: Sequence[Mark] = ()  # what is marked in it


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way from what was told to the answer."""

    name: str  # the name of the step, such as `stored`
    state: str  # `passed`, `not passed`, or why nothing is known, such as `not judged`
    text: str | None = None  # what was there at that step; None if nothing is known of it
    note: str = ""  # what else is to be said, such as the judge's words, with who says so; empty for nothing


@dataclass(frozen=True, slots=True)
class Trail:
    """The steps of one thing that a question needs, with a title in words."""

    title: str
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class QuestionCard:
    """All that a page says of one question."""

    id: str  # what the question is called; it stands in the list
    facets: Mapping[str, str]  # what questions are filtered by, value by name, such as `{"bin": "1"}`
    outcome: Outcome  # what became of it; a failed question is neither right nor wrong
    question: str  # the question
    reference: Sequence[str]  # the true answer, one entry for each true item
    answer: str | None  # what was answered; None without an answer
    verdict: str = ""  # the outcome in numbers or words; empty for none
    reason: str = ""  # why, in the judge's words, or why the question failed; empty for nothing
    evidence: Sequence[Evidence] = ()  # the texts that it is about
    retrieved: Sequence[str] | None = None  # what was retrieved, best first; None where the run does not say
    trails: Sequence[Trail] = ()  # the stages that it went through
    score: float | None = None  # what the answer is worth, 0 to 1; None for 1 if it is right and 0 if it is wrong

    @property
    def worth(self) -> float | None:
        """The score, or else 1 for right and 0 for wrong; None for a failed question."""
        right = float(self.outcome == "right") if self.score is None else self.score
        return None if self.outcome == "failed" else right


def versus_html(
    runs: Mapping[str, Sequence[QuestionCard]], texts: Sequence[str] = (), notes: Sequence[str] = ()
) -> str:
    """An explorer of several runs: each question with what every run made of it, and a paired test of those shown.

    Cards of one id are about one question, whose texts are those of the first run that has it. A single run, or none,
    makes an empty text.
    """
    of_run = {label: {card.id: card for card in cards} for label, cards in runs.items()}
    cards = list({card.id: card for cards in reversed(list(runs.values())) for card in cards}.values())
    places = {card.id: place for place, card in enumerate(next(iter(runs.values()), ()))}
    cards.sort(key=lambda card: places.get(card.id, len(places)))
    facets = [{name: of for name, of in card.facets.items() if name not in _OF_ANSWERS} for card in cards]
    bare = [
        replace(card, facets=about, answer=None, verdict="", reason="", retrieved=None, trails=())
        for card, about in zip(cards, facets, strict=True)
    ]
    return explorer_html(bare, texts, notes, runs=of_run) if len(runs) > 1 else ""


_OF_ANSWERS = ("label", "answered", "both segments retrieved")
"""Facets that are about an answer, and not about a question."""


def explorer_html(
    cards: Sequence[QuestionCard],
    texts: Sequence[str] = (),
    notes: Sequence[str] = (),
    n_questions: int | None = None,
    runs: Mapping[str, Mapping[str, QuestionCard]] | None = None,
) -> str:
    """The explorer as HTML for the body of a page; no cards make an empty text.

    After `MOST_QUESTIONS` cards, of `n_questions` if `cards` has only the first of them, the others are left out. The
    evidence names `texts` by their numbers; if they have more than `MOST_BYTES`, they are left out. The page says both.
    On a page of several runs, `runs` has the card of each question by its id, by the label of the run.
    """
    from markupsafe import Markup

    if not cards:
        return ""
    shown = cards[:MOST_QUESTIONS]
    if (n := n_questions or len(cards)) > len(shown):
        notes = [*notes, f"Of {n:,} questions the first {len(shown):,} are here; questions.parquet has all."]
    size = sum(len(text.encode()) for text in map(printable, texts))
    if size > MOST_BYTES:
        most = f"they have {size / 1e6:,.0f} MB, and a page carries {MOST_BYTES / 1e6:,.0f} MB"
        notes, texts = [*notes, f"The texts that the questions are about are left out: {most}."], ()
    data = script_json(_data(shown, list(texts), runs))
    return render("explorer", notes=[printable(note) for note in notes], data=Markup(data))


def script_json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element, begin a comment or break a line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class _Numbers(dict[str, int]):
    """Texts with numbers, each once."""

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


@dataclass
class _MarkNumbers:
    """Lists of marks with numbers: the chapters of a question share theirs, which hold all of its true items."""

    lists: list[list[Any]] = field(default_factory=list)
    last: tuple[Sequence[Mark], str | None] = ((), None)

    def of(self, marks: Sequence[Mark], text: str) -> int:
        fits = None if all(isinstance(mark.where, str) for mark in marks) else text  # places are those of one text
        if not self.lists or self.last[0] is not marks or self.last[1] != fits:
            self.lists.append([[_where(mark.where, text), printable(mark.label), mark.kind] for mark in marks])
            self.last = marks, fits
        return len(self.lists) - 1


def _data(
    cards: Sequence[QuestionCard], texts: list[str], runs: Mapping[str, Mapping[str, QuestionCard]] | None = None
) -> dict[str, Any]:
    """What the script reads: lists in place of objects, and each text or list of marks that is shared once."""
    numbers, marks = _Numbers(), _MarkNumbers()
    facets = {name: _Numbers() for card in cards for name in card.facets}
    questions = [
        [
            printable(card.id),
            OUTCOMES.index(card.outcome),
            [numbered[card.facets.get(name, "–")] for name, numbered in facets.items()],
            printable(card.question),
            list(map(printable, card.reference)),
            *_said(card),
            [
                [printable(one.source), numbers[texts[one.text]], marks.of(one.marks, texts[one.text])]
                for one in (card.evidence if texts else ())
            ],
            *_found(card, numbers),
        ]
        for card in cards
    ]
    of_runs = [[_of_run(of.get(card.id), numbers) for card in cards] for of in (runs or {}).values()]
    several = {"runs": {"labels": list(map(printable, runs)), "of": of_runs}} if runs else {}
    return several | {
        "facets": [[printable(name), list(map(printable, numbered))] for name, numbered in facets.items()],
        "texts": list(map(printable, numbers)),
        "marks": marks.lists,
        "questions": questions,
    }


def _of_run(card: QuestionCard | None, numbers: _Numbers) -> list[Any] | None:
    """What one of several runs made of a question; None if it did not ask it."""
    return None if card is None else [OUTCOMES.index(card.outcome), card.worth, *_said(card), *_found(card, numbers)]


def _said(card: QuestionCard) -> list[Any]:
    return [None if card.answer is None else _cut(card.answer), printable(card.verdict), _cut(card.reason)]


def _found(card: QuestionCard, numbers: _Numbers) -> list[Any]:
    retrieved = None if card.retrieved is None else [numbers[text] for text in card.retrieved]
    return [retrieved, [_trail(trail, numbers) for trail in card.trails]]


def _cut(text: str) -> str:
    """The text as far as a page shows it."""
    rest = len(text) - MOST_CHARACTERS
    more = f" … ({rest:,} more characters are not shown)" if rest > 0 else ""
    return printable(text[:MOST_CHARACTERS]) + more


def _where(where: str | tuple[int, int], text: str) -> str | list[int]:
    """As a browser counts: it takes a character outside of the basic plane for two."""
    if isinstance(where, str):
        return printable(where)
    return [len(text[:end].encode("utf-16-le", "surrogatepass")) // 2 for end in where]


def _trail(trail: Trail, numbers: _Numbers) -> list[Any]:
    steps = [(s.name, s.state, None if s.text is None else numbers[s.text], printable(s.note)) for s in trail.steps]
    return [printable(trail.title), steps]
