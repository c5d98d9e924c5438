"""What a reader is told in MemFail: the notes that a system found, then the question (`data/memfail_prompts.toml`).

Paper: Appendix D.2, in our own words. Unlike there, an empty memory is said to be empty, and notes are numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench.files.packaged import packaged
from epbench.memfail.dataset.types import Question
from epbench.models.protocol import Request, Sampling
from epbench.prompt_packs import load_pack

OWN = packaged("epbench.memfail", "memfail_prompts.toml")

_HOLDS = {
    "memories": ["memories"],
    "memory": ["number", "memory"],
    "question": ["question"],
    "choice": ["question"],
    "reply": ["history", "message"],
    "turn": ["speaker", "text"],
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A pack. `memories` comes before `question` or `choice`, after a blank line.

    Attributes:
        system: what the model is told to be; may be empty.
        memories: around what was retrieved, `{memories}`.
        memory: around each memory, `{number}` from 1 and `{memory}`.
        empty: instead of memories where there are none.
        question: around a question, `{question}`.
        choice: around a multiple choice, `{question}` with its options.
        reply: asks for a reply to what the user tells, `{history}` and `{message}`.
        turn: around each turn of the history, `{speaker}` and `{text}`.
    """

    system: str
    memories: str
    memory: str
    empty: str
    question: str
    choice: str
    reply: str
    turn: str

    def ask(self, id_: str, question: Question, memories: Sequence[str], sampling: Sampling) -> Request:
        """The request for one question with the memories that were found for it."""
        shown = [self.memory.format(number=n, memory=memory) for n, memory in enumerate(memories, 1)]
        context = self.memories.format(memories="\n".join(shown) or self.empty)
        asks = self.choice if question.choices else self.question
        return Request(id_, self.system, context, asks.format(question=question.text), sampling)

    def reply_to(self, id_: str, turns: Sequence[dict[str, str]], sampling: Sampling) -> Request:
        """The request for a reply to the last of these turns."""
        speakers = {"user": "User", "assistant": "Assistant"}
        history = [self.turn.format(speaker=speakers[turn["role"]], text=turn["content"]) + "\n" for turn in turns[:-1]]
        asks = self.reply.format(history="".join(history), message=turns[-1]["content"])
        return Request(id_, self.system, "", asks, sampling)


def load_prompts(path: Path | None = None) -> Prompts:
    """Our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: no such file, no TOML or JSON, a missing or unknown key, or a missing or unknown placeholder.
    """
    return load_pack(path or OWN, Prompts, _HOLDS)
