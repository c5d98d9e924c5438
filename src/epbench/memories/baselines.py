"""Baselines: they keep what the user said word for word, and differ in what they return.

Where a memory system does worse than these, it loses by what it stores. `none` and `oracle` bound what can be reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epbench.memories.protocol import Conversation
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
