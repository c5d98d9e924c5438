"""The stores of a run: each is filled with conversations, listed and queried, and every step is journaled at once.

`stored.jsonl` has a record for each conversation, and one for each store when its memories have been listed; `memories.json` has
all memories of each store; `retrieved.jsonl` has what came back for each query. A run that was stopped goes on from these. If all
queries of a store are answered, no system is needed. Otherwise a durable system is opened in its folder, any other is given all
conversations again. If its memories then differ, earlier queries are repeated, so that all results come from one store.

The same happens within a run when an instance is lost because a call hung or the system's process died: that call has failed,
and is tried again by the next start of the run. The folder of a system that is installed here is copied after each stored
conversation; whenever it is started again, it gets that copy back, so that nothing is stored twice or in part.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from epbench.errors import BadInput, CallFailed, SystemLost
from epbench.files.json_files import read_json, write_json
from epbench.files.secrets import scrubbed
from epbench.files.writing import bytes_in, keep_copy, note_of, restore_copy
from epbench.journals.journal import Journal
from epbench.memories.guard import FINALIZE, LIST, OPEN, RETRIEVE, STORE, USAGE, InProcessGuard, Limits, one_line
from epbench.memories.protocol import Operation, SystemSpec
from epbench.memories.servers import NOTE
from epbench.memories.systems.hosting import Hosting
from epbench.progress import Progress

STOPPED = "the run was stopped while it was told"
"""The failure of a conversation that is being stored. Journals hold these words, so they stay as they are."""
MOST_LOSSES = 3
"""After so many lost instances in a row, or calls to a model that has never answered, no call is made any more."""
STORED, MEMORIES, RETRIEVED, LOG = "stored.jsonl", "memories.json", "retrieved.jsonl", "system.log"
MEMORIES_TYPE = dict[str, list[str]]  # the content of memories.json: the memories of each store

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that a store is given in one call."""

    id: str  # unique in its store
    store: str  # its name; "" if the run has only one
    units: tuple[str, ...]  # ids of the facts or chapters that the conversation holds
    turns: tuple[dict[str, str], ...]  # in the form in which the system gets them
    failure: str | None = None  # why the conversation cannot be stored


@dataclass(frozen=True, slots=True)
class Query:
    """One query to a store."""

    id: str  # unique in the run
    question: str  # id of the question for which memories are wanted
    store: str  # its name
    text: str
    k: int  # the largest number of memories to retrieve


class _NewInstanceNeeded(Exception):
    """A call cost the instance of a store and its failure is journaled; another instance has to be made."""


