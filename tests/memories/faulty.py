"""Memory systems that go wrong, each in its own way, and one that counts on disk what is asked of it."""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
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


class HangsOnTea(Good):
    """When it is asked for tea, and at no other time."""

    def retrieve_memories(self, query, conversation, k):
        if "tea" in query:
            time.sleep(3600)
        return super().retrieve_memories(query, conversation, k)


class HangsInStoring(Good):
    """When a conversation mentions the cat."""

    def store_conversation(self, conversation):
        if "cat" in conversation[0]["content"]:
            time.sleep(3600)
        super().store_conversation(conversation)


class HoldsTheLock(Good):
    """In a regular expression that would take years and never gives Python's global lock back."""

    def retrieve_memories(self, query, conversation, k):
        return [str(re.match("(a+)+$", "a" * 40 + "b"))]


class EndsItsProcess(Good):
    def retrieve_memories(self, query, conversation, k):
        os._exit(0)


class Crashes(Good):
    def retrieve_memories(self, query, conversation, k):
        print("about to crash")
        ctypes.string_at(0)


class IsKilled(Good):
    def retrieve_memories(self, query, conversation, k):
        os.kill(os.getpid(), signal.SIGKILL)


class TakesAllMemory(Good):
    """It reserves 3 GiB and touches no page of them."""

    def retrieve_memories(self, query, conversation, k):
        return [f"{len(bytearray(3 << 30))} bytes"]


class IgnoresSignals(Good):
    """And hangs."""

    def __init__(self):
        super().__init__()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def retrieve_memories(self, query, conversation, k):
        os.killpg(0, signal.SIGTERM)
        time.sleep(3600)


class ClosesEverything(Good):
    """Its connection to the run as well."""

    def retrieve_memories(self, query, conversation, k):
        os.closerange(3, 100)
        return []


class AnswersByItself(Good):
    """Writes into every file that is open, so that the run reads what no reply is."""

    def retrieve_memories(self, query, conversation, k):
        for number in range(3, 50):
            with contextlib.suppress(OSError):
                os.write(number, b"\xff" * 100)
        return []


class Forks(Good):
    """Both come back from the call."""

    def retrieve_memories(self, query, conversation, k):
        os.fork()
        return super().retrieve_memories(query, conversation, k)


class WaitsForItsChildren(Good):
    """For all that there are."""

    def retrieve_memories(self, query, conversation, k):
        try:
            while True:
                os.wait()
        except ChildProcessError:
            return super().retrieve_memories(query, conversation, k)


class ChangesFolder(Good):
    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        os.chdir("/")


class NamesItsFolder(Good):
    def get_all_memories(self):
        return [str(Path.cwd())]


class Unspeakable(Exception):
    def __str__(self):
        sys.exit("no words")

    __repr__ = __str__


class RaisesWithoutWords(Good):
    def retrieve_memories(self, query, conversation, k):
        raise Unspeakable


class LeavesWhenLookedAt(Good):
    """It has no finalize(), and whoever looks for it is sent out."""

    def __getattr__(self, name):
        sys.exit(f"{name} was looked at")


class LeavesAsAClass(type):
    def __getattribute__(cls, name):
        sys.exit("a class was looked at")


class Untouchable(metaclass=LeavesAsAClass):
    pass


class List(list):
    """Lies about what is in it, or ends the process that looks."""

    def __len__(self):
        return 0

    def __iter__(self):
        sys.exit("iterated over")

    __eq__ = __getitem__ = copy = __class_getitem__ = __iter__


class Text(str):
    def encode(self, *args):
        sys.exit("encoded")

    __eq__ = __len__ = __iter__ = __str__ = __repr__ = __format__ = __add__ = replace = split = encode
    __hash__ = None


class RetrievesItsOwnTypes(Good):
    def retrieve_memories(self, query, conversation, k):
        return List([Text("I drink tea"), "plain"])


