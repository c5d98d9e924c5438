"""The protocol of a memory system: it stores conversations, retrieves memories and lists what it holds.

MemFail, Section 3. A system is any class with the three methods of `MemorySystem`. It may also have

- `finalize()`, which is called once when all conversations have been stored;
- `close()`, which is called when an instance is no longer needed and its process is still there;
- `usage()`, which returns counts since the construction by name, such as `{"swallowed": 2}`: errors that the system has
  caught and hidden (`swallowed`), replies of its model that it could not parse (`unparsable`). A run adds them up;
- a constructor with a parameter `folder`, a `Path` to an empty folder of its own inside the run; any other constructor
  is called without arguments;
- `durable = True`, which says that everything it has stored lies in that folder. A run that was stopped then opens the
  system in the same folder and stores only what is missing. The conversation during which it was stopped is stored
  again; the system can recognise it by its timestamps, which are unique. Any other system starts again from nothing.

A system can rely on the following:

- It has a process of its own, unless the user wants it inside the process of the run. It may print, start threads and
  processes and change its current folder. At the start, that is the folder in which the user gave the command; `folder`
  is an absolute path. Standard input is empty. Of the environment it has `PATH`, `HOME` and the like, and what the user
  passes on. In a sandbox (`bwrap`) it has no network, and can write to `folder` and `/tmp` only.
- All calls come from the main thread of that process, one after the other. One process may serve all stores of a run: each
  store has an instance of its own, and only one instance is in use at a time. The global state of a module is shared.
- When a call exceeds the time limit, or the process ends or runs out of memory, the process and those it has started
  are killed, without warning and at any point. That call has failed and is not repeated before the next start of the
  run. A new process continues with the store: a durable system is opened in its folder, with whatever was written
  there; any other system is given all earlier conversations again.
- At the end of a run the process ends normally and has ten seconds to close its files.
- A reply may hold at most 64 MiB of text.
"""

from __future__ import annotations

from typing import Protocol

Conversation = list[dict[str, str]]
"""Turns in order, each with `role` (user or assistant), `content`, and `timestamp` (ISO 8601, simulated)."""


class MemorySystem(Protocol):
    """The methods of every memory system."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Commit to memory what the conversation says."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return at most k memories for the query, best first. Nothing is stored.

        Args:
            query: the question, or whatever else is searched for.
            conversation: the turns before the query; empty if the question opens the conversation.
            k: the largest number of memories to return, at least 1.
        """

    def get_all_memories(self) -> list[str]:
        """Return everything that the system holds, in the form in which a retrieval returns it."""
