"""Memory systems and a reader with one planted fault each, which go through the whole evaluation on template rows.

Each fault knows only as much about the rows as it needs, such as the conditions that it drops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from epbench.memfail.dataset.questions import facts_to_store, questions_of
from epbench.memfail.dataset.schema import Row, complete
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.protocol import Judge
from epbench.memfail.pipeline.harness import run_config
from epbench.memfail.pipeline.prompts import load_prompts
from epbench.memfail.pipeline.queries import gold_of
from epbench.memfail.pipeline.reader import LexicalReader
from epbench.memfail.pipeline.setting import Setting
from epbench.memfail.templates.rows import make_rows
from epbench.memories.baselines import FullContext, Oracle, choose_system
from epbench.memories.load import SystemSpec
from epbench.memories.protocol import Conversation
from epbench.models.protocol import Model, Reply, Request
from epbench.runs.answers import no_progress
from epbench.runs.folder import open_run

Plant = Callable[[Sequence[Fact], Sequence[Question]], SystemSpec]


class DropsConditions(FullContext):
    """Shortens what it stores: keeps the habits and drops their conditions."""

    def __init__(self, conditions: Sequence[str]) -> None:
        super().__init__()
        self._conditions = conditions

    def store_conversation(self, conversation: Conversation) -> None:
        super().store_conversation(conversation)
        for condition in self._conditions:
            self.told = [text.replace(f" {condition}", "") for text in self.told]


class Overwrites(FullContext):
    """Treats every new fact of a category as a correction of the previous one."""

    def __init__(self, category_of: Mapping[str, str]) -> None:
        super().__init__()
        self._category_of, self._latest = category_of, {}

    def store_conversation(self, conversation: Conversation) -> None:
        for turn in conversation:
            if turn["role"] == "user":
                self._latest[self._category_of[turn["content"]]] = turn["content"]
        self.told = list(self._latest.values())


class Astray(Oracle):
    """Keeps everything and retrieves useless memories, which the question does not need."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        return [text for text in self.told if text not in self._gold[query]][:k]


class Inattentive:
    """A reader that ignores its notes."""

    name = identity = "inattentive"

    def window(self) -> int | None:
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return len(request.user.split()), 0

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        for request in requests:
            yield Reply(request.key(self.name), request.id, "Let us talk about the weather instead.")


def template(config: str, n: int = 100, seed: int = 0) -> tuple[list[Fact], list[Question]]:
    """Return the facts and questions of template rows."""
    rows: list[Row] = complete(config, make_rows(config, n, seed))
    return facts_to_store(config, rows), questions_of(config, rows)


def drops_conditions(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    conditions = [question.about["condition"] for question in questions]
    return SystemSpec("planted", lambda: DropsConditions(conditions), beyond_k=True)


def overwrites(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", lambda: Overwrites({fact.text: fact.row for fact in facts}), beyond_k=True)


def forgets(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    """Every new essay replaces the previous one, so only the last row is known."""
    return SystemSpec("planted", lambda: Overwrites({fact.text: "" for fact in facts}), beyond_k=True)


def astray(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", lambda: Astray(gold_of(questions, Setting())))


def full_context(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return choose_system("full-context", {})


def oracle(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return choose_system("oracle", gold_of(questions, Setting()))


def run(
    folder: Path, config: str, plant: Plant, judge: Judge, *, n: int = 100, model: Model | None = None,
    ks: tuple[int, ...] = (5,),
) -> list[Outcome]:  # fmt: skip
    """Return the outcomes of a system on n template rows; `plant` makes the system from facts and questions."""
    facts, questions = template(config, n)
    system, setting = plant(facts, questions), Setting(ks=ks)
    identity = {"benchmark": "memfail", "config": config, "system": system.name}
    with open_run(folder, identity, {"label": "planted"}):
        output = run_config(
            folder, facts, questions, system, model or LexicalReader(), load_prompts(), setting, no_progress
        )
        return diagnose(folder, output.records, output.stores, judge, no_progress)
