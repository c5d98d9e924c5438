"""What a model is told that judges answers (`data/judging.toml` is ours) and the form in which it replies.

Paper: Listings 12 and 14 of Appendix B.3. Unlike there, the judge sees the question, and repeated true items once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from epbench.files.packaged import packaged
from epbench.models.protocol import Request, Sampling
from epbench.prompt_packs import load_pack
from epbench.runs.answers import fingerprint_of
from epbench.tulving.judging.protocol import JudgeInput
from epbench.tulving.questions.templates import Get, Trace

OWN = packaged("epbench.tulving", "judging.toml")
_CASE = ["question", "sought", "truth", "answer"]
_HOLDS = {"case": _CASE, "order_case": ["question", "truth", "answer"], "repair": ["problem"]}

_SORTS: dict[Trace, str] = {
    "times": "dates",
    "spaces": "locations",
    "entities": "main characters",
    "contents": "kinds of event",
    "other_entities": "people other than the one that the question names",
    "full_details": "a full account of what happened",
}
_EXTENTS: dict[Get, str] = {
    "all": "all of them",
    "latest": "only the last one in the time of the story",
    "chronological": "all of them, from the first to the last in the time of the story",
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """As strict as endpoints want it: every property is required, no other is allowed."""
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
    """A pack; each rules text comes before its case, after a blank line.

    Attributes:
        system: what the model is told to be; may be empty.
        rules: how items are found and scored, and the form of the reply.
        case: around one case: `{question}`, `{sought}`, `{truth}`, `{answer}`.
        no_truth: instead of the true items where there are none.
        order_rules: how the order is read.
        order_case: around one case: `{question}`, `{truth}`, `{answer}`.
        repair: after the case, where a reply could not be used: `{problem}`.
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
        """Of all that the replies depend on: another hash is another judge."""
        return fingerprint_of([asdict(self), VERDICT_SCHEMA, ORDER_SCHEMA, _SORTS, _EXTENTS])

    def verdict_request(self, case: JudgeInput, id_: str, max_tokens: int) -> Request:
        """The first call: items, scores and reason."""
        sought = _SORTS[case.trace]
        if case.trace != "full_details":
            sought += f", {_EXTENTS[case.get]}"
        text = self.case.format(
            question=case.question, sought=sought, truth=self._truth(case), answer=_quoted(case.answer)
        )
        return Request(id_, self.system, self.rules.format(), text, Sampling(max_tokens), schema=VERDICT_SCHEMA)

    def order_request(self, case: JudgeInput, id_: str, max_tokens: int) -> Request:
        """The second call: the true items as the answer orders them."""
        text = self.order_case.format(question=case.question, truth=self._truth(case), answer=_quoted(case.answer))
        return Request(id_, self.system, self.order_rules.format(), text, Sampling(max_tokens), schema=ORDER_SCHEMA)

    def repair_request(self, request: Request, problem: str) -> Request:
        """The same once more, with what was wrong."""
        return replace(
            request, question=f"{request.question}\n\n{self.repair.format(problem=problem)}", repeat=request.repeat + 1
        )

    def _truth(self, case: JudgeInput) -> str:
        """The true items, each once, numbered from 1."""
        return "\n".join(f"{n}. {item}" for n, item in enumerate(case.distinct_truth, 1)) or self.no_truth


def load_judge_prompts(path: Path | None = None) -> JudgePrompts:
    """Our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: no such file, no TOML or JSON, a missing or unknown key, or a missing or unknown placeholder.
    """
    return load_pack(path or OWN, JudgePrompts, _HOLDS)


def _quoted(answer: str) -> str:
    """Every line marked, so that no answer can pass for the rules or for the end of itself."""
    return "\n".join(f"> {line}" for line in answer.splitlines() or [""])
