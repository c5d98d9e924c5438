"""A study of people: the page that asks them, the key that stays with whoever made the page, and what people send back.

A script makes the items from questions or verdicts. The page has no right answers and no verdicts, not even in its source:
`eval` scores the answers, and the key has the verdicts that they are compared with.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, to_builtins

from epbench.errors import BadInput
from epbench.files.json_files import json_objects, read_typed, write_json
from epbench.files.packaged import packaged
from epbench.files.text import parse_toml, read_text, shown
from epbench.files.typed import Whole, fields, typed
from epbench.files.writing import write_text
from epbench.judges.protocol import agreement
from epbench.reports.explorer import script_json
from epbench.reports.page import page, render

PAGE, KEY = "page.html", "study.json"
_ABOUT: Any = fields({"id": str, "ask": str, "kind": Literal["choice", "date"], "choices": list[str]})
_CHECK: Any = fields({"ask": str, "choices": list[str], "right": str, "last": bool})
_TEXTS = fields(
    {**dict.fromkeys(("title", "consent", "agree"), str), "instructions": dict[str, str]}
    | {"about": list[_ABOUT], "about_book": list[_ABOUT], "check": list[_CHECK], "labels": dict[str, Any]}
)


class Item(Struct, frozen=True):
    """One question on the page."""

    question: str  # the id of the question of the dataset that it is about
    id: str
    ask: str
    shown: Sequence[tuple[str, str]] = ()  # texts above it, each with a title
    choices: Sequence[tuple[str, str]] | None = None  # the value of each and what it says; None for an answer in words
    judge: str = ""  # the choice that agrees with the judge who is checked; it stays in the key
    what: str = ""  # what is decided, such as `items`
    shuffled: bool = False  # whether each person sees the choices in an order of their own


class Part(Struct, frozen=True):
    """A text to read, None if it was read elsewhere, and groups of items about it; those of a group stay together."""

    title: str
    text: str | None
    groups: list[list[Item]]


class Study(Struct, frozen=True, kw_only=True):
    """The key of a study."""

    study: str  # the hash of the page's content, which comes back with every answer
    kind: Literal["sort", "book", "tulving", "labels"]
    about: dict[str, Any]  # dataset, fingerprint, and what else tells which questions these are
    per_person: Whole  # the number of items that each person is asked
    within_days: Whole | None  # the most days since the end of the book; None for any
    pass_share: float  # the share of the checks that a person must get right
    checks: dict[str, str]  # the right choice of each check
    items: dict[str, dict[str, Any]]  # by id: the values of the choices, question, judge and what


def read_texts(path: Path | None) -> dict[str, Any]:
    """Read the texts of a page, by default `data/people.toml`; BadInput if a right answer is none of its choices."""
    path = path or packaged("epbench.people", "people.toml")
    try:
        texts = parse_toml(read_text(path))
    except ValueError as error:
        raise BadInput(f"{path}: expected TOML in UTF-8 ({error})") from None
    typed(str(path), texts, _TEXTS)
    for number, check in enumerate(texts["check"], 1):
        if check["right"] not in check["choices"]:
            found = f"expected one of {check['choices']}, got {check['right']!r}"
            raise BadInput(f"{path}, check {number}, field 'right': {found}")
    return texts


def write_study(out: Path, texts: dict[str, Any], parts: Sequence[Part], **of: Any) -> Study:
    """Write page.html and study.json into a folder, from texts that `read_texts` returns and what is read and asked.

    `of` are the fields kind, about, per_person, within_days and pass_share of `Study`. BadInput if the folder has another study.
    """
    from markupsafe import Markup

    checks = {f"check-{number}": check for number, check in enumerate(texts["check"], 1)}
    content = {name: texts[name] for name in ("title", "consent", "agree")}
    content |= {name: of[name] for name in ("kind", "per_person")}
    content["of"] = {name: Path(value).name if name == "dataset" else value for name, value in of["about"].items()}
    content["instructions"] = texts["instructions"].get(of["kind"], "")
    content["about"] = texts["about"] + texts["about_book"] * (of["kind"] == "book")
    content["checks"] = [(id_, check["ask"], check["choices"], check["last"]) for id_, check in checks.items()]
    content["parts"], key = [], dict[str, dict[str, Any]]()
    for part in parts:
        asked = [[(i.id, i.ask, i.shown, i.choices, i.shuffled) for i in group] for group in part.groups]
        content["parts"].append((part.title, part.text, asked))
        for item in (item for group in part.groups for item in group):
            values = [value for value, _ in item.choices or ()]
            key[item.id] = {"choices": values, "question": item.question, "judge": item.judge, "what": item.what}
    content["study"] = sha256(json.dumps([content, key], sort_keys=True).encode()).hexdigest()[:16]
    right = {id_: check["right"] for id_, check in checks.items()}
    study = Study(study=content["study"], checks=right, items=key, **of)
    if (out / KEY).exists() and read_typed(out / KEY, Study) != study:
        raise BadInput(f"{out / KEY}: answers to the page of another study need this file; take another folder")
    write_json(out / KEY, to_builtins(study))
    body = render("people", data=Markup(script_json(content)))
    write_text(out / PAGE, page(texts["title"], body))
    return study


# What people send back (SORT paper: Section 4.2 and Appendix B.3)

_HEAD = fields({**dict.fromkeys(("study", "session", "started"), str), "about": dict[str, str]})
_RECORD = fields({}, dict.fromkeys(("id", "answer", "read"), str), ("id", "answer"), ("read",))


class Session(Struct, frozen=True):
    """What one person sent back."""

    file: str
    person: str
    answers: dict[str, str]  # by the id of the item
    why_not: str  # why they do not count; empty if they do


def read_returned(study: Study, paths: Sequence[Path]) -> list[Session]:
    """Read the files of people, and apply the rule of the study to each.

    BadInput if a file is none of this study, or a row has an unknown id or choice, or an id for a second time.
    """
    sessions: list[Session] = []
    known: dict[str, str] = {}
    for path in paths:
        head, *records = list(json_objects(str(path), [read_text(path)])) or [{}]
        typed(f"{path}, row 0", head, _HEAD)
        if head["study"] != study.study:
            raise BadInput(f"{path}, row 0, field 'study': expected {study.study!r}, got {shown(head['study'])}")
        given: dict[str, str] = {}
        for number, record in enumerate(records, 1):
            where = f"{path}, row {number}"
            typed(where, record, _RECORD)
            if "read" in record:
                continue
            if (id_ := record["id"]) in given or not (id_ in study.items or id_ in study.checks):
                what = "one answer to each item" if id_ in given else "an item of the study"
                raise BadInput(f"{where}, field 'id': expected {what}, got {shown(id_)}")
            choices = study.items.get(id_, {}).get("choices")
            if choices and record["answer"] not in choices:
                raise BadInput(f"{where}, field 'answer': expected one of {choices}, got {shown(record['answer'])}")
            given[id_] = record["answer"]
        earlier = known.get(head["session"])
        why_not = f"the session of {earlier} again" if earlier else _why_not(study, head, given)
        known.setdefault(head["session"], path.name)
        answers = {id_: answer for id_, answer in given.items() if id_ in study.items}
        sessions.append(Session(path.name, f"{len(sessions) + 1}", answers, why_not))
    return sessions


def _why_not(study: Study, head: dict[str, Any], given: dict[str, str]) -> str:
    """Why a person is left out; empty for one who is included."""
    right = sum(given.get(id_) == choice for id_, choice in study.checks.items())
    if right < (least := math.ceil(study.pass_share * len(study.checks))):
        return f"{right} of {len(study.checks)} checks right, expected {least}"
    n, wanted = sum(id_ in study.items for id_ in given), min(study.per_person, len(study.items))
    if n < wanted:
        return f"{n} of {wanted} questions answered"
    if study.within_days is None:
        return ""
    try:
        days = (date.fromisoformat(head["started"][:10]) - date.fromisoformat(head["about"]["finished"])).days
    except (KeyError, ValueError):
        return "does not say on which day the book was finished"
    late = f"finished the book {days} days before, expected 0 to {study.within_days}"
    return "" if 0 <= days <= study.within_days else late


def write_answers(out: Path, study: Study, sessions: Sequence[Session]) -> list[Path]:
    """Write people.json, and files with the answers of those who are included: one, or for a Tulving book one for each person.

    In a file of several people, the second answer to a question has `#2` after its id, and so on.
    """
    told = [{"person": of.person, "file": of.file, "left_out": of.why_not} for of in sessions]
    write_json(out / "people.json", {"study": study.study, "about": study.about, "people": told})
    files, times = dict[str, str](), Counter[tuple[str, str]]()
    for session in (of for of in sessions if not of.why_not and study.kind != "labels"):
        name = f"answers-{session.person}.jsonl" if study.kind == "tulving" else "answers.jsonl"
        for id_, answer in session.answers.items():
            times[name, id_] += 1
            again = f"#{n}" if (n := times[name, id_]) > 1 else ""
            row = {"id": id_ + again, "answer": answer, "answered_by": "people", "person": session.person}
            files[name] = files.get(name, "") + f"{json.dumps(row, ensure_ascii=False)}\n"
    for name, text in files.items():
        write_text(out / name, text)
    return [out / name for name in files]


def compare_labels(study: Study, sessions: Sequence[Session]) -> dict[str, dict[str, Any]]:
    """Compare the judge of a study of labels with all people who are included, by what was decided; see `agreement`."""
    found: dict[str, dict[str, Any]] = {}
    included = [of for of in sessions if not of.why_not]
    for what in dict.fromkeys(item["what"] for item in study.items.values()):
        items = {id_: item for id_, item in study.items.items() if item["what"] == what}
        labels = [(items[id_], answer) for of in included for id_, answer in of.answers.items() if id_ in items]
        if labels:
            numbers = agreement([(i["judge"], answer) for i, answer in labels], [i["question"] for i, _ in labels])
            found[what] = {**numbers, "people": len(included), "study": study.study}
    return found
