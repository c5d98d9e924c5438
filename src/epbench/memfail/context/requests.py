"""What a system is told and asked for the questions of a config, what the reader is asked with what came back, and the cost.

`Setting` says how a config is run, and `ConfigRun` adds what is stored and asked, and who answers. A prompt has the notes
that a system retrieved first, then the question; our pack is `data/memfail_prompts.toml`. Paper: Appendix D.2, in our own
words. Unlike in the paper, the prompt says so if no memory was found, and the notes are numbered.

At the end stands what a run will cost, estimated before any memory exists, as if the system stored every fact word for word.
A system that shortens what it stores costs the reader and the judge less; one that adds to it costs them more. What the system
itself spends only its own usage shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, Source, load_pack
from epbench.hub.rows import subset
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.judges.model import name_without_weights
from epbench.judges.protocol import is_free
from epbench.memfail.dataset.load import Fact, Question, QuestionRecord
from epbench.memfail.judging.diagnosis import left_out_checks
from epbench.memfail.judging.lexical import Check, Judge, every_check
from epbench.memfail.judging.memories import Memories
from epbench.memories.between import unrelated
from epbench.memories.guard import CALL_LIMIT, MEMORY_LIMIT, Limits
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import Recall, check_budget
from epbench.memories.session import Conversation, Query
from epbench.models.estimate import estimate
from epbench.models.protocol import Model, Request, Sampling
from epbench.progress import Progress

OWN = packaged("epbench.memfail", "memfail_prompts.toml")

_HOLDS = {
    "memories": ["memories"],
    "memory": ["number", "memory"],
    "question": ["question"],
    "choice": ["question"],
    "reply": ["history", "message"],
    "turn": ["speaker", "text"],
    "history": ["history"],
}
_WORDED = {"memories": [], "memory": ["memory"]}
_MAY_HOLD = {"memories": ["memories"], "memory": ["number"], "question": ["memories"], "choice": ["memories"]}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A prompt pack. A prompt is `memories`, a blank line, and `question` or `choice`; or one of these alone, if it has
    `{memories}` itself, which it may in a file of wording.
    """

    system: str  # may be empty
    memories: str  # frame of everything that was retrieved, with `{memories}`
    memory: str  # frame of each memory, with `{number}` (counted from 1) and `{memory}`
    empty: str  # stands for the memories if there are none
    question: str  # frame of a question, with `{question}`
    choice: str  # frame of a multiple-choice question, with `{question}`, which includes its options
    reply: str  # request for a reply to what the user says, with `{history}` and `{message}`
    turn: str  # frame of each turn of the history, with `{speaker}` and `{text}`
    history: str = "{history}"  # frame of a history that has turns, with `{history}`

    def ask(self, id_: str, question: Question, memories: Sequence[str], sampling: Sampling) -> Request:
        """Return the request for one question and the memories that were retrieved for it."""
        notes = [self.memory.format(number=n, memory=memory) for n, memory in enumerate(memories, 1)]
        listed, asks = "\n".join(notes) or self.empty, self.choice if question.choices else self.question
        context = "" if "{memories}" in asks else self.memories.format(memories=listed)
        return Request(id_, self.system, context, asks.format(question=question.text, memories=listed), sampling)

    def reply_to(self, id_: str, turns: Sequence[dict[str, str]], sampling: Sampling) -> Request:
        """Return the request for a reply to the last of these turns."""
        speakers = {"user": "User", "assistant": "Assistant"}
        history = [self.turn.format(speaker=speakers[turn["role"]], text=turn["content"]) + "\n" for turn in turns[:-1]]
        told = self.history.format(history="".join(history)) if history else ""
        asks = self.reply.format(history=told, message=turns[-1]["content"])
        return Request(id_, self.system, "", asks, sampling)


def load_prompts(source: Source | None = None) -> Prompts:
    """Load our pack, a TOML or JSON file with the same keys (see `load_pack`), or a section of a file of wording."""
    if not isinstance(source, Section):
        return load_pack(source or OWN, Prompts, _HOLDS)
    pack = load_pack(source, Prompts, _HOLDS | _WORDED, _MAY_HOLD)
    for key in ("question", "choice"):
        if "{memories}" not in getattr(pack, key) + pack.memories:
            raise BadInput(f"{source}, key {key!r}: expected {{memories}} here or in 'memories', found none")
    return pack


