"""What became of each question, computed from the journals of a run at one k in the plainest way."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

STAGES = ("storage", "summary", "retrieval")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def labels(folder: Path, rows: list[dict[str, Any]]) -> dict[str, str]:
    """By id of a question, `correct`, the first stage that failed, or `failed`; for configs whose rows ask one question."""
    answers = {record["id"].split("@")[0]: record for record in lines_of(folder / "answers.jsonl")}
    verdicts: dict[tuple[str, str], bool] = {}
    for record in lines_of(folder / "judgements.jsonl"):
        if not record.get("left_out"):
            assert verdicts.setdefault((record["kind"], record["id"]), record["verdict"]) is record["verdict"]
    found = {}
    for row in rows:
        answer = answers.get(row["id"], {}).get("answer")
        number = row["hop_count"] + 1 if "hop_count" in row else len(row["preferences"])
        facts = [_stage(f"{row['id']}/{i}", verdicts) for i in range(number)]
        right = verdicts.get(("reasoning", row["id"]))
        if "correct_choice" in row and answer is not None:
            right = json.loads(answer)["choice"] == row["correct_choice"]
        lost = [stage for stage in STAGES if stage in facts]
        found[row["id"]] = "failed" if answer is None else lost[0] if lost else "correct" if right else "reasoning"
    return found


def _stage(fact: str, verdicts: dict[tuple[str, str], bool]) -> str:
    return next((stage for stage in STAGES if not verdicts.get((stage, fact), False)), "")


def counts(found: dict[str, str], ids: list[str] | None = None) -> Counter[str]:
    return Counter(label for id_, label in found.items() if ids is None or id_ in ids)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval, written out."""
    z, p = 1.959963984540054, right / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return low, high
