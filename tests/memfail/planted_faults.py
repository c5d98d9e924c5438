"""Memory systems and a reader with one planted fault each, which go through the whole evaluation on template rows.

Each fault knows only as much about the rows as it needs, such as the conditions that it drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from epbench.draws import RandomStream
from epbench.memfail.calibration.faults import negated, reversed_link, under_name
from epbench.memfail.context.reader import LexicalReader
from epbench.memfail.context.requests import ConfigRun, Setting, gold_of, load_prompts
from epbench.memfail.dataset.load import Fact, GoldMemory, Question, facts_to_store, questions_of
from epbench.memfail.dataset.schema import Row, complete
from epbench.memfail.evaluate import RunOutput, store_and_answer
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.lexical import Judge
from epbench.memfail.templates.rows import make_rows
from epbench.memories.load import FullContext, Oracle, load_memory
from epbench.memories.protocol import Conversation, SystemSpec
from epbench.models.protocol import Model, Request, RuleBasedReader
from epbench.progress import no_progress
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
            self.stored = [text.replace(f" {condition}", "") for text in self.stored]


class Overwrites(FullContext):
    """Treats every new fact of a category as a correction of the previous one."""

    def __init__(self, category_of: Mapping[str, str]) -> None:
        super().__init__()
        self._category_of, self._latest = category_of, {}

    def store_conversation(self, conversation: Conversation) -> None:
        for turn in conversation:
            if turn["role"] == "user":
                self._latest[self._category_of[turn["content"]]] = turn["content"]
        self.stored = list(self._latest.values())


class Astray(Oracle):
    """Keeps everything and retrieves useless memories, which the question does not need."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        return [text for text in self.stored if text not in self._gold[query]][:k]


class Rewrites(FullContext):
    """Stores other texts than it was told."""

    def __init__(self, instead: Mapping[str, str]) -> None:
        super().__init__()
        self._instead = instead

    def store_conversation(self, conversation: Conversation) -> None:
        super().store_conversation([turn | {"content": self._instead[turn["content"]]} for turn in conversation])


class ListsHalf(FullContext):
    """Keeps and retrieves everything, and lists only half of it."""

    def get_all_memories(self) -> list[str]:
        return self.stored[::2]


class StoresQueries(FullContext):
    """Takes every query for something that it was told."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        self.stored.append(query)
        return self.stored[-k:]


class Inattentive(RuleBasedReader):
    """A reader that ignores its notes."""

    name = "inattentive"

    def answer_to(self, request: Request) -> str:
        return "Let us talk about the weather instead."


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


def rewrites(change: Callable[[GoldMemory], str | None]) -> Plant:
    """Every text is changed, as far as it can be."""

    def plant(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
        told = {fact.text: fact.text for fact in facts}
        changed = {gold.text: change(gold) or gold.text for question in questions for gold in question.gold}
        return SystemSpec("planted", lambda: Rewrites(told | changed), beyond_k=True)

    return plant


negates = rewrites(lambda gold: negated(gold, RandomStream(gold.fact)))
reverses = rewrites(reversed_link)
conflates = rewrites(lambda gold: under_name(gold, "Everybody Else"))


def lists_half(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", ListsHalf, beyond_k=True)


def stores_queries(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", StoresQueries, beyond_k=True)


def astray(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return SystemSpec("planted", lambda: Astray(gold_of(questions, Setting())))


def full_context(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return load_memory("full-context", {})


def oracle(facts: Sequence[Fact], questions: Sequence[Question]) -> SystemSpec:
    return load_memory("oracle", gold_of(questions, Setting()))


def run(
    folder: Path, config: str, plant: Plant, judge: Judge, *, n: int = 100, model: Model | None = None,
    ks: tuple[int, ...] = (5,),
) -> list[Outcome]:  # fmt: skip
    """Return the outcomes of a system on n template rows; `plant` makes the system from facts and questions."""
    output = output_of(folder, config, plant, n=n, model=model, ks=ks)
    return diagnose(folder, output.records, output.stores, judge, no_progress)


def output_of(
    folder: Path, config: str, plant: Plant, *, n: int = 100, model: Model | None = None, ks: tuple[int, ...] = (5,)
) -> RunOutput:
    """Return what a system stored and retrieved, and what the reader made of it, on n template rows."""
    facts, questions = template(config, n)
    system, setting = plant(facts, questions), Setting(ks=ks)
    identity = {"benchmark": "memfail", "config": config, "system": system.name}
    with open_run(folder, identity, {"label": "planted"}):
        config = ConfigRun(facts, questions, system, model or LexicalReader(), load_prompts(), setting)
        return store_and_answer(folder, config, no_progress)
