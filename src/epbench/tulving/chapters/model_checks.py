"""A model's check of one candidate chapter: four questions, each true or false (paper: Appendix B.1.7, Listing 8)."""

from __future__ import annotations

import json
import re
from typing import Any

QUESTIONS = {"1": "location", "2": "date", "3": "entity", "4": "content"}
"""The fact that each question is about: is it right, and is it the only one of its sort in the chapter?"""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {number: {"type": "boolean"} for number in QUESTIONS},
    "required": list(QUESTIONS),
    "additionalProperties": False,
}


def read_verdict(reply: str) -> dict[str, bool] | None:
    """Return the answers by fact, or None if the reply gives no verdict.

    Prose and fences around the JSON do not matter. The verdict is the first `{…}` without braces inside that has exactly
    the keys "1" to "4", each once, with the values true or false (not as text).
    """
    for block in re.findall(r"\{[^{}]*\}", reply):
        try:
            pairs: list[tuple[str, Any]] = json.loads(block, object_pairs_hook=list)
        except (ValueError, RecursionError):
            continue
        if sorted(key for key, _ in pairs) == list(QUESTIONS) and all(isinstance(value, bool) for _, value in pairs):
            return {fact: dict(pairs)[number] for number, fact in QUESTIONS.items()}
    return None


def failed_checks(verdict: dict[str, bool]) -> list[str]:
    """Return the names of the checks that a candidate with this verdict fails: `llm_location`, …"""
    return [f"llm_{fact}" for fact, right in verdict.items() if not right]
