"""Which items of an answer are invented, where each of them comes from, and the cards of questions that show it.

Papers on this: Appendices E.8, where people traced the answers of one model by hand, and F, where one model wrote the turns
of people and of assistants after its answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from epbench.hub.rows import Row
from epbench.journals.journal import Record, read_journal
from epbench.memories.recall import shown_of
from epbench.memories.session import RETRIEVED
from epbench.reports.explorer import Evidence, Mark, QuestionCard, explorer_html
from epbench.reports.tables import cell
from epbench.tulving.context.requests import read_passages
from epbench.tulving.events.dates import MONTHS
from epbench.tulving.judging.lexical import SMALL_WORDS, in_a_row, is_in, normal
from epbench.tulving.judging.verdicts import first_scores

_DAY = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}})\b", re.IGNORECASE)

Source = Literal["matching", "near", "far", "question", "nowhere"]
"""Where an invented item stands: in a chapter that matches the question, in one that has some of what the question gives, in
one that has nothing of it, in the question alone, or nowhere."""
SOURCES: tuple[Source, ...] = get_args(Source)
_WORDS = ("which matches", "which matches in part", "which does not match", "in the question", "nowhere")
CUE = ("time", "space", "entity", "content")  # the columns of what a question gives


def invented_items(items: Sequence[str], reference: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the items of an answer that are not true for its question, each once.

    A verdict does not say which item is meant by which true one. An item is true if it has the words of a true item in a
    row, or these have its words, such as a date without its year. For each true item with points that is in no item's
    words, the item that shares the most words with it counts as the one that was meant, as a judge knows other words for
    the same thing.
    """
    of_true = first_scores(reference, scores)
    named = {words_of(item): item for item in reversed(items)}
    named.pop("", None)

    def says(words: str, true: str) -> bool:
        return is_in(true, words) or in_a_row(words, words_of(true))

    rest = [words for words in reversed(named) if not any(says(words, true) for true in of_true)]
    for true, score in of_true.items():
        if score > 0 and rest and not any(says(words, true) for words in named):
            meant = set(words_of(true).split())
            rest.remove(max(rest, key=lambda words: len(meant & set(words.split()))))
    return [named[words] for words in rest]


@lru_cache(maxsize=8192)  # questions, true items and much that is invented come again and again
def words_of(item: str) -> str:
    """Return the normalised words of an item; a date without a year becomes the numbers of its month and day."""
    return _DAY.sub(lambda date: f"{MONTHS.index(date[1].capitalize()) + 1:02} {int(date[2]):02}", normal(item))


@dataclass(frozen=True, slots=True)
class Traced:
    """Where an invented item comes from."""

    item: str
    source: Source  # where it stands
    # The number of the chapter that is nearest to the question of those that it stands in; None outside the book
    chapter: int | None = None
    shared: int | None = None  # how many of the given elements of the question that chapter has; None outside the book
    # How many chapters that one is away from the nearest one that matches; None if no chapter matches
    distance: int | None = None


class Tracer:
    """Finds the items of answers in one book, by their words after case, punctuation and dates are normalised."""

    def __init__(self, chapters: Iterable[tuple[int, str]], names: Iterable[str]) -> None:
        """Read the text of each chapter, which may end in what is known of its event, and the names in the book."""
        known = {number: f" {normal(text)} " for number, text in chapters}
        self._names = dict.fromkeys(filter(None, map(normal, names)))
        self._numbers = cache(lambda words: frozenset(n for n, text in known.items() if f" {words} " in text))

    def trace(self, item: str, question: str, cue: Sequence[str], matching: Collection[int] = ()) -> Traced:
        """Return where an invented item comes from, of a question that gives `cue`, and that the chapters `matching` match.

        Names in the item decide; what the question names is left out of them. Without such a name the item is from the question
        if it has a name or no other words than those of the question, and from a chapter that has its words in a row.
        """
        words, asked = words_of(item), words_of(question)
        if in_a_row(words, asked):
            return Traced(item, "question")
        inside = [words] if words in self._names else [name for name in self._names if in_a_row(name, words)]
        named = [name for name in inside if not in_a_row(name, asked)]
        if not named:
            echo = inside or any(is_in(given, words) for given in cue)
            if echo or set(words.split()) - SMALL_WORDS <= set(asked.split()):
                return Traced(item, "question")
        spots = {number for name in named or [words] for number in self._numbers(name)}
        if not spots:
            return Traced(item, "nowhere")
        given = [self._numbers(words_of(element)) for element in cue]

        def nearness(number: int) -> tuple[bool, int, int, int]:
            n_named = sum(number in self._numbers(name) for name in named)
            shared = sum(number in numbers for numbers in given)
            return number in matching, shared, n_named, -min((abs(number - one) for one in matching), default=0)

        chapter = max(sorted(spots), key=nearness)
        is_match, shared, _, away = nearness(chapter)
        source: Source = "matching" if is_match else "near" if shared else "far"
        return Traced(item, source, chapter, shared, -away if matching else None)


def trace_row(row: Row, tracer: Tracer) -> list[Traced]:
    """Return where each invented item of a judged row of questions.parquet comes from.

    The one item of a full account is left out where something happened: it does not say what of the account is invented.
    """
    if row["trace"] == "full_details" and len(row["reference"]):
        return []
    cue = [row[name] for name in CUE if isinstance(row[name], str)]  # pandas has NaN for what is not given
    chapters = [int(number) for number in row["chapters"]]
    invented = invented_items(list(row["items"]), list(row["reference"]), list(row["scores"]))
    return [tracer.trace(item, row["question"], cue, chapters) for item in invented]


