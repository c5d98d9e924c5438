"""A Tulving book as a dataset: the configs `qa`, `all_questions`, `finetune`, `chapters`, `book`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from epbench.hub.dataset_folder import Column, Config, columns_of
from epbench.tulving.chapters.chapter import Chapter, assemble, event_values
from epbench.tulving.chapters.loop import Writing
from epbench.tulving.levels.plan import Evidence
from epbench.tulving.questions.evidence import evidence_of
from epbench.tulving.questions.generate import Question, single_event

NO_ANSWER = "Nothing in the book answers that."


@dataclass(frozen=True)
class BookData:
    """Everything that the dataset of one book holds."""

    title: str  # the title of the book, unique to its universe, seed and length
    chapters: Sequence[Chapter]  # the chapters in the order of the book
    questions: Sequence[Question]  # all questions, in the order of the dataset
    selected: Sequence[Question]  # the questions that are asked
    text: str = ""  # the whole book as published, word for word; "" for a book that is assembled from its chapters
    writing: Writing | None = None  # how the chapters were written; None for a published book
    universe_hash: str | None = None  # hash of the files of a universe of the user's own; None for one of the package

    def book(self) -> str:
        """The text of the whole book."""
        return self.text or assemble(self.chapters)

    @property
    def n_words(self) -> int:
        """The words of the whole book with its headings, counted without a list of them, which may need half a gigabyte."""
        lines = self.text.splitlines() if self.text else (assemble([chapter]) for chapter in self.chapters)
        return sum(len(line.split()) for line in lines)


BOOK_ROW = 1_500_000
"""The most characters of a row of the config `book`: the Hub's viewer shows rows of up to two megabytes."""


def configs_of(data: BookData) -> list[Config]:
    """Return the five configs of the dataset, the default first.

    From level 2 on, `qa` also has the paragraphs that answer each question, and over how many links; and `chapters` has how
    each fact is told, and the paragraphs that prove it.
    """
    from datasets import Features, List, Value

    text, number = Value("string"), Value("int32")
    question = dict.fromkeys(Question._fields, text) | dict.fromkeys(("template", "n_chapters"), number)
    question |= {"answer": List(text), "chapters": List(number)}
    chapter = dict.fromkeys(_CHAPTER_COLUMNS, text) | dict.fromkeys(("chapter", "n_paragraphs"), number)
    chapter |= {"secondary_entities": List(text)}
    asked, extra = columns_of(data.selected, Question._fields), dict[str, Any]()
    chapter_columns, facts = columns_of(list(map(_chapter_row, data.chapters)), _CHAPTER_COLUMNS), dict[str, Any]()
    if any(chapter.evidence for chapter in data.chapters):
        extra = {"links": number, "evidence": List({"chapter": number, "paragraph": number})}
        facts = {"facts": List({"fact": text, "words": text, **extra})}
        chapters = {chapter.number: chapter for chapter in data.chapters}
        evidence = [evidence_of(asked_question, chapters) for asked_question in data.selected]
        asked |= {"links": [entry.links for entry in evidence], "evidence": [_spots(entry) for entry in evidence]}
        chapter_columns |= {"facts": [_fact_rows(chapter) for chapter in data.chapters]}
    tuning = single_event(data.questions)
    messages = {"id": text, "messages": List({"role": text, "content": text})}
    book, parts = {"title": text, "text": Value("large_string")}, book_parts(data.book())
    return [
        Config("qa", "test", Features(question | extra), asked),
        Config("all_questions", "test", Features(question), columns_of(data.questions, Question._fields)),
        Config(
            "finetune",
            "train",
            Features(messages),
            {"id": Column(tuning, attrgetter("id")), "messages": Column(tuning, chat)},
        ),
        Config("chapters", "test", Features(chapter | facts), chapter_columns),
        Config("book", "test", Features(book), {"title": [data.title] * len(parts), "text": parts}),
    ]


def book_parts(text: str, most: int = BOOK_ROW) -> list[str]:
    """Cut the text of a book into parts of at most so many characters, which give it again when they are joined.

    A part ends after a blank line; only a paragraph that is longer is cut within.
    """
    parts, start = [], 0
    while len(text) - start > most:
        end = text.rfind("\n\n", start, start + most) + 2
        parts.append(text[start : (end if end > start + 2 else start + most)])
        start += len(parts[-1])
    return [*parts, text[start:]]


def _fact_rows(chapter: Chapter) -> list[dict[str, Any]]:
    assert chapter.told is not None, "a chapter with evidence has words for its facts"
    return [
        {"fact": fact, "words": chapter.told[fact], "links": evidence.links, "evidence": _spots(evidence)}
        for fact, evidence in chapter.evidence.items()
    ]


def _spots(evidence: Evidence) -> list[dict[str, int]]:
    return [{"chapter": chapter, "paragraph": paragraph} for chapter, paragraph in sorted(evidence.spots)]


def chat(question: Question) -> list[dict[str, str]]:
    """Return a question with its answer as a dialogue, for fine-tuning (paper: Appendix B.2.5)."""
    told = {"user": question.question, "assistant": answer_text(question.answer)}
    return [{"role": role, "content": content} for role, content in told.items()]


def answer_text(items: Sequence[str]) -> str:
    """Return items as a phrase: `a`, `a and b`, `a, b and c`."""
    if not items:
        return NO_ANSWER
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


_CHAPTER_COLUMNS = "chapter date location entity content detail style n_paragraphs text secondary_entities".split()


def _chapter_row(chapter: Chapter) -> tuple[Any, ...]:
    values = event_values(chapter.event).values()
    return chapter.number, *values, chapter.style, chapter.n_paragraphs, chapter.text, list(chapter.secondary)
