"""The protocol of a memory system: it is told conversations, asked for memories, and says what it holds.

MemFail, Section 3. A system is any class with the three methods of `MemorySystem`. Beyond them it may have

- `finalize()`, called once when all conversations are told;
- a constructor with the parameter `folder`, a `Path` to an empty folder of its own inside the run; else the
  constructor is called without arguments;
- `durable = True`, which says that all it was told lies in that folder: a run that was stopped makes the system anew in
  the same folder and tells only what is missing. The conversation during which it was stopped is told again; a system
  can recognise it by its timestamps, which are unique. Any other system starts again from nothing.

What a system may rely on:

- It has a process of its own (unless the user wants it inside the run's process). It may print, read the environment,
  start threads and processes, and change its current folder; at first that is the folder in which the user gave the
  command, and `folder` is an absolute path. Nothing comes from standard input.
- All calls come from the main thread of that process, one after the other. One process serves all stores of a run: each
  has an instance of its own, and only one instance is in use at a time. State that is global to a module is shared.
- When a call exceeds the user's limit of seconds, or the process ends or runs out of memory, the process and all others
  in its group are killed, without warning and at any point. That call has failed and is not made again before the next
  start of the run. A new process takes the store up: a durable system is opened in its folder, which has whatever was
  written there; any other is told again all that it had been told before.
- At the end of a run the process ends as usual, after at most ten seconds, so that files can be closed on exit.
- A reply holds at most 64 MiB of text.
"""

from __future__ import annotations

from typing import Protocol

Conversation = list[dict[str, str]]
"""Turns in order, each with `role` (user or assistant), `content`, and `timestamp` (ISO 8601, simulated)."""


class MemorySystem(Protocol):
    """What every system offers."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Commit to memory what the conversation tells."""
        ...

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """At most k memories for the query, best first; nothing is stored.

        Args:
            query: what is asked.
            conversation: the turns before the query; empty where a question opens the conversation.
            k: most memories that are wanted, at least 1.
        """
        ...

    def get_all_memories(self) -> list[str]:
        """Everything that the system holds, as a retrieval would show it."""
        ...