def with_inventions(rows: Sequence[Row], chapters: Iterable[tuple[int, str]]) -> list[Row]:
    """Return rows of questions.parquet, with a field `invented` that says what an answer invented, and from where.

    Names in the book are what rows that match something give and ask for.
    """
    known = [row for row in rows if row["chapters"] and row["trace"] != "full_details"]
    names = [name for row in known for name in (*row["reference"], *(row[given] for given in CUE)) if name]
    tracer, found = Tracer(chapters, names), []
    for row in rows:
        told = []
        for one in trace_row(row, tracer) if row["outcome"] != "failed" else ():
            place = "" if one.chapter is None else f"chapter {one.chapter}, "
            told.append(f"{one.item} ({place}{_WORDS[SOURCES.index(one.source)]})")
        found.append(row | {"invented": "; ".join(told)})
    return found


_TURN = re.compile(
    r"^[ \t>#*_-]*(?P<who>Human|User|Assistant|Question)(?: \d+)?[*_]*:"
    r"|<\|im_start\|>|<\|(?:user|assistant)\|>|<\|start_header_id\|>|<start_of_turn>|\[INST\]|^### Instruction",
    re.MULTILINE,
)


def made_up_turns(answer: str) -> int:
    """Return how many turns of a dialogue with itself a model wrote into its answer.

    A turn begins with a line such as `## Human: …`, `User:`, `**Assistant:**` or `Question:`, or with a mark of a chat template.
    At the start of the answer, `Assistant:` and the question once more are no dialogue.
    """
    start = len(answer) - len(answer.lstrip())
    return sum(turn.start() > start or turn["who"] in ("Human", "User") for turn in _TURN.finditer(answer))


# The cards of questions

Chapters = Sequence[tuple[int, str]]
"""The number and the text of each chapter."""

MOST_CARDS = 10_000
"""The number of questions, repeats included, up to which a page has all; a book has fewer, each of some kilobytes."""

NO_BOOK = "The book was not at hand when this page was made, so the chapters that match a question are not shown."
ABOUT = (
    "A cue names what a question gives: t time, s space, e entity, c content. Right is an F1 of 1. Bin 0 asks for what never "
    "happened: no chapter matches, and an abstention is right."
)
_MARKED = "Of the chapters that match a question, the paragraphs with what it gives or asks for are shown first."


def questions_html(folder: Path, records: Sequence[Record], chapters: Chapters | None, n_questions: int) -> str:
    """The `n_questions` of a run as HTML for its page, from the first records; it says so if the chapters are not at hand."""
    known = chapters or ()
    places = {number: place for place, (number, _) in enumerate(known)}
    cards = cards_of(with_inventions(records, known) if known else records, places, retrieved_of(folder, known))
    return explorer_html(cards, [text for _, text in known], [ABOUT, _MARKED if known else NO_BOOK], n_questions)


def cards_of(
    records: Sequence[Record], places: Mapping[int, int], retrieved: Mapping[str, Sequence[str]]
) -> list[QuestionCard]:
    """A card for each row of questions.parquet, with what a reader was shown by the id of the question.

    `places` has, by number of a chapter, the number of its text on the page; others are not shown.
    """
    repeated = any(record["repeat"] for record in records)
    facets = ("bin", "cue", "trace", "get", *(["repeat"] if repeated else []))

    def card(record: Record) -> QuestionCard:
        marks = list(_marks(record))
        return QuestionCard(
            id=f"{record['id']}, repeat {record['repeat']}" if repeated else record["id"],
            facets={name: str(record[name]) for name in facets},
            outcome=record["outcome"],
            question=record["question"],
            reference=record["reference"],
            answer=record["answer"],
            verdict="" if record["outcome"] == "failed" else _verdict(record),
            score=record.get("f1"),
            reason=record.get("failure") or record.get("reason") or "",
            evidence=[Evidence(f"Chapter {n}", places[n], marks) for n in record["chapters"] if n in places],
            retrieved=retrieved.get(record["id"]),
        )

    return list(map(card, records))


def _verdict(record: Record) -> str:
    """F1 with its parts, what was found of each true item, and where invented ones come from, a line each."""
    order = "" if record.get("tau") is None else f", tau {cell(record['tau'])}"
    scored = zip(record["reference"], record["scores"], strict=True)
    return "\n".join(
        [
            f"F1 {cell(record['f1'])} (precision {cell(record['precision'])}, recall {cell(record['recall'])}; "
            f"harsh F1 {cell(record['harsh_f1'])}{order})",
            *(f"{_item_label(score)[0]}: {item}" for item, score in scored),
            f"items in the answer: {'; '.join(map(str, record['items'])) or 'none'}",
            *([f"invented: {record['invented']}"] if record.get("invented") else []),
        ]
    )


def _marks(record: Record) -> Iterator[Mark]:
    for name in CUE:
        if record[name] is not None:
            yield Mark(record[name], f"{name}, given")
    scores: Sequence[float | None] = record.get("scores") or [None] * len(record["reference"])
    for item, score in zip(record["reference"], scores, strict=True):
        label, kind = _item_label(score)
        yield Mark(item, label, kind)


def _item_label(score: float | None) -> tuple[str, Any]:
    if score is None:
        return "true item", "cue"
    if score == 0:
        return "item not found", "lost"
    return ("item found" if score == 1 else f"item found in part ({score:.2f})"), "found"


def retrieved_of(folder: Path, chapters: Chapters) -> dict[str, Sequence[str]]:
    """What was retrieved, by id of the question: passages of the book, or memories of a system."""
    records = read_journal(folder / RETRIEVED).items()
    found = shown_of(folder, {key: record["memories"] for key, record in records if "memories" in record})
    return {**read_passages(folder, chapters), **{key.rpartition("@")[0]: memories for key, memories in found.items()}}
