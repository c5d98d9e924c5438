"""Read one config of MemFail, and turn its rows into the facts to store and the questions to ask, each with its gold memories.

Paper: Sections 3, 4 and 5.1 (phases 1 and 2). The link and the detail of a gold memory are texts of the row, so a judge
without a model can look for them:

| config | fact | link | detail |
|---|---|---|---|
| conditional_facts_* | the essay | entity, behavior | condition |
| coexisting_facts | each fact | the preference's name | none: the answer is the name |
| persona_retrieval | the essay | entity | the true answer; none if the question is misleading |
| long_hop | each fact | the two anchors that it links | none |
| revision | each message, in its order | the person and the value | none |

A single anchor would not identify a fact of a chain, because the fact before it names the same anchor.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows
from epbench.memfail.dataset.revision import ACT_OF, REVISION, Act, Asked, Fate
from epbench.memfail.dataset.schema import CHOICES, PUBLISHED_COLUMNS, Row, chain_of, facts_of, features_of
from epbench.memfail.dataset.word_rules import content_of, stands_in

CONFIGS = ("conditional_facts_easy", "conditional_facts_hard", "coexisting_facts", "persona_retrieval", "long_hop")
"""The configs of the paper, which `all` stands for."""
KNOWN = (*CONFIGS, REVISION)  # `revision` is ours, and is named by itself

Kind = Literal["", "direct", "misleading", "now", "first", "forgotten"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One text to be stored: a single fact, or an essay that holds several.

    Attributes:
        id: The row's id and the number of the text in it, `<row>/<number>`.
        row: Id of the row that the text belongs to. Two facts of one row may be links of one chain.
        text: What the user says.
        in_order: Whether it is told after the facts that come before it in its row.
    """

    id: str
    row: str
    text: str
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class GoldMemory:
    """A memory that a question cannot be answered without.

    Attributes:
        fact: Id of the stored fact.
        text: Text of the stored fact.
        link: Texts that identify the memory, such as an entity and its behavior.
        detail: Texts that a faithful memory also keeps, such as the condition of the behavior. May be empty.
        also: Ids of other facts that tell the same.
    """

    fact: str
    text: str
    link: tuple[str, ...]
    detail: tuple[str, ...]
    also: tuple[str, ...] = ()

    @property
    def own_words(self) -> frozenset[str]:
        """The content words of the detail that only it can have brought: they stand in the text, and in no link."""
        linked = frozenset(word for text in self.link for word in content_of(text))
        return content_of(" ".join(self.detail)) & content_of(self.text) - linked if self.detail else frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """One graded question.

    Attributes:
        id: Stable id, unique within its config.
        config: One of `CONFIGS`.
        row: Id of the row that the question comes from.
        kind: For persona questions `direct`, or `misleading` if the question is about somebody the row says nothing
            about; for those of `revision` what they ask for: what holds `now`, what was said `first`, or what was
            `forgotten`; empty for all others.
        text: What the reader is asked, options included.
        query: What the memory is asked; for a multiple-choice question the stem alone.
        gold: The memories that the question needs, in the order of the chain.
        reference: The true answer.
        choices: Options of a multiple-choice question, starting with A; empty otherwise.
        group: What the results are grouped by: whether the condition is met, the number of preferences, the kind, the
            number of hops, or what became of the fact that is asked for.
        about: Whatever else the row says, by column name: entity, behavior, condition, distractor, … In `revision`, `other`
            is the value that a wrong answer would give: the corrected one, the one it was corrected to, or the withdrawn one.
        sibling: In `revision`, the other memory of the needed fact, if that was corrected.
    """

    id: str
    config: str
    row: str
    kind: Kind
    text: str
    query: str
    gold: tuple[GoldMemory, ...]
    reference: str
    choices: tuple[str, ...] = ()
    group: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    sibling: GoldMemory | None = None


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """What a system did for one question at one k."""

    question: Question
    k: int  # number of memories that were asked for
    store: str  # name of the store: the row's id if every row has a store of its own, otherwise empty
    memories: tuple[str, ...] = ()  # those that came back, best first
    answer: str = ""  # that of the reader, who saw these memories
    failure: str | None = None  # why there is no answer; None if there is one

    @property
    def id(self) -> str:
        """Id of the query and of the request to the reader."""
        return f"{self.question.id}@{self.k}"


