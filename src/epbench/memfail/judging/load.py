"""From a judge's name to a judge of MemFail: rules, or a language model with its prompts (paper: Appendix D.3, in our words).

A model gets one request per statement, and gives a verdict under a JSON schema; our prompts are in
`data/memfail_judging.toml`. The memories come first in the prompt and the fact last, so that a store is read once for all
facts that are looked up in it, whether the check is about storing or about keeping the detail. In words of others, as a file
of wording has them, a check may have a reply of its own, and several may go into one request. Like the published judge, such a
text may show the memories where it likes, and say the question or the condition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, Source, check_text, load_pack, told
from epbench.files.text import parse_toml
from epbench.journals.answers import fingerprint_of
from epbench.judges.model import Ask, BaseModelJudge, Calls, object_schema
from epbench.judges.protocol import JudgeIdentity, Judgement, PastJudge
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.judging.lexical import BY_QUESTION, STAGES, Check, Judge, LexicalJudge, Verdict
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, Sampling, Usage
from epbench.models.replies import boolean_of, last_object_with, number_of

OWN = packaged("epbench.memfail", "memfail_judging.toml")

_REPLY: dict[str, Literal["boolean", "string"]] = {"reason": "string", "verdict": "boolean"}  # the verdict, and why
_OF_FACT = ["fact", "first", "last", "detail", "question"]
_OF_ANSWER = [*_OF_FACT, "facts", "firsts", "truth", "other", "distractor"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How one of our checks is asked for.

    The text about a memory has `{fact}`, `{first}`, `{last}`, `{detail}`, the `{question}`, and `{memories}`, which are shown
    nowhere else then. About an answer also `{facts}`, `{firsts}` (each after a dash), `{truth}`, `{other}`, the `{distractor}`,
    and `{answer}` with marked lines or `{plain_answer}`. With a batch: `{memories}`, `{entries}`, and their number `{n}`. The
    reply to a batch is an object with `results`, a list of objects with the `id` and the fields of `reply`.
    """

    text: str
    system: str | None = None  # None for that of the pack
    reply: dict[str, Literal["boolean", "string"]] = field(default_factory=lambda: dict(_REPLY))
    batch: int = 0  # the most checks of one request; 0 for one, without entries
    entry: str = ""  # the text of each check of a batch, with its `{number}` from 1
    between: str = "\n\n"  # what stands between two entries

    def verify(self, where: str, *, about_answer: bool) -> None:
        """Refuse unknown or missing placeholders, and batch, entry and reply that do not go together; `where` names it."""
        wanted = ["answer|plain_answer"] if about_answer else ["fact|first|last|detail"]
        may = _OF_ANSWER if about_answer else [*_OF_FACT, "memories"]
        if self.batch < 0 or (self.batch > 0) != bool(self.entry):
            raise BadInput(f"{where}, key 'batch': expected 1 or more with an entry, 0 without, got {self.batch}")
        if self.batch:
            check_text(f"{where}, key 'text'", self.text, ["entries"], ["n", "memories"])
            check_text(f"{where}, key 'entry'", self.entry, ["number|", *wanted], may)
        else:
            check_text(f"{where}, key 'text'", self.text, wanted, may)
        check_text(f"{where}, key 'system'", self.system or "", [])
        if sorted(self.reply.values()) not in (["boolean"], ["boolean", "string"]):
            raise BadInput(f"{where}, key 'reply': expected one 'boolean' and at most one 'string', got {self.reply}")

    @property
    def fields(self) -> tuple[str, str]:
        """The names of the verdict and of its reason, which may be empty."""
        names = {kind: name for name, kind in self.reply.items()}
        return names["boolean"], names.get("string", "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply."""
        fields: dict[str, Any] = {name: {"type": kind} for name, kind in self.reply.items()}
        if self.batch:
            fields = {"results": {"type": "array", "items": object_schema({"id": {"type": "integer"}, **fields})}}
        return object_schema(fields)


# The reason comes first, so that a model has written it when it decides.
SCHEMA = Asking("").schema
SAMPLING = Sampling(max_tokens=2048)  # room for models that think before they answer

_LINK, _ANSWER = ("fact", "first", "last"), ("facts", "question", "truth", "answer")
_CHANGED, _GIVEN_UP = ("question", "truth", "other", "answer"), ("question", "other", "answer")
_LINKS = {"conditional": _LINK, "coexisting": _LINK[:2], "persona": _LINK[:2], "long_hop": _LINK, REVISION: _LINK}
_HOLDS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("store", "retrieved"), ("memories",)),
    "repair": ("problem",),
    "memory": ("memory",),
    **{f"{task}_{stage}": link for task, link in _LINKS.items() for stage in STAGES},
    **{f"{task}_{stage}": (*_LINKS[task], "detail") for task in ("conditional", "persona") for stage in STAGES[1:]},
    **dict.fromkeys(("conditional_reasoning", "coexisting_reasoning", "persona_reasoning"), _ANSWER),
    "persona_abstention": ("first", "facts", "question", "answer"),
    **dict.fromkeys(("revision_reasoning", "revision_history"), _CHANGED),
    **dict.fromkeys(("revision_abstention", "revision_stale", "revision_resurrected"), _GIVEN_UP),
}
_TASKS = {
    "conditional_facts_easy": "conditional",
    "conditional_facts_hard": "conditional",
    "coexisting_facts": "coexisting",
    "persona_retrieval": "persona",
    "long_hop": "long_hop",
    REVISION: REVISION,
}