class Stores:
    """The stores of one run, in its folder; see `fill_and_ask`."""

    def __init__(self, folder: Path, system: SystemSpec, limits: Limits) -> None:
        folder = folder.absolute()  # a system may change the current folder
        self._folder, self._system = folder, system
        self._hosting, self._installed = Hosting(system, folder), system.installation is not None
        own, log = system.make is None, folder / LOG  # whether it has a process of its own
        self._guard = self._hosting.guard(limits, log) if own else InProcessGuard(system, log)
        self._counted_before: dict[str, int] = {}  # what the present instance has counted so far
        self._losses, self._made = 0, False  # losses in a row, and whether there has been an instance
        self._stored, self._retrieved = Journal(folder / STORED), Journal(folder / RETRIEVED)
        kept = folder / MEMORIES
        self._memories: dict[str, list[str]] = read_json(kept, MEMORIES_TYPE) if kept.exists() else {}

    def close(self) -> None:
        """Close the journals and end the process of the system."""
        self._guard.close()
        self._hosting.close()
        self._stored.close()
        self._retrieved.close()

    def n_done(self, store: str, conversations: Sequence[Conversation], queries: Sequence[Query]) -> int:
        """How many of the calls for one store earlier starts have made, and `serve` does not make again."""
        stored = sum(self._stored.done(stored_key(store, c.id)) for c in conversations)
        listed = store in self._memories
        answered = sum(map(self._answered, queries)) if listed else 0
        listed = listed and stored == len(conversations)
        if self._system.durable or (listed and answered == len(queries)):
            return stored + listed + answered
        return answered

    def serve(self, store: str, conversations: Sequence[Conversation], queries: Sequence[Query]) -> Iterator[None]:
        """Do what is missing for one store, and yield after each call; `BadInput` if the first instance cannot be made."""
        missing = [c for c in conversations if not self._stored.done(stored_key(store, c.id))]
        if store in self._memories and not missing and all(self._answered(query) for query in queries):
            return
        failed: set[str] = set()  # keys of conversations and queries that this start does not try again
        while True:
            try:
                self._open(store, conversations)
                yield from self._fill(store, conversations, failed)
                yield from self._ask(queries, failed)
                self._list_again(store)
                return
            except _NewInstanceNeeded as lost:
                _log.info("%s: %s: %s; it is started again", self._folder, self._system.name, lost)
            except CallFailed as error:
                self._stored.add(listed_key(store), store=store, failure=str(error))
                return

    def _open(self, store: str, conversations: Sequence[Conversation]) -> None:
        """Make an instance with an empty folder; a durable system gets back the folder that it has begun."""
        folder = self._store_folder(store)
        begun = any(self._stored.done(stored_key(store, c.id)) for c in conversations)
        if self._installed:
            begun = self._restore(store, folder, begun)
        if folder.exists() and not (begun and self._system.durable):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if begun and not self._system.durable and not self._system.baseline:
            these = f"all {len(conversations)} conversations{f' of store {store}' if store else ''}"
            name = self._system.name
            _log.info("%s: %s does not outlive its process; %s are stored again", self._folder, name, these)
        self._counted_before = {}
        try:
            self._counted(Operation(OPEN, store), self._guard.open, folder)
        except CallFailed as error:
            if self._made or isinstance(error, SystemLost) or self._given_up:
                raise
            raise BadInput(f"memory system {self._system.name!r}: cannot make an instance: {error}") from None
        self._made = True

    def _store_folder(self, store: str, room: str = "stores") -> Path:
        return self._folder / room / (quote(store, safe="") or "all")

    def _restore(self, store: str, folder: Path, begun: bool) -> bool:
        """Give an installed system the copy of its folder from after the last conversation; return whether there is one."""
        kept = self._store_folder(store, "kept")
        if (note := note_of(kept)) is None:
            if begun:
                raise BadInput(
                    f"{kept}: expected the copy of a store that this run has begun, found none; begin another run"
                )
            return False  # nothing was stored yet, or only a part of one conversation
        self._guard.close()  # or the process would write in the folder
        restore_copy(kept, folder)
        place = json.loads(note)
        key = stored_key(store, place["conversation"])
        if not self._stored.done(key):  # the run was killed after the copy was made and before it was journaled
            self._stored.add(key, **place)
        return True

    def _counts(self) -> dict[str, dict[str, int]]:
        """Return as `counts` what the system has counted since it was last asked; nothing if that is nothing."""
        try:
            now: dict[str, int] = scrubbed(self._guard.call(USAGE)) or {}
        except CallFailed as error:
            _log.warning("%s: %s: %s", self._folder, self._system.name, one_line(f"usage() is left out: {error}"))
            return {}
        new = {name: n - self._counted_before.get(name, 0) for name, n in now.items()}
        self._counted_before = now
        counts = {name: n for name, n in new.items() if n > 0}
        return {"counts": counts} if counts else {}

    def _fill(self, store: str, conversations: Sequence[Conversation], failed: set[str]) -> Iterator[None]:
        """Store the conversations that are missing, then list all memories."""
        done = [self._stored.done(stored_key(store, c.id)) for c in conversations]
        stored = 0
        for conversation in conversations:
            key = stored_key(store, conversation.id)
            if key in failed or (self._system.durable and self._stored.done(key)):
                continue
            stored += 1
            lost = self._store(store, conversation, failed, any(done))
            yield
            if lost is not None:
                raise _NewInstanceNeeded(lost)
        if stored or store not in self._memories:
            self._list(store, again=all(done))
            yield

    def _store(self, store: str, conversation: Conversation, failed: set[str], begun: bool) -> str | None:
        """Store one conversation and journal it; return the reason if another instance is needed afterwards."""
        key = stored_key(store, conversation.id)
        before = self._stored.done(key)
        begin = time.monotonic()
        about: dict[str, Any] = {"store": store, "conversation": conversation.id, "units": list(conversation.units)}
        if self._system.durable:  # if this stays the last record, nobody knows whether the conversation is stored
            earlier = self._stored.records.get(key, {})
            told_before = earlier.get("failure") == STOPPED or earlier.get("lost", False)
            about["again"] = begun and told_before and not self._installed
            self._stored.add(key, **about, failure=STOPPED)
        lost = None
        try:
            if conversation.failure is not None:
                raise CallFailed(conversation.failure)
            turns = [dict(turn) for turn in conversation.turns]
            self._counted(Operation(STORE, store, conversation.id), self._guard.call, STORE, turns)
        except CallFailed as error:
            about["failure"] = str(error)
            if isinstance(error, SystemLost):
                about["lost"] = True  # a durable system may hold part of it
            failed.add(key)
            in_part = self._installed and conversation.failure is None  # perhaps: back to the copy
            if (in_part or isinstance(error, SystemLost)) and not self._given_up:
                lost = str(error)
        else:
            about |= {"seconds": _since(begin), **self._counts()}
            if self._installed:
                note = json.dumps(about)
                keep_copy(self._store_folder(store), self._store_folder(store, "kept"), note)
            if not before:  # storing something again does not show that the system works
                self._losses = 0
        self._stored.add(key, **{"seconds": _since(begin), **about})
        return lost

    def _list(self, store: str, *, again: bool) -> None:
        """List all memories and keep them; `again` says that no conversation was stored for the first time."""
        begin, operation = time.monotonic(), Operation(LIST, store)
        self._counted(operation, self._guard.call, FINALIZE)
        memories = self._counted(operation, self._guard.call, LIST) or []
        before = self._memories.get(store)
        changed = again and before is not None and fingerprint_of_store(before) != fingerprint_of_store(memories)
        earlier = self._stored.records.get(listed_key(store), {})
        about: dict[str, Any] = {"store": store, "memories": len(memories), "seconds": _since(begin)}
        about |= self._counts()
        if size := bytes_in(self._store_folder(store), NOTE):
            about["bytes"] = size
        self._stored.add(listed_key(store), **about, changed=changed or bool(earlier.get("changed")))
        self._memories[store] = memories
        write_json(self._folder / MEMORIES, self._memories)

    def _list_again(self, store: str) -> None:
        """List all memories after the queries, which must not have changed them; see `after_key`."""
        if self._system.baseline or self._given_up:
            return
        try:
            memories = self._counted(Operation(LIST, store), self._guard.call, LIST) or []
        except CallFailed:  # its memories are known from before
            return
        self._stored.add(after_key(store), store=store, of=fingerprint_of_store(memories), memories=len(memories))

    def _ask(self, queries: Sequence[Query], failed: set[str]) -> Iterator[None]:
        """Put those queries to the store that it has not answered yet."""
        for query in queries:
            if query.id in failed or self._answered(query):
                continue
            begin = time.monotonic()
            about: dict[str, Any] = {"question": query.question, "k": query.k, "store": query.store}
            lost = None
            operation = Operation(RETRIEVE, query.store, query.id)
            try:
                memories = self._counted(operation, self._guard.call, RETRIEVE, query.text, [], query.k) or []
                self._losses = 0
                if len(memories) > query.k and not self._system.beyond_k:
                    raise CallFailed(f"expected at most {query.k} memories, got {len(memories)}")
            except CallFailed as error:
                failed.add(query.id)
                lost = str(error) if isinstance(error, SystemLost) and not self._given_up else None
                self._retrieved.add(query.id, **about, failure=str(error), seconds=_since(begin))
            else:
                about |= {"of": fingerprint_of_store(self._memories[query.store]), "seconds": _since(begin)}
                self._retrieved.add(query.id, **about, memories=memories, **self._counts())
            yield
            if lost is not None:
                raise _NewInstanceNeeded(lost)

    def _counted(self, operation: Operation, call: Callable[..., list[str] | None], *args: Any) -> Any:
        """Make a call, unless too many in a row were lost. It fails, too, if the system hides that its models did not answer."""
        if self._given_up:
            how = "hung, ended the system's process or got no answer from its model"
            raise CallFailed(f"not called: {MOST_LOSSES} calls in a row {how}")
        if self._hosting.relay:
            self._hosting.relay.begin(operation)  # under which the requests to its models are noted
        try:
            returned = scrubbed(call(*args))
            if self._hosting.relay and (unanswered := self._hosting.relay.unanswered()) is not None:
                raise CallFailed(unanswered)
        except CallFailed as error:
            relay = self._hosting.relay
            refuses = relay is not None and relay.unanswered() is not None and not relay.has_answered
            self._losses += isinstance(error, SystemLost) or refuses  # what refuses everything is not asked on and on
            raise
        return returned

    @property
    def _given_up(self) -> bool:
        return self._losses >= MOST_LOSSES

    def _answered(self, query: Query) -> bool:
        """Whether the store, with the memories that it has now, has answered the query."""
        record = self._retrieved.records.get(query.id, {})
        return self._retrieved.done(query.id) and record.get("of") == fingerprint_of_store(self._memories[query.store])


