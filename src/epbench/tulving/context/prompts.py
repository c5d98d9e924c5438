"""Prompt packs: everything that is said to a reader, in one file that can be replaced (`data/prompts.toml` is ours)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from epbench.files.packaged import packaged
from epbench.prompt_packs import load_pack

OWN = packaged("epbench.tulving", "prompts.toml")

# The placeholders that each prompt must have once, and those that it may have; the other prompts have none.
_HOLDS = {"book": ["book"], "passages": ["passages"], "passage": ["passage"], "question": ["question"]}
_MAY_HOLD = {"nothing": ["title"]}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A pack of prompts. One of `book`, `passages` and `nothing` is followed by a blank line and `question`.

    Attributes:
        system: the system message; it may be empty.
        book: the words around the whole book, `{book}`.
        passages: the words around everything that was retrieved, `{passages}`.
        passage: the words around each retrieved passage, `{passage}`.
        nothing: the words in place of a book, which may name it by its `{title}`; they may be empty.
        question: the words around the question, `{question}`.
    """

    system: str
    book: str
    passages: str
    passage: str
    nothing: str
    question: str


def load_prompts(path: Path | None = None) -> Prompts:
    """Load our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: the file is missing or is neither TOML nor JSON, or a key or a placeholder is missing or unknown.
    """
    return load_pack(path or OWN, Prompts, _HOLDS, _MAY_HOLD)