class Pretender:
    """Says that it is a list."""

    @property
    def __class__(self):
        return list


class RetrievesAPretender(Good):
    def retrieve_memories(self, query, conversation, k):
        return Pretender()


class RetrievesTooMuch(Good):
    def retrieve_memories(self, query, conversation, k):
        return ["x" * 100_000_000]


class PrintsOn(Good):
    """From a thread, after the call has come back."""

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        threading.Thread(target=self._print, daemon=True).start()

    def _print(self):
        while True:
            print("still here")
            time.sleep(0.01)


class PrintsHalfACharacter(Good):
    def store_conversation(self, conversation):
        print("half \ud83d")
        super().store_conversation(conversation)


class PrintsALot(Good):
    """5 MB in lines and 5 MB in one line."""

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        for number in range(50_000):
            print(f"{number:099}")
        print("x" * 5_000_000)


class DiesInStoring(Good):
    """When a conversation mentions the cat."""

    def store_conversation(self, conversation):
        if "cat" in conversation[0]["content"]:
            os._exit(1)
        super().store_conversation(conversation)


class DiesInListing(Good):
    def get_all_memories(self):
        os._exit(1)


class DiesInConstructor(Good):
    def __init__(self):
        os._exit(1)


class KeepsALock(Good):
    """Itself and a process that it starts hold a lock on $LOCK for as long as they live; asked, it holds Python's too."""

    child = ("sleep", "3600")

    def __init__(self):
        super().__init__()
        self.file = Path(os.environ["LOCK"]).open("a")  # noqa: SIM115
        fcntl.flock(self.file, fcntl.LOCK_SH)
        os.set_inheritable(self.file.fileno(), True)
        subprocess.Popen(self.child, close_fds=False)

    def retrieve_memories(self, query, conversation, k):
        self.file.write("asked")
        self.file.flush()
        return [str(re.match("(a+)+$", "a" * 40 + "b"))]


class KeepsALockInASession(KeepsALock):
    """The process that it starts leaves its group and its parent."""

    child = ("setsid", "--fork", "sleep", "3600")


class ReturnsItsKey(Good):
    """In a memory, and as the name of a count."""

    def get_all_memories(self):
        return [f"the key is {os.environ['MY_API_KEY']}", *self.kept]

    def retrieve_memories(self, query, conversation, k):
        return self.get_all_memories()[:k]

    def usage(self):
        return {f"calls with {os.environ['MY_API_KEY']}": 1}


class ForgesReplies(Good):
    """To usage(), as often as it is asked, with what $FORGED says, and then it ends its process."""

    def usage(self):
        data = os.environ["FORGED"].encode()
        for number in range(3, 50):
            with contextlib.suppress(OSError):
                os.write(number, len(data).to_bytes(8, "big") + data)
        os._exit(0)


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
    """Not deterministic: what it keeps is different each time that it is made."""

    def __init__(self):
        super().__init__()
        self.mark = uuid.uuid4().hex

    def get_all_memories(self):
        return [f"{memory} ({self.mark})" for memory in self.kept]


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
    """Keeps everything in its folder, and recognises a repeated conversation by its time."""

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


class CountingDies(Counting):
    """When it is asked for tea."""

    def retrieve_memories(self, query, conversation, k):
        if "tea" in query:
            os._exit(3)
        return super().retrieve_memories(query, conversation, k)


class DurableCountingDies(CountingDies, DurableCounting):
    """When it is asked for tea."""


class DurableDiesInStoring(DurableCounting):
    """When it has written down the cat."""

    def store_conversation(self, conversation):
        super().store_conversation(conversation)
        if "cat" in conversation[0]["content"]:
            os._exit(3)


class DiffersAndDies(Differs):
    """When it is asked for chess."""

    def retrieve_memories(self, query, conversation, k):
        if "chess" in query:
            os._exit(3)
        return super().retrieve_memories(query, conversation, k)
