"""What a model says that proposes a harbour town: good texts in the asked numbers, with scripted faults in some rounds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.tulving.own_universe import EVENTS, PLACES, details_of

SIZE = 6
THEME = "a harbour town in winter"
KINDS = ["quay", "yard", "steps"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Reply = dict[str, list[str]]
Faults = Mapping[tuple[str, str], list[Callable[[Reply], Any]]]
"""By task and subject, what becomes of the reply in each round."""


def sentence(part: str, n: int) -> str:
    """A sentence with choices, different for each number."""
    word = f"{part}{LETTERS[n]}"
    return f"{{who}} [{word}|took|laid] [one|some|more] [rope|{word} line|twine] near {{thing}} by {{feature}}."


def air(n: int) -> str:
    return f"[Salt{LETTERS[n]}|Wind|Rain] [blew|came|drifted] over {{feature}} [at dawn|at night|all day]."


def pool(task: str, subject: str, part: str) -> list[str]:
    """The good texts of a part, more than are asked for."""
    fixed = {
        "first_day": ["2031-03-01"], "last_day": ["2033-12-31"], "kind": ["novel"],
        "styles": ["horror", "romance", "comedy", "mystery"], "spaces": ["Old", "New", "Far", "Low", "High", "Grey"],
        "events": ["Grand", "Small", "Late", "Early", "Quiet", "Loud"], "kinds": KINDS, "setting": ["outdoors"],
        "preposition": ["at"], "contents": [*EVENTS], "people": ["the dockers"],
    }  # fmt: skip
    if part in fixed:
        return fixed[part]
    if part in KINDS:
        return PLACES[KINDS.index(part) :: len(KINDS)]
    if part == "details":
        return details_of(subject) + [f"Coiled line {n} for {subject.split()[0].lower()} work" for n in "pqrstu"]
    if part in ("begin", "middle", "end"):
        return [sentence(part, n) for n in range(20)]
    makes = {
        "air": air, "features": lambda n: f"the {LETTERS[n]} bollard", "things": lambda n: f"the {LETTERS[n]} hook",
        "what": lambda n: f"x{LETTERS[n]} business of {subject.lower()[::-1].replace(' ', '')}",
        "first": lambda n: f"Zo{LETTERS[n]}ra", "last": lambda n: f"Qua{LETTERS[n]}ck",
    }  # fmt: skip
    return [makes[part](n) for n in range(20)]


def task_of(prompt: str) -> tuple[str, str]:
    """The list that a prompt of our pack asks for, and its subject."""
    for task, mark in (
        ("settings", "Plan a world"), ("kinds", "needs places of several kinds"), ("locations", "List places"),
        ("contents", "List kinds of event"), ("names", "List names"),
    ):  # fmt: skip
        if mark in prompt:
            return task, ""
    for task, pattern in (
        ("place", r'of the kind "(.+?)"'), ("review", r"^These are (\w+) that"),
        ("details", r'called "(.+?)"\. List'), ("scene", r'called "(.+?)"\. Tell'),
    ):  # fmt: skip
        if match := re.search(pattern, prompt):
            return task, match[1]
    raise AssertionError(prompt)


class ScriptedUniverse:
    """Replies to chat requests; to be called with the body of one, as `ScriptedEndpoint` does."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or {}
        self.asked: Counter[str] = Counter()  # how often each prompt came, with its round
        self.prompts: dict[tuple[str, str], list[str]] = {}

    def __call__(self, body: Mapping[str, Any]) -> Any:
        prompt, number = body["messages"][-1]["content"], body["seed"]  # a repeat has the next seed
        self.asked[f"{number} {prompt}"] += 1
        task, subject = task_of(prompt)
        self.prompts.setdefault((task, subject), []).append(prompt)
        wanted = {part: int(n) for part, n in re.findall(r'^- "([\w ]+)": (\d+)$', prompt, re.M)}
        known = re.search(r"give others:\n(.+)", prompt)
        there = json.loads(known[1]) if known else []
        if task == "review":
            kept = [text for text in json.loads(prompt.split("\n")[1]) if text not in there]
            reply = {"keep": kept[: wanted["keep"]]}
        else:
            free = {part: [text for text in pool(task, subject, part) if text not in there] for part in wanted}
            reply = {part: free[part][:n] for part, n in wanted.items()}
        faults = self.faults.get((task, subject), [])
        changed = faults[number](reply) if number < len(faults) else reply
        return changed if isinstance(changed, str | int) else json.dumps(changed)
