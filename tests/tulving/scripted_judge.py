"""What a judge behind an endpoint replies in tests: honest verdicts read off the prompt, or faults on purpose.

It knows of a case only what the prompt shows, as a model would. Honest means by rules: an item counts where it stands in
the answer, a date by its month and year in half.
"""

from __future__ import annotations

import json
import re

ORDER = "Put the numbers of the true items"  # what tells a second call from a first
REPAIR = "An earlier reply to this could not be used"


def question(prompt: str) -> str:
    return _part(prompt, r"^Question: (.*)$")


def truth(prompt: str) -> list[str]:
    """The numbered true items of the case."""
    block = _part(prompt, r"^True items:\n((?s:.*?))\n\nAnswer:$")
    numbered = re.findall(r"^(\d+)\. (.*(?:\n(?!\d+\. ).*)*)", block, re.MULTILINE)
    return [item for _, item in numbered]


def answer(prompt: str) -> str:
    """The answer, without the mark before each of its lines."""
    lines = _part(prompt, r"^Answer:\n((?:> .*\n?)+)").rstrip("\n").split("\n")
    return "\n".join(line[2:] for line in lines)


def _part(prompt: str, pattern: str) -> str:
    found = re.search(pattern, prompt, re.MULTILINE)
    assert found, prompt
    return found[1]


def scores(prompt: str) -> list[float]:
    """1 for an item that stands in the answer; 0.5 for a date of which only month and year do."""
    said = answer(prompt)

    def score(item: str) -> float:
        month = re.fullmatch(r"([A-Z]\w+) \d\d, (\d{4})", item)
        return 1.0 if item in said else 0.5 if month and f"{month[1]} {month[2]}" in said else 0.0

    return [score(item) for item in truth(prompt)]


def verdict(prompt: str, given: list[object] | None = None) -> dict[str, object]:
    """An honest verdict, with other scores where they are given."""
    said = answer(prompt)
    items = [line.removeprefix("- ") for line in said.splitlines() if line.strip()]
    if "not know" in said or "does not say" in said:
        items = []
    numbered = enumerate(scores(prompt) if given is None else given, 1)
    return {"items": items, "scores": [{"number": n, "score": s} for n, s in numbered], "reason": "read off"}


def honest(prompt: str) -> str:
    """Both calls, as an attentive model answers them."""
    if ORDER in prompt:
        said = answer(prompt)
        places = {n: said.find(item) for n, item in enumerate(truth(prompt), 1) if item in said}
        return json.dumps({"order": sorted(places, key=lambda n: places[n])})
    return json.dumps(verdict(prompt))


def zealous(prompt: str) -> str:
    """A judge who finds every true item in every answer."""
    if ORDER in prompt:
        return honest(prompt)
    found = truth(prompt)
    return json.dumps(verdict(prompt, [1] * len(found)) | {"items": found})


def is_order(prompt: str) -> bool:
    return ORDER in prompt


def is_repair(prompt: str) -> bool:
    return REPAIR in prompt