@cache
def _own_revision() -> dict[str, str]:
    """Our texts about `revision`, which a pack may lack."""
    pack: dict[str, str] = parse_toml(OWN.read_text("utf-8"))
    return {name: text.strip("\n") for name, text in pack.items() if name.startswith(REVISION)}


@dataclass(frozen=True, slots=True)
class JudgingPrompts:
    """A pack. `store` or `retrieved` comes before a question about a memory, followed by a blank line.

    What is asked goes by task and kind of check: about a memory `{fact}`, the ends of its link `{first}` and `{last}`,
    `{detail}`; about an answer `{facts}`, `{question}`, `{truth}`, `{answer}`, and in `revision` `{other}`, the value that was
    given up, or that came later.
    """

    system: str  # may be empty
    store: str  # text around the whole store, `{memories}`
    retrieved: str  # text around the retrieved memories, `{memories}`
    any_detail: str  # replaces the detail where no single one counts
    repair: str  # follows a question if a reply could not be used: `{problem}`
    conditional_storage: str
    conditional_summary: str
    conditional_retrieval: str
    conditional_reasoning: str
    coexisting_storage: str
    coexisting_summary: str
    coexisting_retrieval: str
    coexisting_reasoning: str
    persona_storage: str
    persona_summary: str
    persona_retrieval: str
    persona_reasoning: str
    persona_abstention: str
    long_hop_storage: str
    long_hop_summary: str
    long_hop_retrieval: str
    revision_storage: str
    revision_summary: str
    revision_retrieval: str
    revision_reasoning: str
    revision_history: str
    revision_abstention: str
    revision_stale: str
    revision_resurrected: str
    memory: str | None = None  # frame of each memory for `checks`; None for a dash, with further lines indented
    checks: dict[str, Asking] = field(default_factory=dict)  # instead of ours, by task or config and kind

    @property
    def hash(self) -> str:
        """Hash of everything the replies depend on: another hash is another judge.

        Our texts about `revision` are not part of it, since `REVISION_RULES` is counted up when they change.
        """
        texts = told(self)
        revision = {name: texts.pop(name) for name in _own_revision()}
        made = fingerprint_of([texts, SCHEMA, *([] if revision == _own_revision() else [revision])])
        by_question = any("{question}" in asking.text + asking.entry for asking in self.checks.values())
        return made + BY_QUESTION * by_question

    def asking(self, check: Check) -> Asking:
        """How a check is asked for."""
        kind = "history" if check.gold is None and check.question.kind == "first" else check.kind
        config = check.question.config
        name = f"{_TASKS[config]}_{kind}"
        return self.checks.get(f"{config}_{kind}") or self.checks.get(name) or Asking(getattr(self, name))

    def request(self, id_: str, check: Check, *others: Check) -> Request:
        """The request by which a model judges a check, and others with it."""
        asking, context = self.asking(check), ""
        text = asking.entry or asking.text
        known = (self._known(each, text) | {"number": f"{number}"} for number, each in enumerate((check, *others), 1))
        parts = [text.format(**each) for each in known]
        if asking.batch:
            entries = {"entries": asking.between.join(parts), "n": f"{len(parts)}"}
            parts = [asking.text.format(**self._known(check, asking.text), **entries)]
        elif check.gold is not None and "{memories}" not in text:
            context = _shown(self.retrieved if check.kind == "retrieval" else self.store, memories_of(check.memories))
        system = self.system if asking.system is None else asking.system
        return Request(id_, system, context, parts[0], SAMPLING, schema=asking.schema)

    def _known(self, check: Check, text: str) -> dict[str, str]:
        question = check.question
        gold = check.gold or (question.gold[0] if question.gold else None)
        memories = memories_of(check.memories) if "{memories}" in text else ()
        items = map(_item, memories) if self.memory is None else (self.memory.format(memory=each) for each in memories)
        return {
            "fact": gold.text if gold else "",
            "first": gold.link[0] if gold else "",
            "last": gold.link[-1] if gold else "",
            "detail": "; ".join(gold.detail if gold else ()) or self.any_detail,
            "memories": "\n".join(items),
            "facts": "\n".join(each.text for each in question.gold),
            "firsts": "\n".join(f"- {each.link[0]}" for each in question.gold),
            "question": question.text,
            "truth": question.reference,
            "other": question.about.get("other") or "(there is none)",
            "distractor": question.about.get("distractor") or "",
            "answer": "\n".join(f"> {line}" for line in check.answer.splitlines()) or "> (nothing)",
            "plain_answer": check.answer,
        }


