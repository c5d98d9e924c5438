"""A model that writes rows of MemFail by a small grammar: it reads the specifications in the prompt, and keeps every rule.

Its faults are scripted: by step and number of the row, what is done to the row in the first try, the second and the third.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.templates.bank import Entity, bank, fill, small_talk

Row = dict[str, Any]
Fault = Callable[[Row], Row | None]
Faults = Mapping[tuple[str, int], Sequence[Fault]]

STEPS = {
    "new_values": "revision",
    "statement": "datapoint",
    "link_sentence": "hard",
    "essay": "easy",
    "preferences": "coexisting",
    "questions": "persona",
    "anchors": "chain",
    "to_drop": "audit",
    "options": "options",
}
"""A field by which a step is known in the schema of its reply. `easy` comes after `hard` and `persona`: they have essays, too."""
_MARK = "Specifications:\n"


def step_of(body: Mapping[str, Any]) -> str:
    """The step that a chat request belongs to, by the schema of its reply."""
    fields = body["response_format"]["json_schema"]["schema"]["properties"]["rows"]["items"]["properties"]
    found = [step for field, step in STEPS.items() if field in fields]
    return next((step for step in found if step != "easy"), "easy")


def specs_in(prompt: str) -> list[Row]:
    """The specifications at the end of a prompt, before what was wrong with the last reply."""
    return json.JSONDecoder().raw_decode(prompt, prompt.rindex(_MARK) + len(_MARK))[0]


class ScriptedRows:
    """Replies to chat requests; to be called with the body of one, as `ScriptedEndpoint` does.

    Args:
        faults: By step and number of the row, what is done to the row in each try; None removes it.
        replies: By step and try (from 0), a whole reply that takes the place of every reply of that step and try.
    """

    def __init__(self, faults: Faults | None = None, replies: Mapping[tuple[str, int], Any] | None = None) -> None:
        self.faults, self.replies = faults or {}, replies or {}
        self.asked: Counter[tuple[str, str]] = Counter()  # how often each prompt came, by step

    def __call__(self, body: Mapping[str, Any]) -> Any:
        step, prompt = step_of(body), body["messages"][-1]["content"]
        self.asked[step, prompt] += 1
        specs = specs_in(prompt)
        attempt = body["seed"] - 42  # a repeat has the next seed
        if (step, attempt) in self.replies:
            return self.replies[step, attempt]
        rows = []
        for spec in specs:
            row: Row | None = WRITERS[step](spec)
            faults = self.faults.get((step, spec["row_id"]), ())
            if attempt < len(faults):
                row = faults[attempt](row)
            if row is not None:
                rows.append({"row_id": spec["row_id"], **row})
        return json.dumps({"rows": rows}, ensure_ascii=False)


def datapoint(spec: Row) -> Row:
    """A rule as templates state it."""
    number, content = spec["row_id"], bank("conditional")
    of = content["behaviors"][spec["entity_category"]]
    behavior = f"{of['acts'][number % len(of['acts'])]} {of['manners'][number % len(of['manners'])]}"
    states = [*content["states"][spec["condition_type"]].items()]
    condition = states[0][0]
    context = states[0 if spec["target"] == "yes" else 1][1].format(name=spec["entity"])
    return {
        "behavior": behavior,
        "condition": condition,
        "statement": f"{spec['entity']} {behavior} only {condition}.",
        "question": f"{context}. Is it likely that {spec['entity']} {behavior} right now?",
        "question_context": context,
        "condition_met": spec["target"],
        "answer": content["answer"][spec["target"]].format(name=spec["entity"], behavior=behavior, condition=condition),
    }


def easy(spec: Row) -> Row:
    """Six sentences, of which the third is the rule."""
    talk = _talk(spec, 5)
    talk.insert(2, f"{spec['entity']} {spec['behavior']} only {spec['condition']}.")
    return {"essay": " ".join(talk)}


def hard(spec: Row) -> Row:
    """Nine sentences, of which the second, the fifth and the eighth are those of the rule."""
    stream, entity = RandomStream("scripted", spec["row_id"]), _entity(spec)
    known = entity.words | {"behavior": spec["behavior"], "condition": spec["condition"]}
    parts = {part: fill(frames[0], known, stream) for part, frames in bank("conditional")["hard"].items()}
    talk = _talk(spec, 6)
    for place, sentence in zip((1, 4, 7), parts.values(), strict=True):
        talk.insert(place, sentence)
    return {"essay": " ".join(talk), **{f"{part}_sentence": sentence for part, sentence in parts.items()}}


def coexisting(spec: Row) -> Row:
    """Names that no other row has, and facts by the frames of the templates."""
    number, content = spec["row_id"], bank("coexisting")
    letters = [chr(ord("a") + i) * 3 for i in range(spec["number"])]
    names = [f"{letter}{_syllables(number)} {spec['category']}" for letter in letters]
    facts = [
        fill(frame, {"name": name, "occasion": "on Sundays", "reason": reason}, RandomStream("scripted", name))
        for name, frame, reason in zip(names, content["frames"], content["reasons"][number % 10 :], strict=False)
    ]
    return {
        "preferences": names,
        "preference_facts": facts,
        "question": f"My {_syllables(number)} cousin comes over and asks about my {spec['category']}: what suits us?",
    }


def persona(spec: Row) -> Row:
    """Five facts and seven other sentences; each question asks about another fact."""
    stream = RandomStream("scripted persona", spec["row_id"])
    entity = Entity(spec["name"], "person", True)
    aspects = stream.sample([*bank("persona")["aspects"].values()], 5)
    values = [stream.pick(aspect["values"]) for aspect in aspects]
    pairs = [*zip(aspects, values, strict=True)]
    facts = [fill(aspect["facts"][0], entity.words | {"value": value}, stream) for aspect, value in pairs]
    talk = small_talk(entity, stream)
    essay = [next(talk) for _ in range(7)]
    questions = [
        {
            "text": fill(aspect["questions"][0], {"name": asked["about"]}, stream),
            "answer": value if asked["about"] == spec["name"] else "unknown",
        }
        for (aspect, value), asked in zip(pairs, spec["questions"], strict=False)
    ]
    return {"essay": " ".join([*essay, *facts]), "questions": questions}


def chain(spec: Row) -> Row:
    """A chain of habits in the first person, or about a person whom no other chain names."""
    number, content, names = spec["row_id"], bank("long_hop"), bank("names")
    n = spec["anchors"]
    objects = content["objects"]
    anchors = [
        f"{content['verbs'][(5 * number + i) % len(content['verbs'])]} {objects[(5 * number + i) % len(objects)]}"
        for i in range(n)
    ]
    frames = ["Whenever I {} I soon {}.", "After I {} I always {}.", "Because I {} I often {}.", "Once I {} I {}."]
    if number % 2 == 0:
        return {
            "anchors": anchors,
            "facts": [frame.format(*pair) for frame, pair in zip(frames, pairwise(anchors), strict=False)],
            "question": f"What do I end up doing after I {anchors[0]}?",
        }
    name = (names["feminine"] + names["masculine"])[number // 2]
    anchors = [name, *anchors[1:]]
    facts = [f"Most of all {name} likes to {anchors[1]}."]
    facts += [f"After a wish to {a} {name} goes on to {b}." for a, b in pairwise(anchors[1:])]
    return {"anchors": anchors, "facts": facts, "question": f"Where do the habits of {name} lead in the end?"}


def revision(spec: Row) -> Row:
    """Values of the templates, told in plain sentences."""
    left = {topic: iter(found["values"]) for topic, found in bank("revision")["topics"].items()}
    facts = spec["facts"]
    values = [next(left[fact["topic"]]) for fact in facts]
    new = {fact["fact"]: next(left[fact["topic"]]) for fact in facts if fact["fate"] == "corrected"}

    def told(does: str, number: int) -> str:
        value = "a thing" if does == "withdraws" else new.get(number, "") if does == "corrects" else values[number]
        return f"One of them {does}: {facts[number]['person']}, on {facts[number]['topic']}, has {value}."

    texts = [" ".join(told(said["does"], number) for number in said["facts"]) for said in spec["messages"]]
    asks = [(facts[asked["fact"]], asked["asks"]) for asked in spec["questions"]]
    return {
        "values": values,
        "new_values": [*new.values()],
        "messages": [text or f"I counted {spec['row_id']}{i:02} clouds today." for i, text in enumerate(texts)],
        "questions": [f"On the {fact['topic']} of {fact['person']}: {kind}?" for fact, kind in asks],
    }


WRITERS: dict[str, Callable[[Row], Row]] = {
    "datapoint": datapoint, "easy": easy, "hard": hard, "coexisting": coexisting, "persona": persona, "chain": chain,
    "audit": lambda spec: {"to_drop": []}, "options": lambda spec: {"options": spec["candidates"][:4]}, "revision": revision,
}  # fmt: skip


def _entity(spec: Row) -> Entity:
    return Entity(spec["entity"], spec["entity_category"], True)


def _talk(spec: Row, n: int) -> list[str]:
    sentences = small_talk(_entity(spec), RandomStream("scripted talk", spec["row_id"]))
    return [next(sentences) for _ in range(n)]


def _syllables(number: int) -> str:
    """A word of its own for each number."""
    return "".join("bdfgklmnrs"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{number:03}")
