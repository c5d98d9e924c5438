"""Asks a model for rows in batches: three tries, each told what was wrong, and every reply journaled as it arrives.

A row that passes its checks is kept, and only the others are asked for again. A row that has not passed after the third try
is dropped, and the rest goes on. A request depends on nothing but the specs, the prompts and the replies before it, so a
generation that was stopped finds its replies in the journal and asks nothing twice. Our prompts are in
`data/memfail_generation.toml`; paper: Appendix D.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from epbench.errors import UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Source, load_pack
from epbench.files.text import parse_toml
from epbench.journals.journal import Record
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.generation.specs import batches
from epbench.memfail.generation.words import Duplicates, quoted
from epbench.models.json_replies import last_object_with, number_of
from epbench.models.protocol import Model, Request, Sampling
from epbench.progress import Progress, no_progress
from epbench.runs.replies import replies_to

OWN = packaged("epbench.memfail", "memfail_generation.toml")


@dataclass(frozen=True, slots=True)
class GenerationPrompts:
    """A pack; comments in our file say what each text is for. Steps ask about `{specs}`, for chains with the `{known}` ones."""

    system: str  # may be empty
    repair: str  # follows a prompt whose last reply had `{problems}`
    conditional_datapoint: str
    easy_essay: str
    hard_essay: str
    coexisting: str
    persona: str
    long_hop_chain: str
    long_hop_audit: str
    long_hop_options: str
    revision: str


def load_generation_prompts(source: Source | None = None) -> GenerationPrompts:
    """Return the pack in a file, which may lack the text about `revision`, that of a file of wording, or ours.

    Raises:
        BadInput: The file is not such a pack; see `load_pack`.
    """
    steps = [field.name for field in fields(GenerationPrompts) if field.name not in ("system", "repair")]
    holds = {"repair": ["problems"], **{name: ["specs"] for name in steps}, "long_hop_chain": ["specs", "known"]}
    own = {REVISION: str(parse_toml(OWN.read_text("utf-8"))[REVISION])}
    return load_pack(source or OWN, GenerationPrompts, holds, may_lack=own)


TRIES = 3
REPLIES = "replies.jsonl"
TEMPERATURE = 1.0  # a reply that failed must be followed by a different one


class Spec(Protocol):
    """What a row is to be about: `number` is unique in its step, and `label` is how reports name it."""

    @property
    def number(self) -> int: ...

    @property
    def label(self) -> str: ...


S = TypeVar("S", bound=Spec)
Item = dict[str, Any]
Fault = tuple[str, str]
"""The name of a check that a row fails, and what is wrong with the row, in words that a model can act on."""

TEXT: Item = {"type": "string"}
TEXTS: Item = {"type": "array", "items": TEXT}


def object_of(fields: Mapping[str, Any]) -> Item:
    """Return the JSON schema of an object that has exactly these fields."""
    return {"type": "object", "properties": dict(fields), "required": [*fields], "additionalProperties": False}


@dataclass(frozen=True)
class Step(Generic[S]):
    """One kind of request.

    `faults` yields what is wrong with a row of the right form, once for each check. What other checks rely on, such as the
    number of facts, comes first; if that is wrong, the others are not made.
    """

    name: str  # how messages and reports name it
    batch: int  # rows per request
    prompt: Callable[..., str]  # makes the prompt from the `specs` as JSON
    fields: Mapping[str, Any]  # JSON schemas of what a row of the reply has, besides `row_id`
    shown: Callable[[S], Item]  # a spec as the model sees it, besides `row_id`
    faults: Callable[[S, Item], Iterator[Fault]]
    stand_in: Callable[[S], Item]  # a row of usual length, for an estimate

    @property
    def schema(self) -> Item:
        rows = {"type": "array", "items": object_of({"row_id": {"type": "integer"}, **self.fields})}
        return object_of({"rows": rows})

    def problems(self, spec: S, row: Item | None) -> list[Fault]:
        """Return every check that a row fails."""
        if row is None:
            return [("row_present", "this row is missing from the reply")]
        misfit = misfit_of({name: row.get(name) for name in self.fields}, object_of(self.fields))
        return [("fields", misfit)] if misfit else list(self.faults(spec, row))


@dataclass(frozen=True)
class Rejection:
    """A row that failed a check."""

    check: str
    step: str  # what was asked, or done with the rows
    row: str  # the label of its spec
    reason: str
    attempt: int  # which try it was, 1 to 3; 0 for a check of rows that the model is not asked for again
    dropped: bool  # whether the row is lost


@dataclass
class Log:
    """What happens to the rows of a generation: rejections, and how many rows go into each step and come out of it."""

    rejections: list[Rejection] = field(default_factory=list)
    counts: list[Item] = field(default_factory=list)

    def drop(self, check: str, step: str, row: str, reason: str) -> None:
        """Note that a row is dropped, without another try."""
        self.rejections.append(Rejection(check, step, row, reason, 0, True))

    def without_alike(
        self, step: str, rows: Sequence[S], threshold: float, texts: Mapping[int, Sequence[str]], what: str
    ) -> list[S]:
        """Return the rows without those whose texts, by number, have one like an earlier row's; these are noted as dropped."""
        seen, kept = Duplicates(threshold), []
        for row in rows:
            if like := seen.like(texts[row.number], row.label):
                self.drop("duplicate", step, row.label, f"{what} {like}")
            else:
                kept.append(row)
        return kept

    def count(self, step: str, before: int, after: int) -> None:
        """Note how many rows a step had and kept; several turns of one step are added up."""
        counts = next((counts for counts in self.counts if counts["step"] == step), None)
        if counts is None:
            self.counts.append(counts := {"step": step, "before": 0, "after": 0})
        counts |= {"before": counts["before"] + before, "after": counts["after"] + after}


