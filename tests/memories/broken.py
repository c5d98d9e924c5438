"""Memory systems that break one promise each, and two that keep them all."""

import json
import time


class Keeps:
    """Everything, and finds by common words."""

    def __init__(self):
        self.kept = []

    def store_conversation(self, conversation):
        self.kept.append(conversation[0]["content"])

    def retrieve_memories(self, query, conversation, k):
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda memory: -len(words & set(memory.lower().split())))[:k]

    def get_all_memories(self):
        return list(self.kept)


class KeepsInAFile(Keeps):
    """And knows a conversation again by its time."""

    durable = True

    def __init__(self, folder):
        self.file = folder / "kept.json"
        self.by_time = json.loads(self.file.read_text()) if self.file.exists() else {}

    @property
    def kept(self):
        return list(self.by_time.values())

    def store_conversation(self, conversation):
        self.by_time[conversation[0]["timestamp"]] = conversation[0]["content"]
        draft = self.file.with_suffix(".draft")
        draft.write_text(json.dumps(self.by_time))
        draft.replace(self.file)


class HangsInListing(Keeps):
    def get_all_memories(self):
        time.sleep(3600)


class StartsSlowly(Keeps):
    def __init__(self):
        super().__init__()
        time.sleep(3600)


class SharesItsMemoriesInAFile(KeepsInAFile):
    def __init__(self, folder):
        super().__init__(folder.parent.parent)


class RetrievesOneMore(Keeps):
    def retrieve_memories(self, query, conversation, k):
        return super().retrieve_memories(query, conversation, k + 1)


class ListsTwenty(Keeps):
    def get_all_memories(self):
        return self.kept[:20]


class ListsNothing(Keeps):
    def get_all_memories(self):
        return []


class ForgetsMost(Keeps):
    """It holds the last twenty, which is bad and no lie."""

    def get_all_memories(self):
        return self.kept[-20:]

    def retrieve_memories(self, query, conversation, k):
        self.kept = self.kept[-20:]
        return super().retrieve_memories(query, conversation, k)


class RetrievesOtherWords(Keeps):
    def retrieve_memories(self, query, conversation, k):
        return [f"[memory] {memory}" for memory in super().retrieve_memories(query, conversation, k)]


class StoresQueries(Keeps):
    def retrieve_memories(self, query, conversation, k):
        found = super().retrieve_memories(query, conversation, k)
        self.kept.append(f"The user asks: {query}")
        return found


class ForgetsWhatItTells(Keeps):
    def retrieve_memories(self, query, conversation, k):
        found = super().retrieve_memories(query, conversation, k)
        self.kept = [memory for memory in self.kept if memory not in found]
        return found


class KeepsAscii(Keeps):
    def store_conversation(self, conversation):
        self.kept.append(conversation[0]["content"].encode("ascii", "ignore").decode())


class RaisesAtEmoji(Keeps):
    def retrieve_memories(self, query, conversation, k):
        query.encode("latin-1")
        return super().retrieve_memories(query, conversation, k)


class ForgetsInAFile(KeepsInAFile):
    """It says that it is durable."""

    def __init__(self, folder):
        super().__init__(folder)
        self.by_time = {}


class KeepsInAFileAndDoesNotSaySo(KeepsInAFile):
    durable = False


class IndexesLate(Keeps):
    """What is stored is found two seconds later."""

    def __init__(self):
        super().__init__()
        self.ready = {}

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        self.ready[self.kept[-1]] = time.monotonic() + 2.0

    def retrieve_memories(self, query, conversation, k):
        found = super().retrieve_memories(query, conversation, len(self.kept))
        return [memory for memory in found if time.monotonic() >= self.ready[memory]][:k]
