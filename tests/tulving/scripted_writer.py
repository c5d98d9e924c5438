"""An endpoint that plays an author and a checker: it reads the prompts that it gets, and errs where a script says so.

What it writes comes from the prompt alone, and what it says of a chapter from the chapter alone. The script only says
which candidate of which event gets which mistake.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.tulving.events.dates import MONTHS
from epbench.tulving.events.universe import Event, Universe
from tests.models.loopback_endpoint import Body, LoopbackEndpoint, Script

# Each mistake, and the check that must find it.
FOUND_BY_EXACT = {
    "date in another paragraph": "correct_date",
    "place in two paragraphs": "single_location",
    "name forgotten": "has_entity",
    "deed forgotten": "has_content",
    "an opening without a number": "paragraphs_nb",
    "one paragraph less": "paragraphs_nb",
    "no numbers": "paragraphs_initials_shape",
    "numbers from 2": "paragraphs_initials_increment",
    "identity": "other_entities_shape",
    "a mark without number": "other_entities_shape_integer",
    "cut off": "cut_off",
    "thought to the end": "cut_off",
    "empty": "empty",
    "refused": "refused",
    "filtered": "refused",
}
# A reply without a chapter: the parts of its choice.
NOTHING = {
    "thought to the end": {"finish_reason": "length", "message": {"content": "<think>Let me see"}},
    "empty": {"message": {"content": " "}},
    "refused": {"message": {"content": None, "refusal": "I cannot write this."}},
    "filtered": {"finish_reason": "content_filter", "message": {"content": "(1) It"}},
}
FOUND_BY_LLM = {
    "a second place": "llm_location",
    "a second date": "llm_date",
    "a second person": "llm_entity",
    "a second event": "llm_content",
}
# What stands around a chapter in which nothing is wrong.
WRAPPINGS = {
    "a title": "The Day\n\n{}",
    "a heading": "# Chapter 3: The Day\n{}",
    "a preface and a title": "Sure! Here is the chapter:\n\n**The Day**\n\n{}",
    "a fence": "```markdown\n{}\n```",
    "a closing remark": "{}\n\n---\n\nLet me know if you would like any changes!",
    "all at once": "Certainly.\n\n```\nTitle: The Day\n\n{}\n```\n\nAll facts stand where you wanted them.\n",
}
# How many replies to the check give no verdict, before one does.
WITHOUT_VERDICT = {
    "verdict in prose at first": 1,
    "verdict twice as text": 2,
    "verdict thrice broken": 3,
    "verdict refused at first": 1,
    "verdict cut off twice": 2,
    "verdict empty thrice": 3,
}
FORGIVEN = {"right", "verdict after prose", *WRAPPINGS, *WITHOUT_VERDICT}
NEVER_A_VERDICT = "never a verdict"  # also when the check is asked for four times; then there is one

RETRY = "The previous attempt at this chapter failed:"

_DATE = re.compile(rf"(?:{'|'.join(MONTHS)}) \d\d?, \d{{4}}")

Mistakes = Mapping[int, Sequence[str]]
"""By number of the event the mistakes of its candidates; later ones are right."""


class ScriptedWriter:
    """Author and checker for the events of one universe."""

    def __init__(self, universe: Universe, events: Sequence[Event], mistakes: Mistakes) -> None:
        self.universe, self.mistakes = universe, mistakes
        self._numbers = {(event.day, event.space): number for number, event in enumerate(events)}
        self._mistake_in: dict[str, str] = {}

    def endpoint(self, script: Script = lambda number, body: None, latency_s: float = 0.0) -> LoopbackEndpoint:
        return LoopbackEndpoint(script=script, latency_s=latency_s, more=self._answer)

    def mistake(self, number: int, attempt: int) -> str:
        planned = self.mistakes.get(number, ())
        return planned[attempt] if attempt < len(planned) else "right"

    def _answer(self, body: Body) -> Body:
        prompt = str(body["messages"][-1]["content"])
        assert body["temperature"] == 1.0 and body["messages"][0]["role"] == "system"
        if "=== Chapter ===" in prompt:
            assert set(body["response_format"]["json_schema"]["schema"]["required"]) == set("1234")
            return self._check(prompt, body["seed"])
        event = {key: _after(f"- {key}: ", prompt) for key in ("date", "place", "person", "event")}
        mistake = self.mistake(self._numbers[event["date"], event["place"]], body["seed"])
        text = self._write(prompt, event, mistake, body["seed"])
        self._mistake_in[text] = mistake
        text = WRAPPINGS.get(mistake, "{}").replace("{}", text)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        if mistake in NOTHING:
            choice = dict(NOTHING[mistake])
            return {"message": choice.pop("message"), "choice": choice, "usage": usage}
        choice = {"finish_reason": "length" if mistake == "cut off" else "stop"}
        return {"message": {"content": text}, "choice": choice, "usage": usage}

    def _write(self, prompt: str, event: dict[str, str], mistake: str, seed: int) -> str:
        n = int(found[1]) if (found := re.search(r"Exactly (\d+) paragraphs", prompt)) else 1
        assert found or "One single paragraph" in prompt
        first = event["person"].split()[0]
        deed = _after(f"- what {first} does there: {first} ", prompt)
        sentences = {
            event["date"]: f"It was {event['date']}.",
            event["place"]: f"All of {event['place']} was awake.",
            event["person"]: f"{event['person']} stood at the front.",
            deed: f"Then {first} {deed}, and $entity_1 laughed.",
        }
        where = {fact: _paragraph(prompt, fact) for fact in sentences}
        match mistake:
            case "date in another paragraph":
                where[event["date"]] = where[event["date"]] % n + 1
            case "name forgotten":
                del where[event["person"]]
            case "deed forgotten":
                del where[deed]
        paragraphs = [
            [f"$entity_2 spoke of the {event['event']} {seed + 1} times, and {first} listened."] for _ in range(n)
        ]
        for fact, paragraph in where.items():
            paragraphs[paragraph - 1].append(sentences[fact])
        if mistake == "place in two paragraphs":
            paragraphs[where[event["place"]] % n].append(sentences[event["place"]])
        if more := self._addition(mistake, event):
            paragraphs[-1].append(more)
        if mistake == "one paragraph less":
            paragraphs = [[*paragraphs[0], *paragraphs[1]], *paragraphs[2:]]
        start = 2 if mistake == "numbers from 2" else 1
        numbered = [
            f"{'' if mistake == 'no numbers' else f'({i}) '}{' '.join(sentences)}"
            for i, sentences in enumerate(paragraphs, start)
        ]
        opening = ["It had been raining since the morning."] if mistake == "an opening without a number" else []
        return "\n\n".join([*opening, *numbered])

    def _addition(self, mistake: str, event: dict[str, str]) -> str | None:
        others = {
            "a second place": [f"$entity_1 had been to {place} before." for place in self.universe.spaces if place != event["place"]],
            "a second person": [f"Then {name} came by." for name in self.universe.entities if name != event["person"]],
            "a second event": [f"The {content} came next." for content in self.universe.contents if content != event["event"]],
            "a second date": ["Nobody had forgotten July 04, 1999."],
            "identity": ["Nobody asked for an identity card."],
            "a mark without number": ["$entity_one waved."],
        }  # fmt: skip
        return others[mistake][0] if mistake in others else None

    def _check(self, prompt: str, repeat: int) -> Body:
        """What stands in the chapter, honestly; only the form of the answer may be wrong."""
        chapter = prompt.partition("=== Chapter ===\n\n")[2].partition("\n\n=== End of the chapter")[0]
        place = _between("happen at ", ", and is no other place", prompt)
        date = _between("happen on ", ", and is no other date", prompt)
        name = _between("is ", " the one main character", prompt)
        event = _between("this one event, ", ", and about no other", prompt)
        verdict = {
            "1": {known for known in self.universe.spaces if known in chapter} == {place},
            "2": set(_DATE.findall(chapter)) == {date},
            "3": {known for known in self.universe.entities if known in chapter} == {name},
            "4": {known for known in self.universe.contents if known in chapter} == {event},
        }
        mistake = self._mistake_in[chapter]
        said = json.dumps(verdict)
        if repeat < (4 if mistake == NEVER_A_VERDICT else WITHOUT_VERDICT.get(mistake, 0)):
            return self._no_verdict(mistake, verdict)
        if mistake == "verdict after prose":
            said = f"Here {{in short}} is what I found:\n```json\n{said}\n```\nThat is all."
        return {"message": {"content": said}}

    def _no_verdict(self, mistake: str, verdict: Mapping[str, bool]) -> Body:
        said = json.dumps(verdict)
        if "refused" in mistake:
            return {"message": {"content": None, "refusal": "I cannot check this."}}
        if "cut off" in mistake:
            return {"message": {"content": said[:-9]}, "choice": {"finish_reason": "length"}}
        if "text" in mistake:
            said = json.dumps({number: str(right).lower() for number, right in verdict.items()})
        elif "prose" in mistake:
            said = "I think that the answer is yes."
        elif "empty" in mistake:
            said = ""
        else:
            said = said[:-9]
        return {"message": {"content": said}}


def _after(label: str, prompt: str) -> str:
    return prompt.partition(label)[2].partition("\n")[0]


def _between(before: str, after: str, prompt: str) -> str:
    found = re.search(rf"{re.escape(before)}([^\n]*?){re.escape(after)}", prompt.rpartition("=== End")[2])
    assert found, before
    return found[1]


def _paragraph(prompt: str, fact: str) -> int:
    told = prompt.partition(f'"{fact}"')[2].partition("\n")[0]
    found = re.search(r"in paragraph \((\d+)\) only", told)
    assert found or told.endswith("anywhere in the paragraph"), told
    return int(found[1]) if found else 1


def expected_iterations(
    mistakes: Mistakes, n_events: int, most: int = 10
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """What a script leads to, from the script alone: the rounds, and the last failed check of each dropped event."""
    rounds = []
    waiting = dict.fromkeys(range(n_events), "")
    for attempt in range(most):
        if not waiting:
            break
        made = {number: (*mistakes.get(number, ()), *["right"] * most)[attempt] for number in waiting}
        failed = {n: (FOUND_BY_EXACT | FOUND_BY_LLM)[mistake] for n, mistake in made.items() if mistake not in FORGIVEN}
        rounds.append(
            {
                "candidates": len(waiting),
                "accepted": len(waiting) - len(failed),
                "failed_exact": sum(mistake in FOUND_BY_EXACT for mistake in made.values()),
                "failed_llm": sum(mistake in FOUND_BY_LLM for mistake in made.values()),
                "failed_checks": dict(Counter(failed.values())),
            }
        )
        waiting = failed
    return rounds, waiting


def expected_requests(mistakes: Mistakes, n_events: int, most: int = 10) -> int:
    """How many chapters and checks a script leads to."""
    rounds, _ = expected_iterations(mistakes, n_events, most)
    n = sum(2 * one["candidates"] - one["failed_exact"] for one in rounds)
    return n + sum(WITHOUT_VERDICT.get(mistake, 0) for planned in mistakes.values() for mistake in planned[:most])


def paid(endpoint: LoopbackEndpoint) -> Counter[str]:
    """How often each request was answered, by all that it asks."""
    return Counter(json.dumps(call.body, sort_keys=True) for call in endpoint.calls if call.answered)


def no_faults(number: int, body: Body) -> None:
    """A script for an endpoint that never fails."""
