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
from epbench.progress import Progress
from epbench.runs.replies import replies_to

OWN = packaged("epbench.memfail", "memfail_generation.toml")


@dataclass(frozen=True, slots=True)
class GenerationPrompts:
    """A pack; comments in our file say what each text is for.

    Attributes:
        system: The system message; may be empty.
        repair: Follows a prompt whose last reply had `{problems}`.
        conditional_datapoint, …: What is asked in each step, about `{specs}`; for chains with the `{known}` ones.
    """

    system: str
    repair: str
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


class Labelled(Protocol):
    """What a row is to be about, or is; `label` is how reports name it."""

    @property
    def label(self) -> str: ...


class Spec(Labelled, Protocol):
    """What a row is to be about; `number` is unique in its step."""

    @property
    def number(self) -> int: ...


L = TypeVar("L", bound=Labelled)
S = TypeVar("S", bound=Spec)
Item = dict[str, Any]
Check = Callable[[S, Item], str | None]
"""Returns what is wrong with a row, in words that a model can act on; None if nothing is. Its name is the check's name."""

TEXT: Item = {"type": "string"}
TEXTS: Item = {"type": "array", "items": TEXT}


def object_of(fields: Mapping[str, Any]) -> Item:
    """Return the JSON schema of an object that has exactly these fields."""
    return {"type": "object", "properties": dict(fields), "required": [*fields], "additionalProperties": False}


@dataclass(frozen=True)
class Step(Generic[S]):
    """One kind of request.

    Attributes:
        name: How messages and reports name it.
        batch: Rows per request.
        prompt: Makes the prompt from the specs as JSON.
        fields: JSON schemas of what a row of the reply has, besides `row_id`.
        shown: A spec as the model sees it, besides `row_id`.
        counts: Checks that the others rely on, such as the number of facts; if one fails, the others are not made.
        checks: All other checks of a row.
        stand_in: A row of usual length, for an estimate.
    """

    name: str
    batch: int
    prompt: Callable[[str], str]
    fields: Mapping[str, Any]
    shown: Callable[[S], Item]
    counts: Sequence[Check[S]]
    checks: Sequence[Check[S]]
    stand_in: Callable[[S], Item]

    @property
    def schema(self) -> Item:
        rows = {"type": "array", "items": object_of({"row_id": {"type": "integer"}, **self.fields})}
        return object_of({"rows": rows})

    def problems(self, spec: S, row: Item) -> Iterator[tuple[str, str]]:
        """Yield the name of each check that a row fails, with the reason."""
        misfit = misfit_of({name: row.get(name) for name in self.fields}, object_of(self.fields))
        if misfit:
            yield "fields", misfit
            return
        failed = [(check.__name__, reason) for check in self.counts if (reason := check(spec, row))]
        yield from failed or [(check.__name__, reason) for check in self.checks if (reason := check(spec, row))]


@dataclass(frozen=True)
class Rejection:
    """A row that failed a check.

    Attributes:
        check: Name of the check.
        step: What was asked, or done with the rows.
        row: Label of the row's spec.
        reason: What was wrong.
        attempt: Which try it was, 1 to 3; 0 for a check of rows that the model is not asked for again.
        dropped: Whether the row is lost.
    """

    check: str
    step: str
    row: str
    reason: str
    attempt: int
    dropped: bool


@dataclass
class Log:
    """What happens to the rows of a generation: rejections, and how many rows go into each step and come out of it."""

    rejections: list[Rejection] = field(default_factory=list)
    counts: list[Item] = field(default_factory=list)

    def drop(self, check: str, step: str, row: str, reason: str) -> None:
        """Note that a row is dropped, without another try."""
        self.rejections.append(Rejection(check, step, row, reason, 0, True))

    def without_alike(
        self,
        step: str,
        rows: Sequence[L],
        threshold: float,
        texts_of: Callable[[L], Sequence[str]],
        what: str,
    ) -> list[L]:
        """Return the rows without those that have a text like one of an earlier row; these are noted as dropped."""
        seen, kept = Duplicates(threshold), []
        for row in rows:
            if like := seen.like(texts_of(row), row.label):
                self.drop("duplicate", step, row.label, f"{what} {like}")
            else:
                kept.append(row)
        return kept

    def count(self, step: str, before: int, after: int) -> None:
        """Note how many rows a step had and kept; several turns of one step are added up."""
        counts = next((counts for counts in self.counts if counts["step"] == step), None)
        if counts is None:
            self.counts.append({"step": step, "before": before, "after": after})
        else:
            counts["before"], counts["after"] = counts["before"] + before, counts["after"] + after


