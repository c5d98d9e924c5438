"""Asks a model for lists of texts in rounds, until enough of them pass; every reply, and what became of each text, is kept.

A text that passes is kept, and only what is missing is asked for again, with what was wrong. A request depends on nothing but
the prompts and the replies before it, so a command that was stopped finds its replies in the journal and asks nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from epbench.errors import BadInput, UnusableReply
from epbench.files.text import shown
from epbench.files.typed import typed
from epbench.journals.journal import Journal, Record
from epbench.models.json_replies import last_object_with
from epbench.models.protocol import Model, Request, Sampling
from epbench.progress import Progress, no_progress
from epbench.runs.replies import replies_to
from epbench.tulving.proposing.lists import Pack, Part, check

ROUNDS = 4
"""How many times as many requests a list may take as it does if every text passes."""
PER_REQUEST = 40  # texts of a part
MOST_FAULTS = 20  # that a prompt repeats
REPLIES, PROPOSALS = "replies.jsonl", "proposals.jsonl"


@dataclass
class Wanted:
    """A list that is asked for, and what there is of it."""

    task: str  # which list of the pack it is
    parts: Mapping[str, Part]  # its parts
    # What fills the prompt; `subject` is the kind of event or of location that it is about, if any
    values: Mapping[str, str]
    beside: Collection[str] = ()  # other texts of the universe with which its texts must agree; see `check`
    kept: dict[str, list[str]] = field(default_factory=dict)  # the texts that have passed, by part
    refused: list[str] = field(default_factory=list)  # why texts were refused
    rounds: int = 0  # how many requests were made
    _faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept = {part: [] for part in self.parts}
        self.subject = self.values.get("subject", "")
        self.label = f"{self.task} of {self.subject}" if self.subject else self.task

    @property
    def missing(self) -> dict[str, int]:
        """How many texts the next request asks for, by part; none if the list is complete."""
        lengths = [(part, form, len(self.kept[part])) for part, form in self.parts.items()]
        return {part: min(form.asked - n, PER_REQUEST) for part, form, n in lengths if n < form.needed}

    @property
    def goes_on(self) -> bool:
        """Whether there is another request to make."""
        usual = -(-max(form.asked for form in self.parts.values()) // PER_REQUEST)
        return bool(self.missing) and self.rounds < ROUNDS * usual

    def prompt(self, pack: Pack) -> str:
        """Return the next prompt: the task, the form of the reply, what there is, and what was wrong with the last reply."""
        task, kept = pack.prompts[self.task], [text for texts in self.kept.values() for text in texts]
        for name, value in self.values.items():
            task = task.replace(f"{{{name}}}", value)
        wanted = [f'- "{part}": {n}' for part, n in self.missing.items()]
        there = [pack.known, json.dumps(kept, ensure_ascii=False)] if kept else []
        faults = [pack.repair, *self._faults[:MOST_FAULTS]] if self._faults else []
        return "\n".join([task, pack.reply, *wanted, *there, *faults])

    def read(self, record: Record) -> Iterator[dict[str, str]]:
        """Keep the texts of a reply that pass, and yield what became of each; more than asked for are left out."""
        self._faults = []
        for part, text, fault in _texts_of(record, self.missing):
            try:
                if fault:
                    raise BadInput(fault)
                form = self.parts[part]
                if len(self.kept[part]) < form.asked:
                    check(self.task, part, form, text, self.kept, self.beside)
                    self.kept[part].append(text)
                    yield {"part": part, "text": text}
            except BadInput as error:
                self.refused.append(str(error))
                self._faults.append(f"- {shown(text)}: {error}" if text else f"- {error}")
                yield {"part": part, "text": text, "refused": str(error)}
        self.rounds += 1


def _texts_of(record: Record, parts: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """The texts of a reply, each with its part and without a fault, or the fault of the whole reply."""
    try:
        if record.get("failure") is not None:
            raise UnusableReply(f"the reply was not usable: {record['failure']}")
        reply = typed("the reply", last_object_with(record["answer"], next(iter(parts))), dict[str, list[str]])
    except (BadInput, UnusableReply) as error:
        return [("", "", str(error))]
    return [(part, " ".join(text.split()), "") for part in parts for text in reply.get(part, ())]


@dataclass
class Proposer:
    """Asks a model, in a folder that holds its replies and what became of each text, open for this process alone."""

    model: Model
    folder: Path
    pack: Pack
    sampling: Sampling
    progress: Progress = no_progress
    requests: list[Request] = field(default_factory=list)

    def collect(self, *wanted: Wanted) -> list[Wanted]:
        """Ask for some lists side by side, and return those that are complete; RunFailed if requests got no answer."""
        journal = Journal(self.folder / PROPOSALS)
        while open_ := [one for one in wanted if one.goes_on]:
            requests, label = [self.request(one) for one in open_], f"{open_[0].task}, round {open_[0].rounds + 1}"
            records = replies_to(self.folder / REPLIES, requests, self.model, self.progress, label)
            self.requests += requests
            for one, record in zip(open_, records, strict=True):
                for number, outcome in enumerate(one.read(record)):
                    if not journal.done(key := f"{record['key']}/{number}"):
                        journal.add(key, list=one.label, round=one.rounds + 1, **outcome)
        journal.close()
        return [one for one in wanted if not one.missing]

    def request(self, wanted: Wanted) -> Request:
        """Return the next request for a list."""
        missing, texts = wanted.missing, {"type": "array", "items": {"type": "string"}}
        schema = {"type": "object", "properties": dict.fromkeys(missing, texts), "required": [*missing]}
        return Request(
            id=wanted.label,
            system=self.pack.system,
            context="",
            question=wanted.prompt(self.pack),
            sampling=self.sampling,
            repeat=wanted.rounds,
            schema={**schema, "additionalProperties": False},
        )


class Planner(Proposer):
    """Notes the requests without making them, as if every text passed."""

    def collect(self, *wanted: Wanted) -> list[Wanted]:
        """See `Proposer.collect`; the texts are stand-ins."""
        for one in wanted:
            while missing := one.missing:
                self.requests.append(self.request(one))
                for part, n in missing.items():
                    one.kept[part] += [f"{part} {len(one.kept[part]) + i} of {one.label}" for i in range(n)]
        return [*wanted]
