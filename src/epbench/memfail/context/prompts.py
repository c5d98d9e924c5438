"""The prompts of a MemFail reader: first the notes that a system retrieved, then the question.

Our pack is `data/memfail_prompts.toml`. Paper: Appendix D.2, in our own words. Unlike in the paper, the prompt says so
if no memory was found, and the notes are numbered.
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
    """A prompt pack. A prompt is `memories`, a blank line, and `question` or `choice`.

    Attributes:
        system: System prompt; may be empty.
        memories: Frame of everything that was retrieved, with `{memories}`.
        memory: Frame of each memory, with `{number}` (counted from 1) and `{memory}`.
        empty: Text that stands for the memories if there are none.
        question: Frame of a question, with `{question}`.
        choice: Frame of a multiple-choice question, with `{question}`, which includes its options.
        reply: Request for a reply to what the user says, with `{history}` and `{message}`.
        turn: Frame of each turn of the history, with `{speaker}` and `{text}`.
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
        """Return the request for one question and the memories that were retrieved for it."""
        notes = [self.memory.format(number=n, memory=memory) for n, memory in enumerate(memories, 1)]
        context = self.memories.format(memories="\n".join(notes) or self.empty)
        asks = self.choice if question.choices else self.question
        return Request(id_, self.system, context, asks.format(question=question.text), sampling)

    def reply_to(self, id_: str, turns: Sequence[dict[str, str]], sampling: Sampling) -> Request:
        """Return the request for a reply to the last of these turns."""
        speakers = {"user": "User", "assistant": "Assistant"}
        history = [self.turn.format(speaker=speakers[turn["role"]], text=turn["content"]) + "\n" for turn in turns[:-1]]
        asks = self.reply.format(history="".join(history), message=turns[-1]["content"])
        return Request(id_, self.system, "", asks, sampling)


def load_prompts(path: Path | None = None) -> Prompts:
    """Load our pack, or a TOML or JSON file with the same keys.

    Raises:
        BadInput: The file does not exist or is neither TOML nor JSON, or a key or placeholder is missing or unknown.
    """
    return load_pack(path or OWN, Prompts, _HOLDS)
