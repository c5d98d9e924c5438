"""The words of MemFail: what is stored, what is asked, what it needs, and what a system did with it.

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
    """One thing to be stored: an essay, or a fact.

    Attributes:
        id: `<row>/<number>`.
        row: id of the row that it belongs to; two units of one row may be links of one chain.
        text: as the user tells it.
    """

    id: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class GoldMemory:
    """A memory that a question cannot do without.

    Attributes:
        unit: id of what was stored.
        text: the same, as it was stored.
        link: texts that tell which memory it is, such as an entity and its behaviour.
        detail: texts that a faithful memory keeps as well, such as the condition of the behaviour.
    """

    unit: str
    text: str
    link: tuple[str, ...]
    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One graded question.

    Attributes:
        id: stable, unique within its config.
        config: one of `CONFIGS`.
        row: id of its row.
        kind: of persona questions: `direct`, or `misleading` (about somebody whom the row says nothing of).
        text: what the reader is asked, options included.
        query: what the memory is asked; of a multiple choice the stem alone.
        needs: the memories that it needs, in the order of the chain.
        truth: the true answer.
        choices: of a multiple choice, from A on.
        group: what results are told apart by: whether the condition is met, number of preferences, kind, or hops.
        about: what else the row says: entity, behavior, condition, distractor, …
    """

    id: str
    config: str
    row: str
    kind: Kind
    text: str
    query: str
    needs: tuple[GoldMemory, ...]
    truth: str
    choices: tuple[str, ...] = ()
    group: str = ""
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """What a system did for one question.

    Attributes:
        question: that was asked.
        k: how many memories were asked for.
        store: name of the store that was asked; a row's id where every row has its own, else "".
        memories: that came back, best first.
        answer: of the reader, who saw these memories.
        failure: why there is no answer; None if there is one.
    """

    question: Question
    k: int
    store: str
    memories: tuple[str, ...] = ()
    answer: str = ""
    failure: str | None = None
