"""Prompt packs: all that a reader is told, in one file that can be swapped (`data/prompts.toml` is ours)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from epbench.files.packaged import packaged
from epbench.prompt_packs import load_pack

OWN = packaged("epbench.tulving", "prompts.toml")

# The placeholders that a prompt must hold, each once; the others hold none.
_HOLDS = {"book": ["book"], "passages": ["passages"], "passage": ["passage"], "question": ["question"]}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A pack. `book`, `passages`, `nothing` come before `question`, after a blank line.

    Attributes:
        system: what the model is told to be; may be empty.
        book: around the whole book, `{book}`.
        passages: around what was retrieved, `{passages}`.
        passage: around each passage, `{passage}`.
        nothing: instead of a book; may be empty.
        question: around the question, `{question}`.
    """

    system: str
    book: str
    passages: str
    passage: str
    nothing: str
    question: str


def load_prompts(path: Path | None = None) -> Prompts:
    """Our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: no such file, no TOML or JSON, a missing or unknown key, or a missing or unknown placeholder.
    """
    return load_pack(path or OWN, Prompts, _HOLDS)
