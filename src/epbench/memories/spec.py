"""What a run knows of a memory system before there is an instance of it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.memories.protocol import MemorySystem


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """A memory system of which instances can be made.

    Attributes:
        name: the name by which the user chose it.
        make: the class, or another callable that makes an instance; None for a class that is only ever imported in a
            process of its own.
        durable: whether everything it has stored lies in its folder and outlives the process.
        beyond_k: whether it returns more than k memories by design, as some baselines do.
        baseline: whether it is a baseline and not a system to be compared.
        may_be_empty: whether it stores nothing by design.
        knows_gold: whether it returns exactly the memories that a question needs.
    """

    name: str
    make: Any = None
    durable: bool = False
    beyond_k: bool = False
    baseline: bool = False
    may_be_empty: bool = False
    knows_gold: bool = False

    def open(self, folder: Path) -> MemorySystem:
        """Make an instance.

        Args:
            folder: the instance's own folder; it is passed on if the constructor has a parameter `folder`.
        """
        made: MemorySystem = self.make(folder=folder) if takes_folder(self.make) else self.make()
        return made


def takes_folder(make: Any) -> bool:
    """Whether a constructor has a parameter `folder`."""
    try:
        return "folder" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # a class of an extension module may have no signature
        return False
