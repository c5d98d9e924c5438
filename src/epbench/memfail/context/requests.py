"""What a system is told and asked for the questions of a config, what the reader is asked with what came back, and who reads.

`Setting` says how a config is run, and `ConfigRun` adds what is stored and asked, and who answers. A prompt has the notes
that a system retrieved first, then the question; our pack is `data/memfail_prompts.toml`. Paper: Appendix D.2, in our own
words. Unlike in the paper, the prompt says so if no memory was found, and the notes are numbered.

At the end stands the reader that goes by rules. It sees what a model would see, the notes and the question, and knows nothing
else of the data. With it the whole pipeline runs offline. It also serves as a floor: what it gets right takes no understanding.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, Source, load_pack
from epbench.hub.rows import subset
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.memfail.dataset.load import Fact, Question, QuestionRecord
from epbench.memfail.dataset.word_rules import content_of, sentences_of, stands_in
from epbench.memories.between import unrelated
from epbench.memories.guard import Limits
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import Recall, check_budget
from epbench.memories.session import Conversation, Query
from epbench.models.protocol import Model, Request, RuleBasedReader, Sampling
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
        past = ((turn["role"].capitalize(), turn["content"]) for turn in turns[:-1])
        history = [self.turn.format(speaker=speaker, text=text) + "\n" for speaker, text in past]
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
    seed: int = 0  # of the order in which facts are stored
    sampling: Sampling = field(default_factory=Sampling)  # of the reader's answers
    memory_tokens: int | None = None  # the most tokens of memories that the reader is shown; None for any number
    limits: Limits = field(default_factory=Limits)  # the time and memory that the memory system may use
    between: int = 0  # tokens of unrelated text that every store is told last, at least 0

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


REPLIES = "replies.jsonl"
# Of the first conversation. Time is simulated, so that no system depends on the speed of a run.
FIRST, BETWEEN_CONVERSATIONS, BETWEEN_TURNS = datetime(2025, 1, 6, 9), timedelta(days=1), timedelta(minutes=1)


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
    if setting.isolate:
        stores = {question.row for question in config.questions}
        conversations = [conversation for conversation in conversations if conversation.store in stores]
    return _with_replies(folder / REPLIES, conversations, config, progress) if setting.replies else conversations


def between_of(config: ConfigRun) -> list[str]:
    """Return the sentences that every store is told last; none has an answer, or what a question is about, in it."""
    questions = config.whole or config.questions
    answers = (text for one in questions for text in (one.reference, *one.choices, *one.about.values()))
    return unrelated(config.setting.between, config.model, answers)


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


NOTHING = "I have no information about that."
HEARD = "Thank you, I will keep that in mind."

_NOTE = re.compile(r"^\[\d+\] (.*?)(?=\n\[\d+\] |\n\n===|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*?)(?=\n\n(?!Options:)|\Z)", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)

_OPENING = r"(?:What|Which|Who|Where|When|Why|How|Would|Will|Do|Does|Did|Is|Are|Can|Could|Should|Has|Have|If|For|The|I)"
_NAME = re.compile(rf"\b(?!{_OPENING}\b)[A-Z][\w’'-]*[a-z](?: [A-Z][\w’'-]*[a-z])*")
_POSSESSIVE = re.compile(r"['’]s$")

_SOUGHT = re.compile(
    r"(?:^|[.,;:—–-] *)(?:(?:in|by|for|to|with|from|on|at|of) )?(?:what|which|how|where|who|when)\b", re.IGNORECASE
)
_DECIDE = re.compile(r"\b(?:would|will|does|is|are|should|could|can|might)\b(?=[^.?!]*\?)", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:when|whenever|while|after|before|if|once|until|during|below|above|between|at|inside|under|in|every"
    r"|only (?:on|to|upon|around|amid|with|shortly|late|early))\b[^,;.]*",
    re.I,
)
_DENIAL = re.compile(r"\b(?:no|not|never|without|instead|rather|nobody)\b|n['’]t\b", re.IGNORECASE)
_WRITTEN = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_WRITTEN)})\b")
_BELOW = re.compile(r"\b(?:below|under|drops?|falls?|less|fewer|at most)\b", re.IGNORECASE)
_ABOVE = re.compile(r"\b(?:above|over|exceeds?|more|rises?|at least|or longer)\b", re.IGNORECASE)


class LexicalReader(RuleBasedReader):
    """A rule-based reader of notes."""

    name = "lexical"

    def answer_to(self, request: Request) -> str:
        """Answer the question from the notes; anything else than a question is only acknowledged."""
        question = _QUESTION.search(request.question)
        return read_notes(_NOTE.findall(request.context), question[1]) if question else HEARD


def read_notes(notes: Sequence[str], question: str) -> str:
    """Answer a question from notes.

    The answer to a multiple-choice question is the letter, in JSON. If the question asks about somebody with a full
    name, it is the sentences that are closest to the question; if it asks what somebody would do in a scene, yes or no;
    else all notes.
    """
    if options := list(_OPTION.finditer(question)):
        return json.dumps({"choice": _linked_option(notes, question[: options[0].start()], options)})
    names = [_POSSESSIVE.sub("", name) for name in _NAME.findall(question)]
    about = [note for note in notes if any(name in note for name in names)]
    decides = [] if _SOUGHT.search(question) else list(_DECIDE.finditer(question))
    scene = question[: decides[-1].start()].strip() if decides else ""
    if full_names := [name for name in names if " " in name]:
        about = [note for note in notes if any(name in note for name in full_names)]
        if not about or not scene:
            return _closest(about, question, names) or f"I have no information about {full_names[0]}."
    if names and scene:
        return _decided(about, scene, question[len(scene) :], names)
    return "\n".join(f"- {note}" for note in notes) or NOTHING


def _linked_option(notes: Sequence[str], stem: str, options: Sequence[re.Match[str]]) -> str | None:
    """Go from fact to fact, each time to the one that shares the rarest words with the last, up to the first option."""
    left = [fact for note in notes for fact in sentences_of(note)]
    facts_with = Counter(word for fact in left for word in content_of(fact))
    frontier = content_of(stem)
    while left:
        links = [sum(1 / facts_with[word] for word in content_of(fact) & frontier) for fact in left]
        near = [fact for fact, link in zip(left, links, strict=True) if link == max(links)]
        for option in options:
            if any(stands_in(option[2], fact) for fact in near):
                return option[1]
        frontier = frozenset[str]().union(*map(content_of, near)) - frontier
        left = [fact for fact in left if fact not in near]
    return None


def _closest(notes: Sequence[str], question: str, names: Sequence[str]) -> str:
    """Return the two sentences that share the most words with the question; "" if none shares any."""
    asked = content_of(question) - content_of(" ".join(names))
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    ranked = sorted(sentences, key=lambda sentence: -len(content_of(sentence) & asked))
    return " ".join(sentence for sentence in ranked[:2] if content_of(sentence) & asked)


def _decided(notes: Sequence[str], scene: str, asked: str, names: Sequence[str]) -> str:
    """Answer yes or no: does the scene fit the condition that the notes give for this behaviour?"""
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    if not sentences:
        return NOTHING
    mentions = [re.findall(rf"{re.escape(name)}(?: the \w+ \w+)?", scene + asked) for name in names]
    behaviour = content_of(asked) | content_of(" ".join(mention for found in mentions for mention in found))
    rule = max(sentences, key=lambda s: (len(content_of(s) & behaviour), bool(_CONDITION.search(s))))
    clauses = [clause for clause in _CONDITION.findall(rule) if content_of(clause) - behaviour]
    # The condition may be in another sentence.
    condition = clauses[0] if clauses else next(note for note in notes if rule in note)
    fits = _compared(condition, scene)
    if fits is None:
        denials = [{word.lower() for word in _DENIAL.findall(text)} for text in (condition, scene, asked)]
        denied = [bool(found - denials[2]) for found in denials[:2]]
        fits = bool(content_of(condition) & content_of(scene) - behaviour) and denied[0] == denied[1]
    return f"{'Yes' if fits else 'No'} — {rule}"


def _compared(condition: str, scene: str) -> bool | None:
    """Whether a number in the scene is within the bounds in the condition; None if either has no number."""
    bounds, numbers = (
        [float(_WRITTEN.get(found, found)) for found in _NUMBER.findall(text)] for text in (condition, scene)
    )
    if not bounds or not numbers:
        return None
    if _BELOW.search(condition):
        return numbers[0] < bounds[0]
    if _ABOVE.search(condition):
        return numbers[0] >= bounds[0]
    return min(bounds) <= numbers[0] <= max(bounds)
