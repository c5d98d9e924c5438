"""A model's check of one candidate chapter: four questions, each true or false (paper: Appendix B.1.7, Listing 8)."""

from __future__ import annotations

from typing import Any

from epbench.models.json_replies import all_objects_in

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

    Prose and fences around the JSON do not matter. The verdict is the first object that has exactly the keys "1" to "4",
    each once, with the values true or false (not as text). It may be inside another object.
    """
    for found in all_objects_in(reply):
        is_complete = found.keys() == QUESTIONS.keys() and found.repeated is None
        if is_complete and all(isinstance(value, bool) for value in found.values()):
            return {fact: found[number] for number, fact in QUESTIONS.items()}
    return None


def failed_checks(verdict: dict[str, bool]) -> list[str]:
    """Return the names of the checks that a candidate with this verdict fails: `llm_location`, …"""
    return [f"llm_{fact}" for fact, right in verdict.items() if not right]
