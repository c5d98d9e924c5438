"""Memory systems that go wrong, each in its own way, and one that counts on disk what is asked of it."""

import json
import os
import sys
import time
from pathlib import Path


class Good:
    """Keeps everything, finds by common words."""

    def __init__(self):
        self.kept = []

    def store_conversation(self, conversation):
        self.kept += [turn["content"] for turn in conversation if turn["role"] == "user"]

    def retrieve_memories(self, query, conversation, k):
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda memory: -len(words & set(memory.lower().split())))[:k]

    def get_all_memories(self):
        return self.kept


class RetrievesTooMany(Good):
    def retrieve_memories(self, query, conversation, k):
        return (self.kept * k)[: k + 1]


class RetrievesNumbers(Good):
    def retrieve_memories(self, query, conversation, k):
        return ["a memory", 7]


class RetrievesText(Good):
    """As some systems do: one text, in lines."""

    def retrieve_memories(self, query, conversation, k):
        return "\n".join(self.kept[:k])


class RetrievesHalfACharacter(Good):
    def retrieve_memories(self, query, conversation, k):
        return ["\ud83d"]


class RaisesInRetrieval(Good):
    def retrieve_memories(self, query, conversation, k):
        raise KeyError("no\nindex")


class LeavesInRetrieval(Good):
    def retrieve_memories(self, query, conversation, k):
        sys.exit("I give up")


class HangsInRetrieval(Good):
    def retrieve_memories(self, query, conversation, k):
        time.sleep(3600)


class HangsEverySecondTime(Good):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def retrieve_memories(self, query, conversation, k):
        self.calls += 1
        if self.calls % 2:
            time.sleep(3600)
        return super().retrieve_memories(query, conversation, k)


class RaisesInStoring(Good):
    """Of the second conversation only."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def store_conversation(self, conversation):
        self.calls += 1
        if self.calls == 2:
            raise ValueError("rate limit")
        super().store_conversation(conversation)


class RaisesInFinalize(Good):
    def finalize(self):
        raise RuntimeError("index broken")


class ListsNumbers(Good):
    def get_all_memories(self):
        return [1, 2]


class KeepsNothing(Good):
    def store_conversation(self, conversation):
        pass


class RaisesInConstructor(Good):
    def __init__(self):
        raise OSError("no API key")


class Talks(Good):
    def store_conversation(self, conversation):
        print("storing", len(conversation))
        print("to stderr", file=sys.stderr)
        super().store_conversation(conversation)


class LacksAMethod:
    def store_conversation(self, conversation):
        pass

    def get_all_memories(self):
        return []


class IsAsync(Good):
    async def retrieve_memories(self, query, conversation, k):
        return []


class DurableWithoutFolder(Good):
    durable = True


class Differs(Good):
    """Not deterministic: what it keeps depends on the process."""

    def get_all_memories(self):
        return [f"{memory} ({os.getpid()} {id(self)})" for memory in self.kept]


class Counting(Good):
    """Counts its calls in the file of $CALLS; each takes a moment, so that a kill can hit it."""

    def __init__(self):
        super().__init__()
        self._note("made")

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        self._note(f"told {conversation[0]['content']}")

    def retrieve_memories(self, query, conversation, k):
        self._note(f"asked {query} @{k}")
        return super().retrieve_memories(query, conversation, k)

    def finalize(self):
        self._note("finalized")

    def _note(self, call):
        time.sleep(0.005)
        with Path(os.environ["CALLS"]).open("a") as file:
            file.write(json.dumps(call) + "\n")


class DurableCounting(Counting):
    """Keeps what it is told in its folder, and knows a conversation that it is told again by its time."""

    durable = True

    def __init__(self, folder):
        self._file = folder / "kept.jsonl"
        super().__init__()
        self.kept = list(self._by_time().values())

    def store_conversation(self, conversation):
        (turn,) = conversation
        if turn["timestamp"] not in self._by_time():
            with self._file.open("a") as file:
                file.write(json.dumps([turn["timestamp"], turn["content"]]) + "\n")
        self.kept = list(self._by_time().values())
        self._note(f"told {turn['content']}")

    def _by_time(self):
        return dict(map(json.loads, self._file.read_text().splitlines())) if self._file.exists() else {}