@dataclass(frozen=True)
class Setting:
    """How a config is run."""

    ks: tuple[int, ...] = (5,)  # how many memories to ask for, each at least 1, with a set of results of its own
    isolate: bool = False  # whether every row has a store of its own; by default all rows share one
    published_query: bool = False  # whether the memory is asked with the options, as published, not by the stem alone
    replies: bool = False  # whether the reader replies to every turn of the user, and this is stored too, as published
    units_per_conversation: int = 1  # the most facts that are told in one conversation, at least 1
    timeout: float = CALL_LIMIT  # of one call into the memory system, in seconds
    seed: int = 0  # of the order in which facts are stored
    sampling: Sampling = field(default_factory=Sampling)  # of the reader's answers
    memory_limit: float = MEMORY_LIMIT  # of the memory system's process, in gigabytes
    memory_tokens: int | None = None  # the most tokens of memories that the reader is shown; None for any number
    between: int = 0  # tokens of unrelated text that every store is told last, at least 0

    @property
    def limits(self) -> Limits:
        """The time and memory that the memory system may use."""
        return Limits(self.timeout, self.memory_limit)

    def store_of(self, row: str) -> str:
        """Return the name of the store that is told about a row and asked about it."""
        return row if self.isolate else ""

    def check(self) -> None:
        """Refuse a number that is out of its range, and a k that is given twice."""
        ks = " ".join(map(str, self.ks)) or "nothing"
        if not self.ks or min(self.ks) < 1:
            raise BadInput(f"k: expected numbers of at least 1, got {ks}")
        if len(set(self.ks)) < len(self.ks):
            raise BadInput(f"k: expected each number once, got {ks}")
        if self.units_per_conversation < 1:
            raise BadInput(f"units_per_conversation: expected at least 1, got {self.units_per_conversation}")
        check_budget(self.memory_tokens)
        self.limits.check()


@dataclass(frozen=True)
class ConfigRun:
    """One config as it is run.

    Of the questions of the `whole` run those to ask may be a shard, so that its rows are told the same in the same order.
    """

    facts: Sequence[Fact]  # all of the config
    questions: Sequence[Question]  # those to ask
    system: SystemSpec
    model: Model  # the reader
    prompts: Prompts  # of the reader
    setting: Setting
    whole: Sequence[Question] | None = None  # None for a run that is no shard


def asked_of(questions: Sequence[Question], limit: int | None = None, shard: str | None = None) -> list[Question]:
    """Return the questions of a run, as `subset` chooses them: a number, and of these a shard, which divides no row."""
    limited = subset(questions, attrgetter("id"), limit)
    return limited if shard is None else subset(limited, attrgetter("row"), None, shard)


def queries_of(questions: Sequence[Question], setting: Setting) -> list[Query]:
    """Return what the memory is asked: every question at every k, since a system may answer each k in its own way."""
    return [
        Query(f"{question.id}@{k}", question.id, setting.store_of(question.row), _query(question, setting), k)
        for k in setting.ks
        for question in questions
    ]


def _query(question: Question, setting: Setting) -> str:
    return question.text if setting.published_query else question.query


def gold_of(questions: Sequence[Question], setting: Setting) -> dict[str, list[str]]:
    """Return the texts of the gold memories by query, for the oracle."""
    gold: dict[str, list[str]] = {}
    for question in questions:
        known = gold.setdefault(_query(question, setting), [])
        known += [memory.text for memory in question.gold if memory.text not in known]
    return gold


def records_of(questions: Sequence[Question], queries: Sequence[Query], recall: Recall) -> list[QuestionRecord]:
    """Return a record of what came back for each query, in the same order, still without an answer.

    It has a failure if nothing came back, or if a gold memory could not be stored.
    """
    by_id, records = {question.id: question for question in questions}, []
    for query in queries:
        question, failure = by_id[query.question], recall.failures.get(query.id)
        for memory in question.gold:
            if reason := recall.unstored.get((query.store, memory.fact)):
                failure = f"memory system: could not store {memory.fact}: {reason}"
        memories = tuple(recall.found.get(query.id, ()))
        records.append(QuestionRecord(question, query.k, query.store, memories, failure=failure))
    return records


def requests_of(records: Sequence[QuestionRecord], prompts: Prompts, sampling: Sampling) -> dict[str, Request]:
    """Return what the reader is asked, by the ids of the records, without those that have failed."""
    known = [record for record in records if record.failure is None]
    return {record.id: prompts.ask(record.id, record.question, record.memories, sampling) for record in known}