class Asker:
    """Asks a model, in a folder that holds its replies."""

    def __init__(
        self, model: Model, folder: Path, prompts: GenerationPrompts, *, seed: int, max_tokens: int, progress: Progress
    ) -> None:
        """
        Args:
            model: The model that writes.
            folder: The folder of the journal, open for this process alone.
            prompts: The prompt pack.
            seed: The seed of the model's sampling; not every endpoint respects it.
            max_tokens: The largest number of tokens of a reply.
            progress: Shows how many replies there are.
        """
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

    def request(self, batch: _Batch[Any], attempt: int) -> Request:
        """Return the request for the open rows of a batch; a later one includes what was wrong with them."""
        specs = [{"row_id": spec.number, **batch.step.shown(spec)} for spec in batch.open]
        prompt = batch.step.prompt(json.dumps(specs, ensure_ascii=False, indent=1))
        if batch.faults:
            prompt += "\n\n" + self.prompts.repair.format(problems="\n".join(f"- {fault}" for fault in batch.faults))
        return Request(
            id=f"{batch.step.name}, batch {batch.number}",
            system=self.prompts.system,
            context="",
            question=prompt,
            sampling=self._sampling,
            repeat=attempt,
            schema=batch.step.schema,
        )


class Planner(Asker):
    """Makes the requests of the first tries without asking, as if every row passed."""

    def __init__(self, model: Model, prompts: GenerationPrompts, *, seed: int, max_tokens: int) -> None:
        super().__init__(model, Path(), prompts, seed=seed, max_tokens=max_tokens, progress=_never)
        self.requests: list[Request] = []

    def accepted(self, step: Step[S], specs: Sequence[S]) -> dict[int, Item]:
        """See `Asker.accepted`; the rows are stand-ins."""
        all_batches = [_Batch(step, number, members) for number, members in enumerate(batches(specs, step.batch))]
        self.requests += [self.request(batch, 0) for batch in all_batches]
        return {spec.number: step.stand_in(spec) for spec in specs}


def _never(*_: object) -> Any:
    raise AssertionError("an estimate asks nothing")


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
            problems = [whole] if whole else self._problems(spec, rows.get(spec.number))
            if not problems:
                self.rows[spec.number] = rows[spec.number]
                continue
            failed.append(spec)
            for check, reason in problems:
                log.rejections.append(
                    Rejection(check, self.step.name, spec.label, reason, attempt + 1, attempt + 1 == TRIES)
                )
                if not whole:
                    self.faults.append(f"row_id {spec.number}: {reason}")
        self.open = failed

    def _problems(self, spec: S, row: Item | None) -> list[tuple[str, str]]:
        if row is None:
            return [("row_present", "this row is missing from the reply")]
        return list(self.step.problems(spec, row))


def _rows_of(record: Record) -> tuple[dict[int, Item], tuple[str, str] | None]:
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
    place = where or "the row"
    if schema["type"] == "string":
        filled = isinstance(value, str) and bool(value.strip(" ."))
        return None if filled else f"{place}: expected a text, found {quoted(str(value))}"
    if schema["type"] == "array":
        if not isinstance(value, list):
            return f"{place}: expected a list, found {quoted(str(value))}"
        misfits = (misfit_of(item, schema["items"], f"{where}[{i}]") for i, item in enumerate(value))
        return next((misfit for misfit in misfits if misfit), None)
    if not isinstance(value, dict):
        return f"{place}: expected an object, found {quoted(str(value))}"
    fields = schema["properties"].items()
    misfits = (misfit_of(value.get(name), field_schema, f"{where}.{name}".strip(".")) for name, field_schema in fields)
    return next((misfit for misfit in misfits if misfit), None)
