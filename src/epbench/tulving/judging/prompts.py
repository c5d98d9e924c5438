"""The prompts of a model that judges answers (ours are in `data/judging.toml`), and the form of its replies.

Paper: Listings 12 and 14 of Appendix B.3. Unlike there, the judge also sees the question, and sees repeated true items
once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epbench.files.packaged import packaged
from epbench.journals.answers import fingerprint_of
from epbench.models.protocol import Request, Sampling
from epbench.prompt_packs import load_pack
from epbench.tulving.judging.protocol import JudgeInput
from epbench.tulving.questions.templates import Get, Trace

OWN = packaged("epbench.tulving", "judging.toml")
_CASE = ["question", "sought", "truth", "answer"]
_HOLDS = {"case": _CASE, "order_case": ["question", "truth", "answer"], "repair": ["problem"]}

SORTS: dict[Trace, str] = {
    "times": "dates",
    "spaces": "locations",
    "entities": "main characters",
    "contents": "kinds of event",
    "other_entities": "people other than the one that the question names",
    "full_details": "a full account of what happened",
}
OUTCOME_SORTS: dict[Trace, str] = {"causes": "kinds of event", "states": "things"}
"""Those of level 5, which no journal of an earlier version has; so they are no part of the hash."""
_EXTENTS: dict[Get, str] = {
    "all": "all of them",
    "latest": "only the last one in the time of the story",
    "chronological": "all of them, from the first to the last in the time of the story",
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """As strict as endpoints require: every property is required, and no other is allowed."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


VERDICT_SCHEMA = _object(
    {
        "items": {"type": "array", "items": {"type": "string"}},
        "scores": {
            "type": "array",
            "items": _object({"number": {"type": "integer"}, "score": {"type": "number"}}),
        },
        "reason": {"type": "string"},
    }
)
ORDER_SCHEMA = _object({"order": {"type": "array", "items": {"type": "integer"}}})


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """A pack. Each text of rules comes before its case, followed by a blank line.

    Attributes:
        system: The system message; may be empty.
        rules: How items are found and scored, and the form of the reply.
        case: Text around one answer: `{question}`, `{sought}`, `{truth}`, `{answer}`.
        no_truth: Replaces the true items where there are none.
        order_rules: How the order is read.
        order_case: Text around one answer: `{question}`, `{truth}`, `{answer}`.
        repair: Follows the case if a reply could not be used: `{problem}`.
    """

    system: str
    rules: str
    case: str
    no_truth: str
    order_rules: str
    order_case: str
    repair: str

    @property
    def hash(self) -> str:
        """Hash of everything the replies depend on: another hash is another judge."""
        return fingerprint_of([asdict(self), VERDICT_SCHEMA, ORDER_SCHEMA, SORTS, _EXTENTS])

    def verdict_request(self, judge_input: JudgeInput, id_: str, max_tokens: int) -> Request:
        """The first call: items, scores and reason."""
        sought = (SORTS | OUTCOME_SORTS)[judge_input.trace]
        if judge_input.trace != "full_details":
            sought += f", {_EXTENTS[judge_input.get]}"
        text = self.case.format(
            question=judge_input.question,
            sought=sought,
            truth=self._numbered(judge_input),
            answer=_quoted(judge_input.answer),
        )
        return Request(id_, self.system, self.rules.format(), text, Sampling(max_tokens), schema=VERDICT_SCHEMA)

    def order_request(self, judge_input: JudgeInput, id_: str, max_tokens: int) -> Request:
        """The second call: the true items in the order of the answer."""
        text = self.order_case.format(
            question=judge_input.question, truth=self._numbered(judge_input), answer=_quoted(judge_input.answer)
        )
        return Request(id_, self.system, self.order_rules.format(), text, Sampling(max_tokens), schema=ORDER_SCHEMA)

    def _numbered(self, judge_input: JudgeInput) -> str:
        """The true items, each once, numbered from 1."""
        items = enumerate(judge_input.distinct_reference, 1)
        return "\n".join(f"{number}. {item}" for number, item in items) or self.no_truth


def load_judge_prompts(path: Path | None = None) -> JudgePrompts:
    """Load our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: The file does not exist or is neither TOML nor JSON, or a key or placeholder is missing or unknown.
    """
    return load_pack(path or OWN, JudgePrompts, _HOLDS)


def _quoted(answer: str) -> str:
    """The answer with every line marked, so that no part of it can pass for the rules or for the end of the answer."""
    return "\n".join(f"> {line}" for line in answer.splitlines() or [""])
