"""From the name of a memory system to the system: a baseline, or a class of the user's own.

Baselines keep what the user said word for word, and differ in what they return. Where a memory system does worse than these,
it loses by what it stores. `none` and `oracle` bound what can be reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from epbench.errors import BadInput
from epbench.memories.guard import Limits
from epbench.memories.isolation import ISOLATIONS, Isolation, require_bwrap
from epbench.memories.process import describe_system
from epbench.memories.protocol import Conversation
from epbench.memories.spec import Endpoint, SystemSpec
from epbench.memories.systems.catalog import SYSTEMS, describe_installed
from epbench.memories.user_class import METHODS, import_system
from epbench.retrieval.load import load_retriever
from epbench.retrieval.protocol import MakeSearcher, Searcher


class Nothing:
    """`none`: stores nothing."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Forget the conversation."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return no memories."""
        return []

    def get_all_memories(self) -> list[str]:
        """Return no memories."""
        return []


class FullContext:
    """`full-context`: returns everything that the user said, in the order of storing, whatever k is."""

    def __init__(self) -> None:
        self.stored: list[str] = []

    def store_conversation(self, conversation: Conversation) -> None:
        """Store each turn of the user as one memory."""
        self.stored += [turn["content"] for turn in conversation if turn["role"] == "user"]

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return all memories."""
        return self.stored

    def get_all_memories(self) -> list[str]:
        """Return all memories."""
        return self.stored


class Verbatim(FullContext):
    """`verbatim-bm25` and `verbatim-dense`: return the k best memories of an exact search."""

    def __init__(self, search: MakeSearcher) -> None:
        super().__init__()
        self._search = search
        self._index: Searcher | None = None

    def store_conversation(self, conversation: Conversation) -> None:
        """Store each turn of the user; the index is rebuilt when it is next needed."""
        super().store_conversation(conversation)
        self._index = None

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return the k best memories; memories with equal scores come in the order of storing."""
        if not self.stored:
            return []
        self._index = self._index or self._search(self.stored)
        return [self.stored[position] for position in next(iter(self._index.search([query], k)))]


class Oracle(FullContext):
    """`oracle`: knows which memories a question needs, and returns all of these in the given order.

    k does not limit them: a question that needs four memories would at k = 3 measure k, while the oracle is there to
    measure the reader.
    """

    def __init__(self, gold: Mapping[str, Sequence[str]]) -> None:
        """
        Args:
            gold: by query, the texts that it needs, as the user says them; or parts of these, each under a heading of its
                own with a blank line after it.
        """
        super().__init__()
        self._gold = gold

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return what questions with this query need, as far as it has been stored."""
        return [text for text in self._gold.get(query, ()) if self._is_stored(text)]

    def _is_stored(self, text: str) -> bool:
        part = text.partition("\n\n")[2]
        return text in self.stored or (part != "" and any(part in stored for stored in self.stored))


BASELINES = ("none", "full-context", "verbatim-bm25", "verbatim-dense", "oracle")
BRING_YOUR_OWN = (
    f"any other as module:Class or path/to/file.py:Class: a class around it with {', '.join(METHODS)}, as in "
    f"epbench.memories.example"
)
"""What to tell a user who names a memory system that is not built in."""

_DENSE = "verbatim-dense:"


def load_memory(
    name: str,
    gold: Mapping[str, Sequence[str]] | None = None,
    *,
    limits: Limits | None = None,
    isolation: Isolation = "process",
    variables: Sequence[str] = (),
    endpoint: Endpoint | None = None,
    settings: Mapping[str, str] | None = None,
    source: Path | None = None,
) -> SystemSpec:
    """Find the memory system of this name. No instance of it is made yet.

    Args:
        name: one of `BASELINES`; `verbatim-dense:PATH_OR_ID` for a search by a sentence-transformers model; one of
            `epbench.memories.systems.catalog.SYSTEMS`, which is installed when it is first used; or `module:Class` or
            `path/to/file.py:Class` for a class of the user's own.
        gold: by query, the texts that it needs, as they are stored. Only the oracle uses it, and it needs it.
        limits: what the system may take; by default 300 s for a call and 8 GB for its process.
        isolation: how code of others is kept apart, see `epbench.memories.isolation`; baselines run in this process.
        variables: names of environment variables, such as that of a key, that the user's class gets in its process.
        endpoint: who answers the requests of an installed system; by default OpenAI's gpt-4.1-mini.
        settings: of an installed system, by name; all others have the published evaluation's values.
        source: folder of the source code of a system that is not in the package index.

    Raises:
        BadInput: the name or a setting is unknown, the class is not a memory system, something it needs is not installed,
            a limit is out of its range, or the isolation does not work here.
    """
    limits = limits or Limits()
    limits.check()
    if isolation not in ISOLATIONS:
        raise BadInput(f"isolation: expected one of {', '.join(ISOLATIONS)}, got {isolation!r}")
    if isolation == "bwrap" and not _is_baseline(name):
        require_bwrap()
    if name in SYSTEMS:
        if isolation == "none":
            raise BadInput(f"memory system {name!r}: it lives in an environment of its own, not in this process")
        if variables:
            raise BadInput(
                f"memory system {name!r}: it gets no variables of ours, as the run makes its requests for it"
            )
        return replace(describe_installed(name, endpoint or Endpoint(), settings or {}, source), isolation=isolation)
    if endpoint is not None or settings or source is not None:
        raise BadInput(
            f"memory system {name!r}: a model, an embedder and settings can be chosen for {', '.join(SYSTEMS)} only"
        )
    if _is_baseline(name):
        return _baseline(name, gold)
    if ":" not in name:
        there_are = ", ".join([*BASELINES, *SYSTEMS])
        raise BadInput(f"unknown memory system {name!r}; expected one of: {there_are}; {BRING_YOUR_OWN}")
    return import_system(name) if isolation == "none" else describe_system(name, limits, isolation, variables)


def _is_baseline(name: str) -> bool:
    return name in BASELINES or name.startswith(_DENSE)


def _baseline(name: str, gold: Mapping[str, Sequence[str]] | None) -> SystemSpec:
    if name == "none":
        return SystemSpec(name, Nothing, baseline=True, may_be_empty=True)
    if name == "full-context":
        return SystemSpec(name, FullContext, baseline=True, beyond_k=True)
    if name == "oracle":
        if gold is None:
            raise BadInput("memory system 'oracle': expected the texts that each query needs, got none")
        return SystemSpec(name, partial(Oracle, gold), baseline=True, beyond_k=True, knows_gold=True)
    if name == "verbatim-bm25":
        search = load_retriever("bm25")
    elif name == "verbatim-dense":
        from epbench.retrieval.dense import latent_search as search
    elif model := name.removeprefix(_DENSE):
        search = load_retriever(f"st:{model}")  # loaded once, for all stores
    else:
        raise BadInput(f"memory system {name!r}: expected verbatim-dense alone, or verbatim-dense:PATH_OR_ID")
    return SystemSpec(name, partial(Verbatim, search), baseline=True)