def _shown(frame: str, memories: Memories) -> str:
    """The memories in a prompt: one text for all checks about them, which may be a million characters."""
    if frame not in memories.shown:
        memories.shown[frame] = frame.format(memories="\n".join(map(_item, memories)))
    return memories.shown[frame]


def _item(memory: str) -> str:
    """A memory after a dash, with its further lines indented, so that no memory can pass for two."""
    return "- " + "\n  ".join(memory.splitlines())


def load_judging_prompts(source: Source | None = None) -> JudgingPrompts:
    """Load our pack, that of a TOML or JSON file with the same keys, of which those about `revision` may be missing, or that
    of a file of wording.
    """
    kinds = {"checks": dict[str, Asking]}
    pack = load_pack(source or OWN, JudgingPrompts, _HOLDS, may_lack=_own_revision(), kinds=kinds)
    tasks, texts = {*_TASKS.values()}, [each.name for each in fields(pack)]
    kinds_of_check = {text.removeprefix(task) for text in texts for task in tasks if text.startswith(task)}
    known = {f"{name}{kind}" for name in (*_TASKS, *tasks) for kind in kinds_of_check}
    given = source.content.get("checks", {}) if isinstance(source, Section) else {}
    for name, asking in pack.checks.items():
        if unknown := given.get(name, {}).keys() - {*Asking.__slots__}:
            raise BadInput(f"{source}, key 'checks.{name}': found the unknown key {min(unknown)!r}")
        if name not in known:
            raise BadInput(f"{source}, key 'checks.{name}': unknown, expected a check such as conditional_storage")
        asking.verify(f"{source}, key 'checks.{name}'", about_answer=not name.endswith(STAGES))
    return pack


