"""Asks a model for rows in batches: three tries, each told what was wrong, and every reply journaled as it arrives.

A row that passes its checks is kept, and only the others are asked for again. A row that has not passed after the third try
is dropped, and the rest goes on. A request depends on nothing but the specs, the prompts and the replies before it, so a
generation that was stopped finds its replies in the journal and asks nothing twice. Our prompts are in
`data/memfail_generation.toml`; paper: Appendix D.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from epbench.errors import UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Source, load_pack
from epbench.files.text import parse_toml
from epbench.journals.journal import Record
from epbench.judges.model import object_schema
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.dataset.word_rules import NEAR_DUPLICATE
from epbench.models.protocol import Model, Request, Sampling, packed
from epbench.models.replies import last_object_with, number_of
from epbench.progress import Progress, no_progress
from epbench.runs.usage import replies_to

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
    """Return ours, or a pack as `load_pack` reads it; one in a file may lack the text about `revision`."""
    steps = [field.name for field in fields(GenerationPrompts) if field.name not in ("system", "repair")]
    holds = {"repair": ["problems"], **{name: ["specs"] for name in steps}, "long_hop_chain": ["specs", "known"]}
    own = {REVISION: str(parse_toml(OWN.read_text("utf-8"))[REVISION])}
    return load_pack(source or OWN, GenerationPrompts, holds, may_lack=own)


SEED = 42
"""The seed of the released rows, which were drawn from one `random.Random` per config. The same calls in the same order give
the same specs here, so specs are drawn with `choice`, `sample` and `shuffle`, and not with `epbench.draws`. Whatever the
reference leaves to the model or to chance, and what must be unique here (names), comes from streams of its own, so that it
changes none of these draws. `data/pools.json` has the lists of the paper, and persona flavors of ours."""
TRIES = 3
REPLIES = "replies.jsonl"
TEMPERATURE = 1.0  # a reply that failed must be followed by a different one


@dataclass(frozen=True)
class Spec:
    """What a row is to be about: `number` is unique in its step, and `label` is how reports name it."""

    number: int
    task: ClassVar[str]

    @property
    def label(self) -> str:
        return f"{self.task}-{self.number:03}"


S = TypeVar("S", bound=Spec)
Item = dict[str, Any]
Fault = tuple[str, str]  # the name of a check, and what is wrong with the row, in words that a model can act on

TEXT: Item = {"type": "string"}
TEXTS: Item = {"type": "array", "items": TEXT}


Checks: TypeAlias = Mapping[str, Iterable[str] | Literal[False] | None]
"""By the name of a check, what is wrong with a row, of which the first is told; empty or false if the row passes."""


@dataclass(frozen=True)
class Step(Generic[S]):
    """One kind of request.

    `checks` yields the checks of a row of the right form. What other checks rely on, such as the number of facts, comes first:
    if a row fails one, the later ones are not made.
    """

    name: str  # how messages and reports name it
    batch: int  # rows per request
    prompt: str  # the text of the pack that asks about the `specs`
    fields: Item  # JSON schemas of what a row of the reply has, besides `row_id`
    shown: Callable[[S], Item]  # a spec as the model sees it, besides `row_id`
    checks: Callable[[S, Item], Iterator[Checks]]
    stand_in: Callable[[S], Item]  # a row of usual length, for an estimate
    more: Mapping[str, str] = field(default_factory=dict)  # what the prompt has besides the specs

    @property
    def schema(self) -> Item:
        rows = {"type": "array", "items": object_schema({"row_id": {"type": "integer"}, **self.fields})}
        return object_schema({"rows": rows})

    def problems(self, spec: S, row: Item | None) -> list[Fault]:
        """Return every check that a row fails."""
        if row is None:
            return [("row_present", "this row is missing from the reply")]
        if misfit := misfit_of({name: row.get(name) for name in self.fields}, object_schema(self.fields)):
            return [("fields", misfit)]
        for checks in self.checks(spec, row):
            told = {
                name: found if isinstance(found, str) else next(iter(found or ()), None)
                for name, found in checks.items()
            }
            if faults := [(name, reason) for name, reason in told.items() if reason]:
                return faults
        return []


def shingles(text: str) -> set[str]:
    """Return the word trigrams of a text in lower case; a text of fewer than three words is one shingle.

    >>> sorted(shingles("Tea at five, always"))
    ['at five, always', 'tea at five,']
    """
    words = text.lower().split()
    if len(words) < 3:
        return {" ".join(words)}
    return {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}


@dataclass
class Log:
    """What happens to the rows of a generation: rejections, and how many rows go into each step and come out of it.

    A rejection has row (the label of its spec), step (what was asked, or done with the rows), try (1 to 3; 0 for a check of rows
    that the model is not asked for again), reason, and dropped (whether the row is lost).
    """

    rejections: dict[str, list[Item]] = field(default_factory=dict)  # by check
    counts: dict[str, Item] = field(default_factory=dict)  # by step

    def reject(self, check: str, step: str, row: str, reason: str, attempt: int = 0) -> None:
        """Note that a row fails a check; without another try, or after the last, it is dropped."""
        about = {"row": row, "step": step, "try": attempt, "reason": reason, "dropped": attempt in (0, TRIES)}
        self.rejections.setdefault(check, []).append(about)

    def without_alike(
        self, step: str, rows: Sequence[S], texts: Mapping[int, Sequence[str]], what: str, alike: float = NEAR_DUPLICATE
    ) -> list[S]:
        """Return the rows without those whose texts, by number, have one like another or an earlier row's, noted as dropped.

        Alike are texts from that Jaccard index on, by MinHash over word trigrams (paper: Appendix B.1). As in the reference, a
        hit of the index is not checked again with the exact Jaccard index.
        """
        from datasketch import MinHash, MinHashLSH

        index, kept = MinHashLSH(threshold=alike), list[S]()
        for place, row in enumerate(rows):
            for number, text in enumerate(texts[row.number]):
                sketch = MinHash()
                sketch.update_batch([shingle.encode() for shingle in shingles(text)])
                if matches := index.query(sketch):
                    for earlier in range(number):
                        index.remove((place, earlier, row.label))
                    self.reject("duplicate", step, row.label, f"{what} {min(matches)[2]}")
                    break
                index.insert((place, number, row.label), sketch)
            else:
                kept.append(row)
        return kept

    def count(self, step: str, before: int, after: int) -> None:
        """Note how many rows a step had and kept; several turns of one step are added up."""
        counts = self.counts.setdefault(step, {"step": step, "before": 0, "after": 0})
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

        RunFailed if some requests got no answer; all others are kept.
        """
        asked = _Batch.all_of(step, specs)
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
        self, step: Step[S], specs: Sequence[S], texts: str, text_of: Callable[[Item], str], what: str
    ) -> list[tuple[S, Item]]:
        """Return the specs with the rows that passed all checks, without those that are like an earlier one in a text."""
        accepted = self.accepted(step, specs)
        passed, without = [spec for spec in specs if spec.number in accepted], f"{texts} without near duplicates"
        compared = {number: [text_of(row)] for number, row in accepted.items()}
        kept = self.log.without_alike(without, passed, compared, what)
        self.log.count(without, len(passed), len(kept))
        return [(spec, accepted[spec.number]) for spec in kept]

    def request(self, batch: _Batch[Any], attempt: int) -> Request:
        """Return the request for the open rows of a batch; a later one includes what was wrong with them."""
        specs = [{"row_id": spec.number, **batch.step.shown(spec)} for spec in batch.open]
        known = {"specs": json.dumps(specs, ensure_ascii=False, indent=1), **batch.step.more}
        prompt = getattr(self.prompts, batch.step.prompt).format(**known)
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
        self.requests += [self.request(batch, 0) for batch in _Batch.all_of(step, specs)]
        return {spec.number: step.stand_in(spec) for spec in specs}


@dataclass
class _Batch(Generic[S]):
    """The rows of one request: those that passed, and those that are still open, with what was wrong with them."""

    step: Step[S]
    number: int
    open: list[S]
    rows: dict[int, Item] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @classmethod
    def all_of(cls, step: Step[S], specs: Sequence[S]) -> list[_Batch[S]]:
        return [cls(step, number, of) for number, of in enumerate(packed(specs, lambda spec: 1, step.batch))]

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
                log.reject(check, self.step.name, spec.label, reason, attempt + 1)
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


def quoted(text: str) -> str:
    """Return a text as a message quotes it, with at most 80 characters."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def stand_in(label: str, n: int) -> str:
    """Return n words that no other label has, where only the length of a text counts."""
    return " ".join(f"{label}w{i}" for i in range(n))
