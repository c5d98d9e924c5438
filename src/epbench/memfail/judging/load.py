"""From a judge's name to a judge of MemFail: rules, or a language model with its prompts (paper: Appendix D.3, in our words).

A model gets one request per statement, and gives a verdict under a JSON schema; our prompts are in
`data/memfail_judging.toml`. The memories come first in the prompt and the fact last, so that a store is read once for all
facts that are looked up in it, whether the check is about storing or about keeping the detail.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import load_pack
from epbench.files.text import parse_toml
from epbench.journals.answers import fingerprint_of
from epbench.judges.model import Ask, BaseModelJudge, Calls
from epbench.judges.protocol import Judgement, PastJudge
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.judging.lexical import Check, Judge, LexicalJudge, Verdict
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.models.json_replies import boolean_of, last_object_with
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, Sampling

OWN = packaged("epbench.memfail", "memfail_judging.toml")

# The reason comes first, so that a model has written it when it decides.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "verdict": {"type": "boolean"}},
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}
SAMPLING = Sampling(max_tokens=2048)  # room for models that think before they answer

_LINK, _ANSWER = ["fact", "first", "last"], ["facts", "question", "truth", "answer"]
_GIVEN_UP = ["question", "other", "answer"]
_HOLDS = {
    "store": ["memories"],
    "retrieved": ["memories"],
    "repair": ["problem"],
    "conditional_storage": _LINK,
    "conditional_summary": [*_LINK, "detail"],
    "conditional_retrieval": [*_LINK, "detail"],
    "conditional_reasoning": _ANSWER,
    "coexisting_storage": ["fact", "first"],
    "coexisting_summary": ["fact", "first"],
    "coexisting_retrieval": ["fact", "first"],
    "coexisting_reasoning": _ANSWER,
    "persona_storage": ["fact", "first"],
    "persona_summary": ["fact", "first", "detail"],
    "persona_retrieval": ["fact", "first", "detail"],
    "persona_reasoning": _ANSWER,
    "persona_abstention": ["first", "facts", "question", "answer"],
    "long_hop_storage": _LINK,
    "long_hop_summary": _LINK,
    "long_hop_retrieval": _LINK,
    "revision_storage": _LINK,
    "revision_summary": _LINK,
    "revision_retrieval": _LINK,
    "revision_reasoning": ["question", "truth", "other", "answer"],
    "revision_history": ["question", "truth", "other", "answer"],
    "revision_abstention": _GIVEN_UP,
    "revision_stale": _GIVEN_UP,
    "revision_resurrected": _GIVEN_UP,
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

    Attributes:
        system: The system message; may be empty.
        store: Text around the whole store, `{memories}`.
        retrieved: Text around the retrieved memories, `{memories}`.
        any_detail: Replaces the detail where no single one counts.
        repair: Follows a question if a reply could not be used: `{problem}`.
        conditional_storage, …: What is asked, by task and kind of check: about a memory `{fact}`, the ends of its link
            `{first}` and `{last}`, `{detail}`; about an answer `{facts}`, `{question}`, `{truth}`, `{answer}`, and in
            `revision` `{other}`, the value that was given up, or that came later.
    """

    system: str
    store: str
    retrieved: str
    any_detail: str
    repair: str
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

    @property
    def hash(self) -> str:
        """Hash of everything the replies depend on: another hash is another judge.

        Our texts about `revision` are not part of it, since `REVISION_RULES` is counted up when they change.
        """
        texts = asdict(self)
        revision = {name: texts.pop(name) for name in _own_revision()}
        return fingerprint_of([texts, SCHEMA, *([] if revision == _own_revision() else [revision])])

    def request(self, check: Check, id_: str) -> Request:
        """The request by which a model judges a check."""
        kind = "history" if check.gold is None and check.question.kind == "first" else check.kind
        asked: str = getattr(self, f"{_TASKS[check.question.config]}_{kind}")
        if check.gold is None:
            return Request(id_, self.system, "", _about_answer(asked, check), SAMPLING, schema=SCHEMA)
        gold = check.gold
        about_memory = asked.format(
            fact=gold.text,
            first=gold.link[0],
            last=gold.link[-1],
            detail="; ".join(gold.detail) or self.any_detail,
        )
        context = _shown(self.retrieved if check.kind == "retrieval" else self.store, memories_of(check.memories))
        return Request(id_, self.system, context, about_memory, SAMPLING, schema=SCHEMA)


