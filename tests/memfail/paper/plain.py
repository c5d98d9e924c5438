"""Every number that an exhibit may show, computed from the files of a run or of a paper in the plainest way."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

STAGES = ("storage", "summary", "retrieval")
ERRORS = (*STAGES, "reasoning")
Question = dict[str, Any]
"""A row of questions.parquet."""


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def questions_of(folder: Path) -> list[Question]:
    return pq.read_table(folder / "questions.parquet").to_pylist()


def labels(folder: Path, rows: list[dict[str, Any]]) -> dict[str, str]:
    """From the journals, by id of a question, its label; for configs whose rows ask one question."""
    answers = {record["id"].split("@")[0]: record for record in lines_of(folder / "answers.jsonl")}
    verdicts: dict[tuple[str, str], bool] = {}
    for record in lines_of(folder / "judgements.jsonl"):
        if not record.get("left_out"):
            assert verdicts.setdefault((record["kind"], record["id"]), record["verdict"]) is record["verdict"]
    found = {}
    for row in rows:
        answer, number = answers.get(row["id"], {}).get("answer"), len(row.get("preferences", ()))
        facts = [f"{row['id']}/{i}" for i in range(number or row["hop_count"] + 1)]
        # Of each fact the first stage that failed; of the question the first among these
        lost = [next((stage for stage in STAGES if not verdicts.get((stage, fact), False)), "") for fact in facts]
        first = next((stage for stage in STAGES if stage in lost), None)
        right = verdicts.get(("reasoning", row["id"]))
        if "correct_choice" in row and answer is not None:
            right = json.loads(answer)["choice"] == row["correct_choice"]
        label = f"{first}_error" if first else "correct" if right else "reasoning_error"
        found[row["id"]] = "failed" if answer is None else label
    return found


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval, written out."""
    z, p = 1.959963984540054, right / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return low, high


def share(right: int, n: int, failed: int, prefix: str = "") -> dict[str, Any]:
    """The columns of a share: without a mean, but with its range, where questions failed."""
    found: dict[str, Any] = dict.fromkeys(("mean", "low", "high", "lowest", "highest"))
    if n and failed:
        found |= {"lowest": right / (n + failed), "highest": (right + failed) / (n + failed)}
    elif n:
        found |= {"mean": right / n, "low": wilson(right, n)[0], "high": wilson(right, n)[1]}
    return {prefix + name: value for name, value in found.items()}


def cell(questions: list[Question]) -> dict[str, Any]:
    """The numbers of a run at one k, or of a part of its questions; the lexical reader counts words as tokens."""
    found = Counter(question["label"] for question in questions)
    failed, right = found["failed"], found["correct"]
    n, vacuous = len(questions) - failed, sum(question["vacuous"] for question in questions)
    answers = [question["answer_right"] for question in questions if question["answer_right"] is not None]
    memories = [memory for question in questions for memory in question["retrieved"]]
    words = sum(len(memory.split()) for memory in memories) / len(memories) if memories else None
    made_up = [question["vacuous"] and question["answer_right"] is False for question in questions]
    numbers = share(right, n, failed) | {"n": n, "n_failed": failed, "n_right": right}
    numbers |= {f"{error}_error": found[f"{error}_error"] / n for error in ERRORS}
    numbers |= {"success_earned": (right - vacuous) / (n - vacuous) if n > vacuous else None, "vacuous": vacuous}
    numbers |= {"vacuous_wrong": sum(made_up), "answer_accuracy": sum(answers) / len(answers)}
    numbers |= {"memories": len(memories) / len(questions), "tokens_per_question": None}
    return numbers | dict.fromkeys(("words_per_memory", "tokens_per_memory"), words)


def stages(questions: list[Question]) -> dict[str, Any]:
    """What became of the questions, in numbers and as shares."""
    found = cell(questions)
    counts = {f"n_{error}_error": round(found[f"{error}_error"] * found["n"]) for error in ERRORS}
    return found | counts | {"n_success": found["n_right"], "success_rate": found["n_right"] / found["n"]}


def beside(questions: list[Question]) -> dict[str, Any]:
    """What success alone does not say."""
    found, answers = cell(questions), Counter(question["answer_right"] for question in questions)
    earned, of = found["n_right"] - found["vacuous"], found["n"] - found["vacuous"]
    n_right, n_wrong, n_unknown = (answers[right] for right in (True, False, None))
    found |= {"n_earned": earned, "n_not_vacuous": of, **share(earned, of, found["n_failed"], "earned_")}
    found |= {"n_answers_right": n_right, "n_answers_wrong": n_wrong, "n_answers_unknown": n_unknown}
    return found | share(n_right, n_right + n_wrong, n_unknown, "answers_")


_CONFIGS = {"conditional": "conditional_facts_easy", "conditional_hard": "conditional_facts_hard"}
_CONFIGS |= {"coexisting": "coexisting_facts", "long_hop": "long_hop"}
_KINDS = {"persona_retrieval_nonmisleading": "direct", "persona_retrieval_misleading": "misleading"}


class Reported:
    """The numbers of a paper, by config, system, internal model, k, and for errors the kind of question or `all`."""

    def __init__(self, folder: Path) -> None:
        self.rates, self.counts = {}, {}
        configs = {"Conditional-Facts": "conditional_facts_easy", "Conditional-Facts (Hard)": "conditional_facts_hard"}
        for row in json.loads((folder / "paper_results.json").read_text("utf-8"))["rows"]:
            config = configs.get(row["dataset"], row["dataset"].lower().replace("-", "_"))
            self.rates[config, row["system"], row["internal_model"], row["k"]] = row
        for row in json.loads((folder / "paper_error_breakdown.json").read_text("utf-8"))["rows"]:
            config = _CONFIGS.get(row["dataset"], "persona_retrieval")
            place = config, row["system"], row["internal_model"], row["k"]
            for kind in {"all", _KINDS.get(row["dataset"], "all")}:
                of = self.counts.setdefault((*place, kind), Counter())
                of.update({name: row[name] for name in (*ERRORS, "correct_or_unanalysed", "n")})

    def cell(self, place: tuple[Any, ...], kind: str = "all") -> dict[str, Any]:
        """The same numbers as of a run; what a paper does not report is None."""
        counts = self.counts[(*place, kind)]
        rate = self.rates[place]["success_rate"] if kind == "all" and place in self.rates else None
        n, right = counts["n"], counts["correct_or_unanalysed"]
        found = dict.fromkeys("success_earned vacuous vacuous_wrong answer_accuracy memories words_per_memory".split())
        found |= dict.fromkeys(("tokens_per_memory", "tokens_per_question")) | share(right, n, 0)
        found |= {"n": n, "n_failed": 0, "n_right": right} | ({} if rate is None else {"mean": rate})
        return found | {f"{error}_error": counts[error] / n for error in ERRORS}

    def stages(self, place: tuple[Any, ...], kind: str) -> dict[str, Any]:
        """What became of the questions."""
        counts, found = self.counts[(*place, kind)], self.cell(place, kind)
        numbers = {f"n_{error}_error": counts[error] for error in ERRORS}
        return found | numbers | {"n_success": found["n_right"], "success_rate": found["mean"]}
