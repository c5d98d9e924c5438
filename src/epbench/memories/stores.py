"""The stores of a run: filled with conversations, listed, and asked; every step is journaled as it is done.

`stored.jsonl` has a record for each conversation, and one for each store when its memories were listed; `memories.json`
has all memories of each store; `retrieved.jsonl` has what came back for each query. A run that was stopped goes on from
these. A retrieval that is complete needs no system. One that is not needs the store again: a durable system is opened in
its folder, any other is told everything anew, and if its memories are then not the same, what it gave before is asked
again, so that all that counts comes from one store.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from epbench.errors import BadInput
from epbench.memories import protocol
from epbench.memories.guard import CallFailed, Guard, Hung
from epbench.memories.loading import System
from epbench.runs.asking import Progress
from epbench.runs.folder import read_json, write_json
from epbench.runs.journal import Journal

STOPPED = "the run was stopped while it was told"
STORED, MEMORIES, RETRIEVED, LOG = "stored.jsonl", "memories.json", "retrieved.jsonl", "system.log"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a store is told at a time.

    Attributes:
        id: unique in its store.
        store: name of the store; "" where there is but one.
        units: ids of what is told in it.
        turns: as the system gets them.
        failure: why it cannot be told; None if it can.
    """

    id: str
    store: str
    units: tuple[str, ...]
    turns: tuple[dict[str, str], ...]
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What a store is asked.

    Attributes:
        id: unique in the run.
        question: id of the question that it is asked for.
        store: name of the store.
        text: of the query.
        k: most memories that are wanted.
    """

    id: str
    question: str
    store: str
    text: str
    k: int


class Stores:
    """The stores of one run in its folder; see `fill_and_ask`."""

    def __init__(self, folder: Path, system: System, limit: float) -> None:
        self._folder, self._system = folder, system
        self._guard = Guard(limit, folder / LOG)
        self._stored, self._retrieved = Journal(folder / STORED), Journal(folder / RETRIEVED)
        self._memories: dict[str, list[str]] = {}
        if (folder / MEMORIES).exists():
            self._memories = read_json(folder / MEMORIES)

    def close(self) -> None:
        """End the journals and the thread."""
        self._guard.close()
        self._stored.close()
        self._retrieved.close()

    def serve(self, store: str, conversations: Sequence[Conversation], queries: Sequence[Query]) -> Iterator[None]:
        """Do what is missing for one store; yields after each call.

        Raises:
            BadInput: an instance of the system cannot be made.
        """
        missing = [c for c in conversations if not self._stored.done(told_key(store, c.id))]
        if store in self._memories and not missing and all(self._answered(query) for query in queries):
            return
        try:
            instance = self._open(store, conversations)
            yield from self._fill(store, instance, conversations)
        except CallFailed as error:
            self._stored.add(listed_key(store), store=store, failure=str(error))
            return
        for query in queries:
            if not self._answered(query):
                self._ask(instance, query)
                yield

    def _open(self, store: str, conversations: Sequence[Conversation]) -> protocol.MemorySystem:
        """An instance with an empty folder, or for a durable system the folder that it began."""
        folder = self._folder / "stores" / (quote(store, safe="") or "all")
        begun = any(self._stored.done(told_key(store, c.id)) for c in conversations)
        if folder.exists() and not (begun and self._system.durable):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if begun and not self._system.durable and not self._system.control:
            _log.info(
                "%s: %s does not outlive its process; all %d conversations%s are told again",
                self._folder, self._system.name, len(conversations), f" of store {store}" if store else "",
            )  # fmt: skip
        try:
            instance: protocol.MemorySystem = self._guard.call(self._system.open, folder)
        except Hung:
            raise
        except CallFailed as error:
            raise BadInput(f"memory system {self._system.name!r} cannot be made: {error}") from None
        return instance

    def _fill(
        self, store: str, instance: protocol.MemorySystem, conversations: Sequence[Conversation]
    ) -> Iterator[None]:
        """Tell what is missing, then list everything that is held.

        Raises:
            CallFailed: the store cannot be finalized or listed.
        """
        done = [self._stored.done(told_key(store, c.id)) for c in conversations]
        told = 0
        for conversation in conversations:
            key = told_key(store, conversation.id)
            if self._system.durable and self._stored.done(key):
                continue
            begin = time.monotonic()
            about: dict[str, Any] = {"store": store, "conversation": conversation.id, "units": list(conversation.units)}
            if self._system.durable:  # what is in the folder if this is the last record, nobody can say
                about["again"] = any(done) and self._stored.records.get(key, {}).get("failure") == STOPPED
                self._stored.add(key, **about, failure=STOPPED)
            try:
                if conversation.failure is not None:
                    raise CallFailed(conversation.failure)
                self._guard.call(instance.store_conversation, [dict(turn) for turn in conversation.turns])
            except CallFailed as error:
                about["failure"] = str(error)
            self._stored.add(key, **about, seconds=_since(begin))
            told += 1
            yield
        if told or store not in self._memories:
            self._list(store, instance, again=all(done))
            yield

    def _list(self, store: str, instance: protocol.MemorySystem, *, again: bool) -> None:
        """Note all memories; `again` says that nothing was told that had not been told before."""
        begin = time.monotonic()
        if callable(finalize := getattr(instance, "finalize", None)):
            self._guard.call(finalize)
        memories = _texts(self._guard.call(instance.get_all_memories))
        before = self._memories.get(store)
        changed = again and before is not None and fingerprint_of_store(before) != fingerprint_of_store(memories)
        earlier = self._stored.records.get(listed_key(store), {})
        about: dict[str, Any] = {"store": store, "memories": len(memories), "seconds": _since(begin)}
        self._stored.add(listed_key(store), **about, changed=changed or bool(earlier.get("changed")))
        self._memories[store] = memories
        write_json(self._folder / MEMORIES, self._memories)

    def _ask(self, instance: protocol.MemorySystem, query: Query) -> None:
        begin = time.monotonic()
        about: dict[str, Any] = {"question": query.question, "k": query.k, "store": query.store}
        try:
            found = _texts(self._guard.call(instance.retrieve_memories, query.text, [], query.k))
            if len(found) > query.k and not self._system.beyond_k:
                raise CallFailed(f"{len(found)} memories came back, at most {query.k} were asked for")
        except CallFailed as error:
            self._retrieved.add(query.id, **about, failure=str(error), seconds=_since(begin))
        else:
            of = fingerprint_of_store(self._memories[query.store])
            self._retrieved.add(query.id, **about, of=of, memories=found, seconds=_since(begin))

    def _answered(self, query: Query) -> bool:
        """Whether the store as it is now has been asked."""
        record = self._retrieved.records.get(query.id, {})
        return self._retrieved.done(query.id) and record.get("of") == fingerprint_of_store(self._memories[query.store])


def fill_and_ask(
    folder: Path,
    system: System,
    conversations: Sequence[Conversation],
    queries: Sequence[Query],
    *,
    limit: float,
    progress: Progress,
) -> None:
    """Tell the conversations to their stores and put the queries to them, store by store; what is journaled stays.

    Args:
        folder: of the run.
        system: an instance is made for each store.
        conversations: in the order in which they are told.
        queries: in any order; they do not change a store.
        limit: of one call, in seconds.
        progress: shows a bar.

    Raises:
        BadInput: an instance of the system cannot be made.
    """
    names = dict.fromkeys(conversation.store for conversation in conversations)
    stores = Stores(folder, system, limit)

    def calls() -> Iterator[None]:
        for name in names:
            told = [c for c in conversations if c.store == name]
            yield from stores.serve(name, told, [query for query in queries if query.store == name])

    try:
        for _ in progress(calls(), "memory calls", len(names) + len(conversations) + len(queries)):
            pass
    finally:
        stores.close()


def _texts(found: Any) -> list[str]:
    """The memories of a system, if it gave a list of texts."""
    if not isinstance(found, list):
        raise CallFailed(f"{type(found).__name__} came back, a list of texts is expected")
    for place, memory in enumerate(found):
        if not isinstance(memory, str):
            raise CallFailed(f"{type(memory).__name__} came back in place {place}, a text is expected")
        try:
            memory.encode()
        except UnicodeEncodeError:
            raise CallFailed(f"the text in place {place} has half a surrogate pair, Unicode is expected") from None
    return list(found)  # a copy: the system may go on with its own


def fingerprint_of_store(memories: Sequence[str]) -> str:
    """Of what a store holds, in whatever order it lists it."""
    return sha256(json.dumps(sorted(memories)).encode()).hexdigest()[:16]


def told_key(store: str, conversation: str) -> str:
    """Of the record of a conversation in `stored.jsonl`."""
    return f"{store}|told|{conversation}"


def listed_key(store: str) -> str:
    """Of the record of a store's listing in `stored.jsonl`."""
    return f"{store}|listed"


def _since(begin: float) -> float:
    return round(time.monotonic() - begin, 4)