def _about_answer(asked: str, check: Check) -> str:
    question = check.question
    return asked.format(
        first=question.gold[0].link[0] if question.gold else "",
        facts="\n".join(gold.text for gold in question.gold),
        question=question.text,
        truth=question.reference,
        other=question.about.get("other") or "(there is none)",
        answer="\n".join(f"> {line}" for line in check.answer.splitlines()) or "> (nothing)",
    )


def _shown(frame: str, memories: Memories) -> str:
    """The memories in a prompt: one text for all checks about them, which may be a million characters."""
    if frame not in memories.shown:
        memories.shown[frame] = frame.format(memories="\n".join(map(_item, memories)))
    return memories.shown[frame]


def _item(memory: str) -> str:
    """A memory after a dash, with its further lines indented, so that no memory can pass for two."""
    return "- " + "\n  ".join(memory.splitlines())


def load_judging_prompts(path: Path | None = None) -> JudgingPrompts:
    """Load our pack, or that of a TOML or JSON file with the same keys, of which those about `revision` may be missing.

    Raises:
        BadInput: The file does not exist or is neither TOML nor JSON, or a key or placeholder is missing or unknown.
    """
    return load_pack(path or OWN, JudgingPrompts, _HOLDS, may_lack=_own_revision())


def load_judge(name: str, options: Options | None = None, prompts: Path | None = None) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (rule-based, offline), or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: Another prompt pack, in TOML or JSON; ours by default (`data/memfail_judging.toml`).

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name == "lexical":
        if prompts is not None:
            raise BadInput(f"judge lexical: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return LexicalJudge()
    pack = load_judging_prompts(prompts)
    try:
        return ModelJudge(load_model(name, options, also=["lexical (rule-based, offline)"]), pack)
    except BadInput as error:
        raise BadInput(f"judge: {error}") from None


class ModelJudge(BaseModelJudge[Check, Verdict]):
    """Judges checks by a model.

    Args:
        model: See `BaseModelJudge`.
        prompts: The prompt pack.
    """

    advice = "choose another judge, or give every row a small store of its own"

    def __init__(self, model: Model, prompts: JudgingPrompts) -> None:
        self._prompts = prompts
        super().__init__(model, prompt_hash=prompts.hash, repair=prompts.repair, max_tokens=SAMPLING.max_tokens)

    def requests(self, inputs: Sequence[Check]) -> list[Request]:
        """See `BaseModelJudge.requests`; a check that occurs several times takes one request."""
        without_weights = PastJudge("", self.prompt_hash)
        checks = {check.key(without_weights): check for check in inputs}
        return [self._prompts.request(check, key) for key, check in checks.items()]

    def judge(self, inputs: Sequence[Check], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`.

        Raises:
            BadInput: As `plan`. How large a store is shows only after everything was stored.
        """
        self.plan(inputs)
        yield from super().judge(inputs, calls)

    def verdict_on(self, judge_input: Check, id_: str, ask: Ask) -> Calls[Verdict]:
        """See `BaseModelJudge.verdict_on`."""
        return ask(self._prompts.request(judge_input, id_), read_verdict)


def read_verdict(reply: str) -> Verdict:
    """Read the last object with a verdict; what comes before it is thinking aloud.

    Raises:
        UnusableReply: There is no such object, a field is repeated, or the verdict is neither true nor false.
    """
    reply_object = last_object_with(reply, "verdict")
    verdict = boolean_of(reply_object["verdict"])
    if verdict is None:
        raise UnusableReply(f"the verdict is {json.dumps(reply_object['verdict'])[:60]}, true or false is expected")
    return Verdict(verdict, str(reply_object.get("reason", "")))
