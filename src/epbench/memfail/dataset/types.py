"""The types of MemFail: what is stored, what is asked, which memories a question needs, and what a system did with it.

Paper: Sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

CONFIGS = ("conditional_facts_easy", "conditional_facts_hard", "coexisting_facts", "persona_retrieval", "long_hop")

Kind = Literal["", "direct", "misleading"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One text to be stored: a single fact, or an essay that holds several.

    Attributes:
        id: The row's id and the number of the text in it, `<row>/<number>`.
        row: Id of the row that the text belongs to. Two facts of one row may be links of one chain.
        text: What the user says.
    """

    id: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class GoldMemory:
    """A memory that a question cannot be answered without.

    Attributes:
        fact: Id of the stored fact.
        text: Text of the stored fact.
        link: Texts that identify the memory, such as an entity and its behavior.
        detail: Texts that a faithful memory also keeps, such as the condition of the behavior. May be empty.
    """

    fact: str
    text: str
    link: tuple[str, ...]
    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One graded question.

    Attributes:
        id: Stable id, unique within its config.
        config: One of `CONFIGS`.
        row: Id of the row that the question comes from.
        kind: For persona questions `direct`, or `misleading` if the question is about somebody the row says nothing
            about; empty for all others.
        text: What the reader is asked, options included.
        query: What the memory is asked; for a multiple-choice question the stem alone.
        gold: The memories that the question needs, in the order of the chain.
        reference: The true answer.
        choices: Options of a multiple-choice question, starting with A; empty otherwise.
        group: What the results are grouped by: whether the condition is met, the number of preferences, the kind, or
            the number of hops.
        about: Whatever else the row says, by column name: entity, behavior, condition, distractor, …
    """

    id: str
    config: str
    row: str
    kind: Kind
    text: str
    query: str
    gold: tuple[GoldMemory, ...]
    reference: str
    choices: tuple[str, ...] = ()
    group: str = ""
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """What a system did for one question at one k.

    Attributes:
        question: The question that was asked.
        k: Number of memories that were asked for.
        store: Name of the store that was asked: the row's id if every row has a store of its own, otherwise empty.
        memories: The memories that came back, best first.
        answer: The answer of the reader, who saw these memories.
        failure: Why there is no answer; None if there is one.
    """

    question: Question
    k: int
    store: str
    memories: tuple[str, ...] = ()
    answer: str = ""
    failure: str | None = None

    @property
    def id(self) -> str:
        """Id of the query and of the request to the reader."""
        return f"{self.question.id}@{self.k}"
