"""Rows of templates or of the paper with what they tell and ask, outcomes made by hand, and what a judge replies."""

from __future__ import annotations

import json
from pathlib import Path

from epbench.judges.protocol import Judgement
from epbench.memfail.dataset.load import CONFIGS, Fact, Question, facts_to_store, questions_of
from epbench.memfail.dataset.released import file_of, read_config
from epbench.memfail.dataset.schema import Row, complete
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.judging.lexical import Verdict
from epbench.memfail.templates.rows import make_rows
from tests.conftest import SHARED

SOURCES = ["made", *(["published"] if (SHARED / "memfail").is_dir() else [])]


def rows_in(folder: Path) -> dict[str, list[Row]]:
    """Return the completed rows of a folder of published files, by config."""
    return {config: complete(config, read_config(file_of(folder, config), config)) for config in CONFIGS}


def made_rows(config: str, n: int = 100, seed: int = 0, harder: bool = False) -> list[Row]:
    """Return completed template rows."""
    return complete(config, make_rows(config, n, seed, harder))


def template(config: str, n: int = 100, seed: int = 0) -> tuple[list[Fact], list[Question]]:
    """Return the facts and questions of template rows."""
    rows = made_rows(config, n, seed)
    return facts_to_store(config, rows), questions_of(config, rows)


def questions_from(source: str, config: str) -> list[Question]:
    """Return the questions of one of `SOURCES`, from template rows or from published rows."""
    rows = rows_in(SHARED / "memfail")[config] if source == "published" else made_rows(config)
    return questions_of(config, rows)


class ScriptedJudge:
    """Says no, or fails (None), where it is told to, by kind of check and fact, or `answer`; to all else as it says `otherwise`."""

    name, prompt_hash, setup = "scripted", "1", ""

    def __init__(self, says=None, otherwise: bool | None = True) -> None:
        self.says, self.otherwise = says or {}, otherwise
        self.asked: list[tuple[str, str]] = []

    def plan(self, checks):
        return None

    def judge(self, checks, calls=None):
        for check in checks:
            self.asked.append((check.kind, check.gold.fact if check.gold else check.question.id))
            said = self.says.get((check.kind, check.gold.fact if check.gold else "answer"), self.otherwise)
            failure, of = ("overloaded", None) if said is None else (None, Verdict(said, "because"))
            yield Judgement(check.key(self), of, failure)


def verdict(value: bool, reason: str = "") -> str:
    """Return the reply of a model that judges."""
    return json.dumps({"reason": reason, "verdict": value})


def question(gold=(), **values) -> Question:
    """Return a question about these memories, by default of Coexisting-Facts."""
    filled = {
        "id": "q",
        "config": "coexisting_facts",
        "row": "r",
        "kind": "",
        "text": "?",
        "query": "?",
        "reference": "t",
    }
    return Question(gold=gold, **filled | values)


def outcome(
    label="correct", k=5, *, right=True, kind="", group="", vacuous=False, facts=("correct",), n=2, words=10, i=0
):
    return Outcome(f"q{i}", "r", kind, group, k, n, words, label, vacuous, right, facts)