class Asker:
    """Asks a model, in a folder that holds its replies, open for this process alone; not every endpoint respects the seed."""

    def __init__(
        self, model: Model, folder: Path, prompts: GenerationPrompts, *, seed: int, max_tokens: int, progress: Progress
    ) -> None:
        self.model, self.prompts, self.log = model, prompts, Log()
        self.paid: dict[str, Record] = {}
        self._folder, self._progress = folder, progress
        self._sampling = Sampling(max_tokens, TEMPERATURE, seed)

    def accepted(self, step: Step[S], specs: Sequence[S]) -> dict[int, Item]:
        """Return the rows that passed all checks, by number of their spec and in this order; the others are logged.

        Raises:
            RunFailed: Some requests got no answer; all others are kept.
        """
        asked = [_Batch(step, number, members) for number, members in enumerate(batches(specs, step.batch))]
        for attempt in range(TRIES):
            waiting = [batch for batch in asked if batch.open]
            if waiting:
                requests = [self.request(batch, attempt) for batch in waiting]
                label = f"{step.name}, try {attempt + 1}"
                records = replies_to(self._folder / REPLIES, requests, self.model, self._progress, label)
                self.paid.update((record["key"], record) for record in records)
                for batch, record in zip(waiting, records, strict=True):
                    batch.read(record, attempt, self.log)
        rows = {number: row for batch in asked for number, row in batch.rows.items()}
        self.log.count(step.name, len(specs), len(rows))
        return {spec.number: rows[spec.number] for spec in specs if spec.number in rows}

    def written(
        self, step: Step[S], specs: Sequence[S], texts: str, threshold: float, text_of: Callable[[Item], str], what: str
    ) -> list[tuple[S, Item]]:
        """Return the specs with the rows that passed all checks, without those that are like an earlier one in a text."""
        accepted = self.accepted(step, specs)
        passed, without = [spec for spec in specs if spec.number in accepted], f"{texts} without near duplicates"
        compared = {number: [text_of(row)] for number, row in accepted.items()}
        kept = self.log.without_alike(without, passed, threshold, compared, what)
        self.log.count(without, len(passed), len(kept))
        return [(spec, accepted[spec.number]) for spec in kept]

    def request(self, batch: _Batch[Any], attempt: int) -> Request:
        """Return the request for the open rows of a batch; a later one includes what was wrong with them."""
        specs = [{"row_id": spec.number, **batch.step.shown(spec)} for spec in batch.open]
        prompt = batch.step.prompt(specs=json.dumps(specs, ensure_ascii=False, indent=1))
        if batch.faults:
            prompt += "\n\n" + self.prompts.repair.format(problems="\n".join(f"- {fault}" for fault in batch.faults))
        id_, system = f"{batch.step.name}, batch {batch.number}", self.prompts.system
        return Request(id_, system, "", prompt, self._sampling, repeat=attempt, schema=batch.step.schema)