def memory_tokens(records: Sequence[QuestionRecord], model: Model) -> dict[str, Any]:
    """Return by k the mean tokens of what came back, per question and per memory, and the mean number of memories.

    The reader's own tokens are counted; the rule-based reader counts words.
    """
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # systems that return everything return the same memories for every question
    def count(memories: tuple[str, ...]) -> int:
        return model.count_tokens(Request("", "", "", "\n".join(memories)))[0] - frame

    by_k = {}
    for k in dict.fromkeys(record.k for record in records):
        retrieved = [record.memories for record in records if record.k == k and record.failure is None]
        tokens = [count(memories) for memories in retrieved]
        returned = sum(map(len, retrieved))
        by_k[str(k)] = {
            "per_question": sum(tokens) / len(retrieved) if retrieved else None,
            "per_memory": sum(tokens) / returned if returned else None,
            "returned": returned / len(retrieved) if retrieved else None,
        }
    return by_k


REPLIES = "replies.jsonl"
FIRST = datetime(2025, 1, 6, 9)
"""Time of the first conversation. Time is simulated, so that no system depends on the speed of a run."""
BETWEEN_CONVERSATIONS, BETWEEN_TURNS = timedelta(days=1), timedelta(minutes=1)


def facts_told(facts: Sequence[Fact], questions: Sequence[Question], setting: Setting) -> Sequence[Fact]:
    """Return the facts that are stored: all, or those of the rows in question if every row has its own store."""
    rows = {question.row for question in questions}
    return [fact for fact in facts if fact.row in rows] if setting.isolate else facts


def by_store(facts: Sequence[Fact], setting: Setting) -> dict[str, list[Fact]]:
    """Return what each store is told, by its name."""
    stores: dict[str, list[Fact]] = {}
    for fact in facts:
        stores.setdefault(setting.store_of(fact.row), []).append(fact)
    return stores


def told_in(folder: Path, config: ConfigRun, progress: Progress) -> list[Conversation]:
    """Return what the system is told in a run; the reader is asked for replies that replies.jsonl of the folder lacks."""
    setting = config.setting
    conversations = conversations_of(facts_told(config.facts, config.whole or config.questions, setting), setting)
    if config.whole and setting.isolate:
        stores = {question.row for question in config.questions}
        conversations = [conversation for conversation in conversations if conversation.store in stores]
    return _with_replies(folder / REPLIES, conversations, config, progress) if setting.replies else conversations


def conversations_of(facts: Sequence[Fact], setting: Setting) -> list[Conversation]:
    """Return the conversations in the order in which they are told; only the user speaks."""
    in_row = {row: iter([*members]) for row, members in groupby(facts, attrgetter("row"))}
    shuffled = RandomStream("storage order", setting.seed).sample(facts, len(facts))
    shuffled = [next(in_row[fact.row]) if fact.in_order else fact for fact in shuffled]
    conversations = []
    for store, members in by_store(shuffled, setting).items():
        for number, group in enumerate(_packed(members, setting.units_per_conversation)):
            begin = FIRST + number * BETWEEN_CONVERSATIONS
            turns = tuple(
                {"role": "user", "content": fact.text, "timestamp": (begin + i * 2 * BETWEEN_TURNS).isoformat()}
                for i, fact in enumerate(group)
            )
            conversations.append(Conversation(f"{number}", store, tuple(fact.id for fact in group), turns))
    return conversations


def _packed(facts: Sequence[Fact], capacity: int) -> list[list[Fact]]:
    """Put each fact into the first conversation that has room and holds no other fact of the same row."""
    groups, not_full = list[list[Fact]](), list[list[Fact]]()
    for fact in facts:
        group = next((group for group in not_full if all(other.row != fact.row for other in group)), None)
        if group is None:
            groups.append(group := [])
            not_full.append(group)
        group.append(fact)
        if len(group) == capacity:
            not_full.remove(group)
    return groups