def fill_and_ask(
    folder: Path,
    system: SystemSpec,
    conversations: Sequence[Conversation],
    queries: Sequence[Query],
    *,
    limits: Limits,
    progress: Progress,
) -> None:
    """Store the conversations in their order and put the queries, store by store; what is journaled is not done again."""
    stores = Stores(folder, system, limits)
    parts = [
        (name, [c for c in conversations if c.store == name], [query for query in queries if query.store == name])
        for name in dict.fromkeys(conversation.store for conversation in conversations)
    ]
    # One call more for listing what a store holds.
    n_calls = sum(1 + len(to_store) + len(asked) for _, to_store, asked in parts)
    try:
        done = sum(stores.n_done(*part) for part in parts)
        for _ in progress(chain.from_iterable(stores.serve(*part) for part in parts), "memory calls", n_calls, done):
            pass
    finally:
        stores.close()


def fingerprint_of_store(memories: Sequence[str]) -> str:
    """Return a fingerprint of the memories of a store, in whatever order it lists them."""
    return sha256(json.dumps(sorted(memories)).encode()).hexdigest()[:16]


stored_key, listed_key, after_key = "{}|told|{}".format, "{}|listed".format, "{}|after".format
"""The keys of records in `stored.jsonl`, by the name of a store: of a conversation, by its id too; that the store has been
listed; and of what it held after all queries, with its fingerprint (`of`) and the number of memories."""


def _since(begin: float) -> float:
    return round(time.monotonic() - begin, 4)