class Planner(Asker):
    """Makes the requests of the first tries without asking, as if every row passed."""

    def __init__(self, model: Model, prompts: GenerationPrompts, *, seed: int, max_tokens: int) -> None:
        super().__init__(model, Path(), prompts, seed=seed, max_tokens=max_tokens, progress=no_progress)
        self.requests: list[Request] = []

    def accepted(self, step: Step[S], specs: Sequence[S]) -> dict[int, Item]:
        """See `Asker.accepted`; the rows are stand-ins."""
        all_batches = [_Batch(step, number, members) for number, members in enumerate(batches(specs, step.batch))]
        self.requests += [self.request(batch, 0) for batch in all_batches]
        return {spec.number: step.stand_in(spec) for spec in specs}


class _Batch(Generic[S]):
    """The rows of one request: those that passed, and those that are still open, with what was wrong with them."""

    def __init__(self, step: Step[S], number: int, specs: Sequence[S]) -> None:
        self.step, self.number, self.open = step, number, list(specs)
        self.rows: dict[int, Item] = {}
        self.faults: list[str] = []

    def read(self, record: Record, attempt: int, log: Log) -> None:
        """Take the rows of a reply that pass; log the others."""
        rows, whole = _rows_of(record)
        self.faults, failed = [whole[1]] if whole else [], []
        for spec in self.open:
            problems = [whole] if whole else self.step.problems(spec, rows.get(spec.number))
            if not problems:
                self.rows[spec.number] = rows[spec.number]
                continue
            failed.append(spec)
            for check, reason in problems:
                made = Rejection(check, self.step.name, spec.label, reason, attempt + 1, attempt + 1 == TRIES)
                log.rejections.append(made)
                self.faults += [] if whole else [f"row_id {spec.number}: {reason}"]
        self.open = failed


def _rows_of(record: Record) -> tuple[dict[int, Item], Fault | None]:
    """(the rows of a reply by number, None), or ({}, the check that the whole reply fails and the reason)."""
    if record.get("failure") is not None:
        return {}, ("reply_ended", str(record["failure"]))
    try:
        rows = last_object_with(record["answer"], "rows")["rows"]
    except UnusableReply as error:
        return {}, ("reply_is_json", str(error))
    if not isinstance(rows, list):
        return {}, ("reply_is_json", f"expected a list under rows, found {quoted(str(rows))}")
    by_number: dict[int, Item] = {}
    for row in rows:
        number = number_of(row.get("row_id")) if isinstance(row, dict) else None
        if number is not None and number == int(number):
            by_number.setdefault(int(number), row)
    return by_number, None


def misfit_of(value: object, schema: Mapping[str, Any], where: str = "") -> str | None:
    """Return where a value does not have the form of a schema of objects, lists and filled texts; None if it has.

    Endpoints that cannot hold a model to a schema return whatever the model writes.
    """
    parts: list[tuple[object, Item, str]] = []
    if isinstance(value, list) and schema["type"] == "array":
        parts = [(item, schema["items"], f"{where}[{i}]") for i, item in enumerate(value)]
    elif isinstance(value, dict) and schema["type"] == "object":
        named = schema["properties"].items()
        parts = [(value.get(name), part, f"{where}.{name}".strip(".")) for name, part in named]
    elif schema["type"] != "string" or not isinstance(value, str) or not value.strip(" ."):
        expected = {"string": "a text", "array": "a list", "object": "an object"}[schema["type"]]
        return f"{where or 'the row'}: expected {expected}, found {quoted(str(value))}"
    return next((misfit for part in parts if (misfit := misfit_of(*part))), None)
