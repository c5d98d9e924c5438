"""Memory systems with one fault each, to see that Book-SORT tells these faults apart."""

from __future__ import annotations

import re
from pathlib import Path

from epbench.memories.example import KeywordMemory


class Keeps:
    """Keeps every conversation, and returns those that share the most words with the query, in the order of storing."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def store_conversation(self, conversation):
        self.kept += [turn["content"] for turn in conversation]

    def retrieve_memories(self, query, conversation, k):
        asked = set(query.split())
        best = sorted(range(len(self.kept)), key=lambda i: -len(asked & set(self.kept[i].split())))[:k]
        return [self.kept[i] for i in sorted(best)]

    def get_all_memories(self):
        return self.kept


class Reverses(Keeps):
    def retrieve_memories(self, query, conversation, k):
        return super().retrieve_memories(query, conversation, k)[::-1]


class Forgets(Keeps):
    def store_conversation(self, conversation):
        pass


class Raises(Keeps):
    def retrieve_memories(self, query, conversation, k):
        raise ValueError("the index is gone")


class RaisesInStoring(Keeps):
    """With the second conversation of a store alone."""

    n = 0

    def store_conversation(self, conversation):
        self.n += 1
        if self.n == 2:
            raise ValueError("no room")
        super().store_conversation(conversation)


class OwnWords(Keeps):
    """Keeps the longer words, in the order of the alphabet."""

    def store_conversation(self, conversation):
        words = " ".join(turn["content"] for turn in conversation).split()
        self.kept.append("They spoke of " + ", ".join(sorted({re.sub(r"\W", "", word) for word in words})))


class CountsItsCalls(KeywordMemory):
    """Notes each call in the file `calls` beside its folder's run, which outlives it."""

    durable = True

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file = folder / "sentences"
        self.calls = folder.parent.parent / ".calls"
        self.sentences = self.file.read_text("utf-8").splitlines() if self.file.exists() else []

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        self.file.write_text("\n".join(self.sentences), "utf-8")
        self._note("store")

    def retrieve_memories(self, query, conversation, k):
        self._note("retrieve")
        return super().retrieve_memories(query, conversation, k)

    def _note(self, call):
        with self.calls.open("a") as file:
            file.write(f"{call}\n")
