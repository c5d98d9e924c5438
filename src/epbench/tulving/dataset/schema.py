"""A Tulving book as a dataset: the configs `qa`, `all_questions`, `finetune`, `chapters`, `book`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from epbench.hub.dataset_folder import Column, Config, columns_of
from epbench.tulving.chapters.chapter import Chapter, assemble
from epbench.tulving.chapters.loop import Writing
from epbench.tulving.levels.plan import Evidence
from epbench.tulving.questions.evidence import evidence_of
from epbench.tulving.questions.generate import Question, single_event

if TYPE_CHECKING:
    from datasets import Features

NO_ANSWER = "Nothing in the book answers that."


@dataclass(frozen=True)
class BookData:
    """Everything that the dataset of one book holds.

    Attributes:
        title: The title of the book, unique to its universe, seed and length.
        chapters: The chapters in the order of the book.
        questions: All questions, in the order of the dataset.
        selected: The questions that are asked.
        text: The whole book as published, word for word; "" for a book that is assembled from its chapters.
        writing: How the chapters were written; None for a published book.
        universe_hash: The hash of the files of a universe of the user's own; None for one of the package.
    """

    title: str
    chapters: Sequence[Chapter]
    questions: Sequence[Question]
    selected: Sequence[Question]
    text: str = ""
    writing: Writing | None = None
    universe_hash: str | None = None

    def book(self) -> str:
        """The text of the whole book."""
        return self.text or assemble(self.chapters)

    @property
    def n_words(self) -> int:
        """The words of the whole book with its headings, counted without a list of them, which may need half a gigabyte."""
        lines = self.text.splitlines() if self.text else (assemble([chapter]) for chapter in self.chapters)
        return sum(len(line.split()) for line in lines)


def configs_of(data: BookData) -> list[Config]:
    """Return the five configs of the dataset, the default first."""
    tuning = single_event(data.questions)
    return [
        _qa(data),
        Config("all_questions", "test", question_features(), columns_of(data.questions, Question._fields)),
        Config(
            "finetune",
            "train",
            _finetune_features(),
            {"id": Column(tuning, attrgetter("id")), "messages": Column(tuning, chat)},
        ),
        _chapters(data),
        Config("book", "test", _book_features(), {"title": [data.title], "text": Column([data], BookData.book)}),
    ]


def _qa(data: BookData) -> Config:
    """The selected questions; from level 2 on with the paragraphs that answer each, and over how many links."""
    features, columns = question_features(), columns_of(data.selected, Question._fields)
    if has_evidence(data):
        chapters = {chapter.number: chapter for chapter in data.chapters}
        evidence = [evidence_of(question, chapters) for question in data.selected]
        features |= _evidence_features()
        columns |= {"links": [one.links for one in evidence], "evidence": [_spots(one) for one in evidence]}
    return Config("qa", "test", _features(features), columns)


def _chapters(data: BookData) -> Config:
    """The chapters with their events; from level 2 on with how each fact is told, and the paragraphs that prove it."""
    features, columns = _chapter_features(), columns_of(list(map(_chapter_row, data.chapters)), _CHAPTER_COLUMNS)
    if has_evidence(data):
        features |= {"facts": _fact_features()}
        columns |= {"facts": [_fact_rows(chapter) for chapter in data.chapters]}
    return Config("chapters", "test", _features(features), columns)


def has_evidence(data: BookData) -> bool:
    """Whether the chapters come with the evidence of their facts, as they do from level 2 on."""
    return any(chapter.evidence for chapter in data.chapters)


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
    return [
        {"role": "user", "content": question.question},
        {"role": "assistant", "content": answer_text(question.answer)},
    ]


def answer_text(items: Sequence[str]) -> str:
    """Return items as a phrase: `a`, `a and b`, `a, b and c`."""
    if not items:
        return NO_ANSWER
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


_CHAPTER_COLUMNS = (
    "chapter", "date", "location", "entity", "content", "detail", "style", "n_paragraphs", "text", "secondary_entities",
)  # fmt: skip


def _chapter_row(chapter: Chapter) -> tuple[Any, ...]:
    event = chapter.event
    return (
        chapter.number,
        event.time.isoformat(),
        event.space,
        event.entity,
        event.content,
        event.detail,
        chapter.style,
        chapter.n_paragraphs,
        chapter.text,
        list(chapter.secondary),
    )


def _features(columns: Mapping[str, Any]) -> Features:
    from datasets import Features

    return Features(dict(columns))


def _evidence_features() -> dict[str, Any]:
    from datasets import List, Value

    return {"links": Value("int32"), "evidence": List({"chapter": Value("int32"), "paragraph": Value("int32")})}


def _fact_features() -> Any:
    from datasets import List, Value

    return List({"fact": Value("string"), "words": Value("string"), **_evidence_features()})


def question_features() -> Features:
    """Return the types of the columns of `all_questions`, and of `qa` at level 1; `Question` describes them."""
    from datasets import Features, List, Value

    text, number = Value("string"), Value("int32")
    columns = dict.fromkeys(Question._fields, text)
    columns |= {"template": number, "n_chapters": number, "answer": List(text), "chapters": List(number)}
    return Features(columns)


def _finetune_features() -> Features:
    from datasets import Features, List, Value

    return Features({"id": Value("string"), "messages": List({"role": Value("string"), "content": Value("string")})})


def _chapter_features() -> Features:
    from datasets import Features, List, Value

    columns = dict.fromkeys(_CHAPTER_COLUMNS, Value("string"))
    columns |= {"chapter": Value("int32"), "n_paragraphs": Value("int32"), "secondary_entities": List(Value("string"))}
    return Features(columns)


def _book_features() -> Features:
    from datasets import Features, Value

    return Features({"title": Value("string"), "text": Value("large_string")})