def facts_to_store(config: str, rows: Sequence[Row]) -> list[Fact]:
    """Return everything that is stored for a config, in the order of its completed rows."""
    texts = [(row["id"], number, text) for row in rows for number, text in enumerate(_texts(config, row))]
    return [Fact(f"{row}/{number}", row, text, in_order=config == REVISION) for row, number, text in texts]


def questions_of(config: str, rows: Sequence[Row]) -> list[Question]:
    """Return all graded questions of a config, in the order of the rows."""
    ask = _ASK.get(config, _conditional)
    return [question for row in rows for question in ask(config, row)]


def _question(
    config: str, row: Row, text: str, truth: str, gold: Iterable[GoldMemory], number: int | None = None, **more: Any
) -> Question:
    """A question of a row, by its number from 0 if the row has several; the memory is asked the same, unless `more` says so."""
    id_, query = row["id"] if number is None else f"{row['id']}-q{number + 1}", more.pop("query", text)
    kind: Kind = more.pop("kind", "")
    return Question(id_, config, row["id"], kind, text, query, tuple(gold), truth, **more)


def _texts(config: str, row: Row) -> Sequence[str]:
    if config == "long_hop":
        return facts_of(row)
    if config == REVISION:
        return [said["text"] for said in row["statements"]]
    return list(row["preference_facts" if config == "coexisting_facts" else "entity_facts"])


def _gold(config: str, row: Row, number: int, link: tuple[str, ...], detail: tuple[str, ...] = ()) -> GoldMemory:
    return GoldMemory(f"{row['id']}/{number}", _texts(config, row)[number], link, detail)


def _conditional(config: str, row: Row) -> Iterator[Question]:
    names = "entity entity_category behavior condition_type condition question_context condition_met"
    about = {name: row[name] for name in names.split()} | {"answer_polarity": row["answer_polarity"] or ""}
    gold = _gold(config, row, 0, (row["entity"], row["behavior"]), (row["condition"],))
    met, truth = row["condition_met"], row["ground_truth_answer"]
    yield _question(config, row, row["question"], truth, [gold], group=met, about=about)


def _coexisting(config: str, row: Row) -> Iterator[Question]:
    gold = [_gold(config, row, i, (name,)) for i, name in enumerate(row["preferences"])]
    about, truth = {"preference_category": row["preference_category"]}, row["ground_truth_answer"]
    yield _question(config, row, row["question"], truth, gold, group=str(len(gold)), about=about)


def _persona(config: str, row: Row) -> Iterator[Question]:
    for number, asked in enumerate(row["questions"]):
        kind: Kind = "misleading" if asked["is_misleading"] else "direct"
        text, truth = asked["text"], asked["ground_truth_answer"]
        gold = _gold(config, row, 0, (row["entity"],), () if asked["is_misleading"] else (truth,))
        about = {
            "entity": row["entity"],
            "asked_name": asked["distractor"] or row["entity"],
            "distractor": asked["distractor"] or "",
            "n_essays_of_asked_name": str(row["n_essays_of_asked_name"][number]),
        }
        yield _question(config, row, text, truth, [gold], number, kind=kind, group=kind, about=about)


def _long_hop(config: str, row: Row) -> Iterator[Question]:
    text, truth = row["graded_question"], row["ground_truth_answer"]
    gold = [_gold(config, row, i, link) for i, link in enumerate(pairwise(chain_of(row)))]
    # The published query includes the options, and so the answer.
    about = {
        "correct_choice": row["correct_choice"],
        "published_query": text,
        "option_leak": "yes" if row["option_leak"] else "no",
    }
    choices, group = tuple(row[choice] for choice in CHOICES), str(row["hop_count"])
    yield _question(config, row, text, truth, gold, query=row["stem"], choices=choices, group=group, about=about)


