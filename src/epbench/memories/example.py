"""An example of a memory system, in thirty lines. It keeps sentences and finds them by the words they share.

Wherever a memory system is asked for, its name is `epbench.memories.example:KeywordMemory`.
"""

from __future__ import annotations

import re

from epbench.memories.protocol import Conversation


class KeywordMemory:
    """Remembers every sentence of the user; a query finds the sentences that share the most words with it."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def store_conversation(self, conversation: Conversation) -> None:
        for turn in conversation:
            if turn["role"] == "user":
                self.sentences += [s for s in re.split(r"(?<=[.!?])\s+", turn["content"]) if s]

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        wanted = _words(query)
        return sorted(self.sentences, key=lambda sentence: -len(wanted & _words(sentence)))[:k]

    def get_all_memories(self) -> list[str]:
        return list(self.sentences)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}
