"""A Tulving book as a dataset: the configs `qa`, `all_questions`, `finetune`, `chapters`, `book`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epbench.hub.dataset_folder import Config, columns_of
from epbench.tulving.chapters.chapter import Chapter, assemble
from epbench.tulving.chapters.loop import Writing
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


def configs_of(data: BookData) -> list[Config]:
    """Return the five configs of the dataset, the default first."""
    tuning = single_event(data.questions)
    return [
        Config("qa", "test", question_features(), columns_of(data.selected, Question._fields)),
        Config("all_questions", "test", question_features(), columns_of(data.questions, Question._fields)),
        Config(
            "finetune",
            "train",
            _finetune_features(),
            {"id": [question.id for question in tuning], "messages": [chat(question) for question in tuning]},
        ),
        Config("chapters", "test", _chapter_features(), columns_of(map(_chapter_row, data.chapters), _CHAPTER_COLUMNS)),
        Config("book", "test", _book_features(), {"title": [data.title], "text": [data.book()]}),
    ]


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


def question_features() -> Features:
    """Return the types of the columns of `qa` and `all_questions`; `Question` describes them."""
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
