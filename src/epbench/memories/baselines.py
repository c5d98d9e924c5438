"""Memories that are no systems but yardsticks: they keep what the user said word for word, and differ in what comes back.

What a memory system loses against them it loses by what it stores; `none` and `oracle` bound what can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from epbench.errors import BadInput
from epbench.memories.load import BRING_YOUR_OWN, SystemSpec
from epbench.memories.process import describe_system
from epbench.memories.protocol import Conversation
from epbench.retrieval.load import Searcher

BASELINES = ("none", "full-context", "verbatim-bm25", "verbatim-dense", "oracle")

MakeSearcher = Callable[[Sequence[str]], Searcher]


class Nothing:
    """`none`: keeps nothing."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Forget it."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """None."""
        return []

    def get_all_memories(self) -> list[str]:
        """None."""
        return []


class FullContext:
    """`full-context`: everything that the user said, in the order of storing, whatever k is."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def store_conversation(self, conversation: Conversation) -> None:
        """Keep each turn of the user as a memory."""
        self.told += [turn["content"] for turn in conversation if turn["role"] == "user"]

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """All of them."""
        return self.told

    def get_all_memories(self) -> list[str]:
        """The same."""
        return self.told


class Verbatim(FullContext):
    """`verbatim-bm25` and `verbatim-dense`: the k best by an exact search; equal scores in the order of storing."""

    def __init__(self, search: MakeSearcher) -> None:
        super().__init__()
        self._search = search
        self._index: Searcher | None = None

    def store_conversation(self, conversation: Conversation) -> None:
        """As above; the index is made anew when it is next needed."""
        super().store_conversation(conversation)
        self._index = None

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """The k best."""
        if not self.told:
            return []
        self._index = self._index or self._search(self.told)
        return [self.told[place] for place in next(iter(self._index.search([query], k)))]


class Oracle(FullContext):
    """`oracle`: knows which memories a question needs and gives all of them, in the order of the chain.

    k does not cut them: a chain of four at k = 3 would measure k, and not the reader that the oracle is there to
    measure.
    """

    def __init__(self, gold: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._gold = gold

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """What the questions of these words need, as far as it was told."""
        return [text for text in self._gold.get(query, ()) if text in self.told]


def choose_system(
    name: str, gold: Mapping[str, Sequence[str]], outside: Callable[[str], SystemSpec] = describe_system
) -> SystemSpec:
    """The memory system of that name.

    Args:
        name: one of `BASELINES`, `verbatim-dense:PATH_OR_ID` (a sentence-transformers model), or `module:Class`.
        gold: by query, the texts that it needs; for the oracle.
        outside: finds the class of `module:Class`: `describe_system`, which has it run in a process of its own, or
            `epbench.memories.load.load_system`, which imports it into this one.

    Raises:
        BadInput: there is none, or it is no memory system, or what it needs is not installed.
    """
    baseline, _, model = name.partition(":")
    if name == "none":
        return SystemSpec(name, Nothing, baseline=True, may_be_empty=True)
    if name == "full-context":
        return SystemSpec(name, FullContext, baseline=True, beyond_k=True)
    if name == "oracle":
        return SystemSpec(name, partial(Oracle, gold), baseline=True, beyond_k=True)
    if name in ("verbatim-bm25", "verbatim-dense") or (baseline == "verbatim-dense" and model):
        return SystemSpec(name, partial(Verbatim, _searcher(name, model)), baseline=True)
    if ":" not in name:
        raise BadInput(f"unknown memory system {name!r}; there are: {', '.join(BASELINES)}; {BRING_YOUR_OWN}")
    if baseline == "verbatim-dense":
        raise BadInput(f"memory system {name!r}: verbatim-dense alone, or verbatim-dense:PATH_OR_ID is expected")
    return outside(name)


def _searcher(name: str, model: str) -> MakeSearcher:
    if name == "verbatim-bm25":
        from epbench.retrieval.bm25 import Bm25

        return Bm25
    if model:
        from epbench.retrieval.dense import Dense
        from epbench.retrieval.embedders import SentenceTransformerEmbedder
        from epbench.retrieval.vector_cache import VectorCache, default_folder

        embedder = SentenceTransformerEmbedder(model)  # loaded once, for all stores
        return lambda texts: Dense(texts, embedder, VectorCache(default_folder(), embedder.name))
    from epbench.retrieval.lsa import latent_search

    return latent_search