def _revision(config: str, row: Row) -> Iterator[Question]:
    for number, asked in enumerate(row["questions"]):
        kind, fact = asked["kind"], row["facts"][asked["fact"]]
        needed = asked["fact"] if asked["neighbour"] is None else asked["neighbour"]
        corrected = row["facts"][needed]["fate"] == "corrected"
        other = {"now": fact["first"] if corrected else "", "first": fact["now"], "forgotten": fact["first"]}[kind]
        yield _question(
            config,
            row,
            asked["text"],
            asked["ground_truth_answer"],
            [_said(config, row, needed, first=kind == "first")],
            number,
            kind=kind,
            group="said first" if kind == "first" else fact["fate"],
            about={"subject": fact["subject"], "other": other},
            sibling=_said(config, row, needed, first=kind != "first") if corrected else None,
        )


def _said(config: str, row: Row, number: int, *, first: bool) -> GoldMemory:
    """The message that tells the first value of a fact, or its present one."""
    fact, told = row["facts"][number], row["statements"]
    act, value = ("tells", fact["first"]) if first else (ACT_OF[fact["fate"]], fact["now"])
    place = max(i for i, said in enumerate(told) if said["act"] == act and number in said["facts"])
    same = [i for i, said in enumerate(told) if i != place and stands_in(value, said["text"])]
    gold = _gold(config, row, place, (fact["subject"], value))
    return replace(gold, also=tuple(f"{row['id']}/{i}" for i in same))


_ASK: dict[str, Callable[[str, Row], Iterator[Question]]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
    REVISION: _revision,
}


@dataclass(frozen=True)
class Loaded:
    """One config as an evaluation uses it.

    Attributes:
        config: One of `KNOWN`.
        rows: The rows of the dataset.
        facts: The facts to store.
        questions: The questions to ask.
        fingerprint: Hash of the rows, so that a run can only be resumed on the same rows.
    """

    config: str
    rows: list[Row]
    facts: list[Fact]
    questions: list[Question]
    fingerprint: str


_ASKED: Any = fields({"text": str, "ground_truth_answer": str, "is_misleading": bool, "distractor": str | None})
_OF_REVISION: Any = fields(
    {"text": str, "kind": Asked, "fact": Whole, "neighbour": Whole | None, "ground_truth_answer": str}
)
_FACT: Any = fields({**dict.fromkeys(("subject", "topic", "first"), str), "fate": Fate, "now": str | None})
_SAID: Any = fields({"act": Act, "facts": list[Whole], "text": str})
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "coexisting_facts": dict.fromkeys(("preferences", "preference_facts"), list[str]),
    "persona_retrieval": {"entity_facts": list[str], "questions": list[_ASKED]},
    "long_hop": {"hop_count": Whole, **dict.fromkeys((*CHOICES, "stem", "ground_truth_answer"), str)},
    REVISION: {"subjects": list[str], "facts": list[_FACT], "questions": list[_OF_REVISION], "statements": list[_SAID]},
}
"""By config the types of the columns that are no texts, or never empty."""


def configs_named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the configs of some names, each once; `all` stands for those of the paper."""
    return tuple(dict.fromkeys(config for name in names for config in (CONFIGS if name == "all" else (name,))))


def check_config(config: str) -> None:
    """Refuse an unknown config."""
    if config not in KNOWN:
        raise BadInput(f"unknown config {config!r}; MemFail has: {', '.join(KNOWN)}")


def load_memfail(dataset: str, config: str) -> Loaded:
    """Load a config of `epbench/memfail` or of a folder that its builder wrote.

    Args:
        dataset: Name on the Hub, or a folder.
        config: One of `CONFIGS`.

    Raises:
        BadInput: The dataset or config does not exist, or is not a MemFail table.
    """
    rows = all_checked_rows(dataset, config, "test", row_type(config))
    content = json.dumps(rows, sort_keys=True, ensure_ascii=False, default=str)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Loaded(config, rows, facts_to_store(config, rows), questions_of(config, rows), fingerprint)


def row_type(config: str) -> type[Struct]:
    """Return the types of the values of a known config's rows; short chains leave the last cells of `long_hop` empty."""
    check_config(config)
    kinds: dict[str, Any] = dict.fromkeys(features_of(config), Any) | {"id": str}
    kinds |= dict.fromkeys(PUBLISHED_COLUMNS[config], str | None if config == "long_hop" else str)
    return fields({**kinds, **_KINDS.get(config, {"entity_facts": list[str]})})