def load_judge(name: str, options: Options | None = None, prompts: Path | JudgingPrompts | None = None) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (rule-based, offline), or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: A file with another prompt pack, in TOML or JSON, or that of a file of wording, which rules do not read; ours
            by default (`data/memfail_judging.toml`).

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name == "lexical":
        if isinstance(prompts, Path):
            raise BadInput(f"judge lexical: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return LexicalJudge()
    pack = prompts if isinstance(prompts, JudgingPrompts) else load_judging_prompts(prompts)
    try:
        return ModelJudge(load_model(name, options, also=["lexical (rule-based, offline)"]), pack)
    except BadInput as error:
        raise BadInput(f"judge: {error}") from None


@dataclass(frozen=True, slots=True)
class _Batch:
    """The checks of one request, by their keys."""

    checks: Mapping[str, Check]

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything that the verdicts depend on; that of a single check is its own."""
        first, *others = self.checks
        return hashlib.sha256("".join(self.checks).encode()).hexdigest()[:24] if others else first

    def apart(self, judgement: Judgement[tuple[Verdict, ...]]) -> Iterator[Judgement[Verdict]]:
        """Yield the judgement of each check; the tokens count for the first."""
        verdicts = judgement.verdict or [None] * len(self.checks)
        for place, (key, verdict) in enumerate(zip(self.checks, verdicts, strict=True)):
            yield Judgement(key, verdict, judgement.failure, judgement.raw, Usage() if place else judgement.usage)


class ModelJudge(BaseModelJudge[Any, Any]):
    """Judges checks by a model, to which it puts batches of them."""

    advice = "choose another judge, or give every row a small store of its own"

    def __init__(self, model: Model, prompts: JudgingPrompts) -> None:
        self._prompts = prompts
        super().__init__(model, prompt_hash=prompts.hash, repair=prompts.repair, max_tokens=SAMPLING.max_tokens)

    def requests(self, inputs: Sequence[Check]) -> list[Request]:
        """See `BaseModelJudge.requests`; a check that occurs several times takes one request."""
        judge = PastJudge("", self.prompt_hash)  # without weights
        batches = self._batches(inputs, judge)
        return [self._prompts.request(batch.key(judge), *batch.checks.values()) for batch in batches]

    def judge(self, inputs: Sequence[Check], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`; BadInput as by `plan`, since how large a store is shows only after everything was stored."""
        self.plan(inputs)
        batches = {batch.key(self): batch for batch in self._batches(inputs, self)}
        for judgement in super().judge(list(batches.values()), calls):
            yield from batches[judgement.key].apart(judgement)

    def verdict_on(self, judge_input: _Batch, id_: str, ask: Ask) -> Calls[tuple[Verdict, ...]]:
        """See `BaseModelJudge.verdict_on`."""
        checks = [*judge_input.checks.values()]
        read = partial(read_verdicts, n=len(checks), asking=self._prompts.asking(checks[0]))
        return ask(self._prompts.request(id_, *checks), read)

    def _batches(self, inputs: Sequence[Check], judge: JudgeIdentity) -> list[_Batch]:
        """The inputs, each once, one by one or as many together as the wording says; those together share a store."""
        groups: dict[tuple[str, ...], list[tuple[str, Check]]] = {}
        for key, check in {check.key(judge): check for check in inputs}.items():
            asking = self._prompts.asking(check)
            store = memories_of(check.memories).digest if "{memories}" in asking.text else ""
            group = (check.question.config, check.kind, store) if asking.batch else (key,)
            groups.setdefault(group, []).append((key, check))
        sized = [(members, self._prompts.asking(members[0][1]).batch or 1) for members in groups.values()]
        return [_Batch(dict(all_[i : i + size])) for all_, size in sized for i in range(0, len(all_), size)]


def read_verdicts(reply: str, n: int, asking: Asking) -> tuple[Verdict, ...]:
    """Read the last object with verdicts on n checks; what comes before it is thinking aloud.

    UnusableReply if there is none, a field is repeated, a check is missing, or a verdict is neither true nor false.
    """
    flag, reason = asking.fields
    verdicts = []
    for found in _entries(reply, n) if asking.batch else [last_object_with(reply, flag)]:
        verdict = boolean_of(found.get(flag))
        if verdict is None:
            raise UnusableReply(f"the {flag} is {json.dumps(found.get(flag))[:60]}, true or false is expected")
        verdicts.append(Verdict(verdict, str(found.get(reason, ""))))
    return tuple(verdicts)


def _entries(reply: str, n: int) -> list[dict[str, Any]]:
    results = last_object_with(reply, "results")["results"]
    entries = results if isinstance(results, list) else []
    by_number = {number_of(each.get("id")): each for each in entries if isinstance(each, dict)}
    if missing := [number for number in range(1, n + 1) if number not in by_number]:
        raise UnusableReply(f"the results lack id {missing[0]}, 1 to {n} are expected")
    return [by_number[number] for number in range(1, n + 1)]
