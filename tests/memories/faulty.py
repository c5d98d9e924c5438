"""Memory systems that go wrong, each in its own way, and one that counts on disk what is asked of it."""

import ctypes
import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
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


def good_but(name, other):
    """A class of which the method, or what else has this name, is another."""
    return type("GoodBut", (Good,), {name: other})


RetrievesNumbers = good_but("retrieve_memories", lambda *_: ["a memory", 7])
RetrievesText = good_but("retrieve_memories", lambda self, query, _, k: "\n".join(self.kept[:k]))  # as some systems do
RetrievesHalfACharacter = good_but("retrieve_memories", lambda *_: ["\ud83d"])
RetrievesTooMuch = good_but("retrieve_memories", lambda *_: ["x" * 100_000_000])
LeavesInRetrieval = good_but("retrieve_memories", lambda *_: sys.exit("I give up"))
HangsInRetrieval = good_but("retrieve_memories", lambda *_: time.sleep(3600))
EndsItsProcess = good_but("retrieve_memories", lambda *_: os._exit(0))
IsKilled = good_but("retrieve_memories", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
# It reserves 3 GiB and touches no page of them.
TakesAllMemory = good_but("retrieve_memories", lambda *_: [f"{len(bytearray(3 << 30))} bytes"])
# A regular expression that would take years and never gives Python's global lock back.
HoldsTheLock = good_but("retrieve_memories", lambda *_: [str(re.match("(a+)+$", "a" * 40 + "b"))])
HangsInListing = good_but("get_all_memories", lambda self: time.sleep(3600))
DiesInListing = good_but("get_all_memories", lambda self: os._exit(1))
ListsNothing = good_but("get_all_memories", lambda self: [])
ListsTwenty = good_but("get_all_memories", lambda self: self.kept[:20])
DiesInConstructor = good_but("__init__", lambda self: os._exit(1))
KeepsNothing = good_but("store_conversation", lambda self, conversation: None)
LacksAMethod = good_but("retrieve_memories", None)
DurableWithoutFolder = good_but("durable", True)


class RetrievesOneMore(Good):
    def retrieve_memories(self, query, conversation, k):
        return super().retrieve_memories(query, conversation, k + 1)


class RetrievesOtherWords(Good):
    def retrieve_memories(self, *asked):
        return [f"[memory] {memory}" for memory in super().retrieve_memories(*asked)]


class KeepsAscii(Good):
    def store_conversation(self, conversation):
        self.kept.append(conversation[0]["content"].encode("ascii", "ignore").decode())


class RaisesInRetrieval(Good):
    def retrieve_memories(self, query, conversation, k):
        raise KeyError("no\nindex")


class Crashes(Good):
    def retrieve_memories(self, query, conversation, k):
        print("about to crash")
        ctypes.string_at(0)


class IgnoresSignals(Good):
    """And hangs."""

    def __init__(self):
        super().__init__()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def retrieve_memories(self, query, conversation, k):
        os.killpg(0, signal.SIGTERM)
        time.sleep(3600)


class WaitsForItsChildren(Good):
    """For all that there are."""

    def retrieve_memories(self, query, conversation, k):
        try:
            while True:
                os.wait()
        except ChildProcessError:
            return super().retrieve_memories(query, conversation, k)


class ChangesFolder(Good):
    """And lists first where it began."""

    def __init__(self):
        super().__init__()
        self.kept.append(str(Path.cwd()))

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        os.chdir("/")


class PrintsALot(Good):
    """5 MB in lines and 5 MB in one line."""

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        for number in range(50_000):
            print(f"{number:099}")
        print("x" * 5_000_000)


class KeepsALock(Good):
    """Itself and a process that it starts hold a lock on $LOCK for as long as they live; asked, it hangs."""

    def __init__(self):
        super().__init__()
        self.file = Path(os.environ["LOCK"]).open("a")  # noqa: SIM115
        fcntl.flock(self.file, fcntl.LOCK_SH)
        os.set_inheritable(self.file.fileno(), True)
        subprocess.Popen(["sleep", "3600"], close_fds=False)

    def retrieve_memories(self, query, conversation, k):
        self.file.write("asked")
        self.file.flush()
        time.sleep(3600)


class ReturnsItsKey(Good):
    """In a memory, and as the name of a count."""

    def get_all_memories(self):
        return [f"the key is {os.environ['MY_API_KEY']}", *self.kept]

    def retrieve_memories(self, query, conversation, k):
        return self.get_all_memories()[:k]

    def usage(self):
        return {f"calls with {os.environ['MY_API_KEY']}": 1}


class TellsItsKey(Good):
    """To the log and in an error."""

    def store_conversation(self, conversation):
        print("using", os.environ["MY_API_KEY"])
        print("x" * (1 << 20) + os.environ["MY_API_KEY"] * 9_000)

    def retrieve_memories(self, query, conversation, k):
        raise ValueError(f"the key {os.environ.pop('MY_API_KEY')} is wrong at http://me:word@host/")


class Text(str):
    """As numpy's."""


class OfOneThread(Good):
    """As sqlite3 and event loops are."""

    def __init__(self):
        super().__init__()
        self.base = sqlite3.connect(":memory:")

    def retrieve_memories(self, query, conversation, k):
        return [Text(self.base.execute("select 1").fetchall()[0])]


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


class RaisesInConstructor(Good):
    def __init__(self):
        raise OSError("no API key")


class Talks(Good):
    def store_conversation(self, conversation):
        print("storing", len(conversation))
        print("to stderr", file=sys.stderr)
        print("half \ud83d")
        super().store_conversation(conversation)


class IsAsync(Good):
    async def retrieve_memories(self, query, conversation, k):
        return []


class Differs(Good):
    """Not deterministic: what it keeps is different each time that it is made."""

    def __init__(self):
        super().__init__()
        self.mark = uuid.uuid4().hex

    def get_all_memories(self):
        return [f"{memory} ({self.mark})" for memory in self.kept]


class KeepsInAFile(Good):
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


class Counting(Good):
    """Counts its calls in the file of $CALLS; each takes a moment, so that a kill can hit it."""

    def __init__(self, *args):
        super().__init__(*args)
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


class SaysItInOtherWords(Differs):
    """Each time that it is made; the first one, which makes the file of $CALLS, also fails every third retrieval."""

    def __init__(self):
        super().__init__()
        file = Path(os.environ["CALLS"])
        self.asked = None if file.exists() else 0
        file.touch()

    def retrieve_memories(self, query, conversation, k):
        if self.asked is not None:
            self.asked += 1
            if self.asked % 3 == 1:
                raise ValueError("not now")
        return self.get_all_memories()[:k]


class DurableCounting(Counting, KeepsInAFile):
    def __init__(self, folder):
        super().__init__(folder)


class DurableDiesInStoring(DurableCounting):
    """When it has written down the cat."""

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        if "cat" in conversation[0]["content"]:
            os._exit(3)


def when_told(base, method, word, act):
    """A class that first does this when a query or a conversation has the word."""

    def called(self, given, *more):
        if word in str(given):
            act()
        return getattr(base, method)(self, given, *more)

    return type("WhenTold", (base,), {method: called})


HangsInStoring = when_told(Good, "store_conversation", "cat", lambda: time.sleep(3600))
DiesInStoring = when_told(Good, "store_conversation", "cat", lambda: os._exit(1))
CountingDies = when_told(Counting, "retrieve_memories", "tea", lambda: os._exit(3))
DurableCountingDies = when_told(DurableCounting, "retrieve_memories", "tea", lambda: os._exit(3))
DiffersAndDies = when_told(Differs, "retrieve_memories", "chess", lambda: os._exit(3))


class SharesItsMemoriesInAFile(KeepsInAFile):
    def __init__(self, folder):
        super().__init__(folder.parent.parent)


class ForgetsMost(Good):
    """It holds the last twenty, which is bad and no lie."""

    def get_all_memories(self):
        return self.kept[-20:]

    def retrieve_memories(self, query, conversation, k):
        self.kept = self.kept[-20:]
        return super().retrieve_memories(query, conversation, k)


class StoresQueries(Good):
    def retrieve_memories(self, query, conversation, k):
        found = super().retrieve_memories(query, conversation, k)
        self.kept.append(f"The user asks: {query}")
        return found


class ForgetsWhatItTells(Good):
    def retrieve_memories(self, query, conversation, k):
        found = super().retrieve_memories(query, conversation, k)
        self.kept = [memory for memory in self.kept if memory not in found]
        return found


class ForgetsInAFile(KeepsInAFile):
    """It says that it is durable."""

    def __init__(self, folder):
        super().__init__(folder)
        self.by_time = {}


class KeepsInAFileAndDoesNotSaySo(KeepsInAFile):
    durable = False
