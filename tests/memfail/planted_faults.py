"""Memory systems and a reader with one planted fault each, run through the whole evaluation on template rows.

Each fault knows of the rows only what it needs to do its damage, such as the conditions that it drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from epbench.memfail.dataset.questions import facts_to_store, questions_of
from epbench.memfail.dataset.schema import Row, complete
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.protocol import Judge
from epbench.memfail.pipeline.harness import Setting, gold_of, run_config
from epbench.memfail.pipeline.prompts import load_prompts
from epbench.memfail.pipeline.reader import LexicalReader
from epbench.memfail.templates.rows import make_rows
from epbench.memories.baselines import FullContext, Oracle
from epbench.memories.load import load_memory
from epbench.memories.protocol import Conversation
from epbench.memories.spec import SystemSpec
from epbench.models.protocol import Model, Request
from epbench.models.rules import RuleBasedReader
from epbench.runs.answers import no_progress
from epbench.runs.folder import open_run

Plant = Callable[[Sequence[Fact], Sequence[Question]], SystemSpec]


class DropsConditions(FullContext):
    """Shortens what it stores: habits stay, their conditions go."""

    def __init__(self, conditions: Sequence[str]) -> None:
        super().__init__()
        self._conditions = conditions

    def store_conversation(self, conversation: Conversation) -> None:
        super().store_conversation(conversation)
        for condition in self._conditions:
            self.stored = [text.replace(f" {condition}", "") for text in self.stored]


class Overwrites(FullContext):
    """Takes what is new in a category for a correction of what it knew there."""

    def __init__(self, category_of: Mapping[str, str]) -> None:
        super().__init__()
        self._category_of, self._latest = category_of, {}

    def store_conversation(self, conversation: Conversation) -> None:
        for turn in conversation:
            if turn["role"] == "user":
                self._latest[self._category_of[turn["content"]]] = turn["content"]
        self.stored = list(self._latest.values())


class Astray(Oracle):
    """Keeps everything and finds the wrong ones: memories that the question does not need."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        return [text for text in self.stored if text not in self._gold[query]][:k]


class Inattentive(RuleBasedReader):
    """A reader that has nothing to say about its notes."""

    name = "inattentive"

    def answer_to(self, request: Request) -> str:
        return "Let us talk about the weather instead."


def template(config: str, n: int = 100, seed: int = 0) -> tuple[list[Fact], list[Question]]:
    """Units and questions of template rows."""
    rows: list[Row] = complete(config, make_rows(config, n, seed))
    return facts_to_store(config, rows), questions_of(config, rows)


def drops_conditions(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    conditions = [question.about["condition"] for question in questions]
    return SystemSpec("planted", lambda: DropsConditions(conditions), beyond_k=True)


def overwrites(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", lambda: Overwrites({unit.text: unit.row for unit in units}), beyond_k=True)


def forgets(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    """Every new essay takes the place of the one before: of all rows only the last is known."""
    return SystemSpec("planted", lambda: Overwrites({unit.text: "" for unit in units}), beyond_k=True)


def astray(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", lambda: Astray(gold_of(questions, Setting())))


def full_context(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return load_memory("full-context", {})


def oracle(units: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return load_memory("oracle", gold_of(questions, Setting()))


def run(
    folder: Path, config: str, plant: Plant, judge: Judge, *, n: int = 100, model: Model | None = None,
    ks: tuple[int, ...] = (5,),
) -> list[Outcome]:  # fmt: skip
    """Outcomes of a system on n template rows; `plant` makes it from units and questions."""
    units, questions = template(config, n)
    system, setting = plant(units, questions), Setting(ks=ks)
    identity = {"benchmark": "memfail", "config": config, "system": system.name}
    with open_run(folder, identity, {"label": "planted"}):
        output = run_config(
            folder, units, questions, system, model or LexicalReader(), load_prompts(), setting, no_progress
        )
        return diagnose(folder, output.traces, output.stores, judge, no_progress)