def _with_replies(
    path: Path, conversations: Sequence[Conversation], config: ConfigRun, progress: Progress
) -> list[Conversation]:
    """Add a reply of the reader, who sees no memories, after each turn of the user; one that fails fails its conversation."""
    grown = [replace(conversation, turns=()) for conversation in conversations]
    for round_ in range(max((len(conversation.turns) for conversation in conversations), default=0)):
        requests = {}
        for place, whole in enumerate(conversations):
            if round_ < len(whole.turns) and grown[place].failure is None:
                id_, turns = f"{whole.store}/{whole.id}/{round_}", (*grown[place].turns, whole.turns[round_])
                requests[place] = config.prompts.reply_to(id_, turns, config.setting.sampling)
        ask(path, list(requests.values()), config.model, progress, "replies")
        journal = read_journal(path)
        for place, request in requests.items():
            turn, record = conversations[place].turns[round_], journal.get(request.key(config.model.identity), {})
            if "answer" not in record:
                grown[place] = replace(grown[place], failure=f"no reply: {record.get('failure', 'none came')}")
            else:
                when = (datetime.fromisoformat(turn["timestamp"]) + BETWEEN_TURNS).isoformat()
                reply = {"role": "assistant", "content": record["answer"], "timestamp": when}
                grown[place] = replace(grown[place], turns=(*grown[place].turns, turn, reply))
    return grown


def plan_lines(config: ConfigRun, judge: Judge) -> list[str]:
    """Return the estimated calls and tokens of one config, a line for each role; BadInput if a check is too long."""
    questions, system, model, setting = config.questions, config.system, config.model, config.setting
    facts = facts_told(config.facts, questions, setting)
    lines = [f"{len(facts):,} facts to tell {system.name}, {len(questions) * len(setting.ks):,} retrievals"]
    if setting.between:
        lines.append(f"{setting.between:,} tokens of unrelated text to tell each store last")
    if system.inner_model:
        asked = f"what {system.name} asks of {system.inner_model} comes on top"
        lines.append(f"{asked}; a finished run's usage.json tells it")
    estimates = {f"reader {model.name}": estimate(requests_in_advance(config), model)}
    if setting.replies:
        turns = [{"role": "user", "content": fact.text} for fact in facts]
        replies = [config.prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        estimates[f"reader {model.name}, replies"] = estimate(replies, model)
    judge_name = name_without_weights(judge)
    if is_free(judge):
        lines.append(f"judge {judge_name}: no tokens")
    else:
        checks = checks_in_advance(config)
        with_stores = [(question, setting.store_of(question.row)) for question in questions]
        for pair in left_out_checks(with_stores, by_store(facts, setting)):
            checks += [check for check in pair if check.memories]
        if judging := judge.plan(checks):
            estimates[f"judge {judge_name}"] = judging
    return lines + [f"{role}: {line}" for role, cost in estimates.items() for line in cost.lines()]


def between_of(config: ConfigRun) -> list[str]:
    """Return the sentences that every store is told last; none has an answer, or what a question is about, in it."""
    questions = config.whole or config.questions
    answers = (text for one in questions for text in (one.reference, *one.choices, *one.about.values()))
    return unrelated(config.setting.between, config.model, answers)


def requests_in_advance(config: ConfigRun) -> list[Request]:
    """Return requests to the reader like those that the run will send."""
    records = sorted(_in_advance(config)[0], key=lambda record: config.setting.ks.index(record.k))
    return [*requests_of(records, config.prompts, config.setting.sampling).values()]


def checks_in_advance(config: ConfigRun) -> list[Check]:
    """Return the most that the judge can be asked: every stage of every question, as if none failed."""
    return every_check(*_in_advance(config))


def _in_advance(config: ConfigRun) -> tuple[list[QuestionRecord], dict[str, Memories]]:
    """Return records like those of the run, question by question, and what each store will hold, by its name."""
    setting, empty, after = config.setting, config.system.may_be_empty, between_of(config)
    held = {
        name: Memories() if empty else Memories([*(fact.text for fact in facts), *after])
        for name, facts in by_store(config.facts, setting).items()
    }
    records = []
    for question in config.questions:
        store = setting.store_of(question.row)
        for k in setting.ks:
            memories: tuple[str, ...] = () if empty else held[store]
            if config.system.knows_gold:
                memories = tuple(memory.text for memory in question.gold)
            elif not empty and not config.system.beyond_k:
                # A search returns other memories for other rows, because equal ones would look like a shared prefix.
                start = held[store].place_of(question.gold[0].text)
                memories = (memories[start : start + k] + memories[:start])[:k]
            records.append(QuestionRecord(question, k, store, memories, f"{k}"))
    return records, held
