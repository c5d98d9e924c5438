"""From the name of a memory system to the system: a baseline, or a class of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from epbench.errors import BadInput
from epbench.memories.baselines import FullContext, Nothing, Oracle, Verbatim
from epbench.memories.guard import Limits
from epbench.memories.process import describe_system
from epbench.memories.spec import SystemSpec
from epbench.memories.user_class import METHODS, import_system
from epbench.retrieval.load import load_retriever

BASELINES = ("none", "full-context", "verbatim-bm25", "verbatim-dense", "oracle")
BRING_YOUR_OWN = (
    f"any other, such as mem0, as module:Class or path/to/file.py:Class: a class around it with {', '.join(METHODS)}, "
    f"as in epbench.memories.example"
)
"""What to tell a user who names a memory system that is not built in."""

_DENSE = "verbatim-dense:"


def load_memory(
    name: str,
    gold: Mapping[str, Sequence[str]] | None = None,
    *,
    limits: Limits | None = None,
    in_process: bool = False,
) -> SystemSpec:
    """Find the memory system of this name. No instance of it is made yet.

    Args:
        name: one of `BASELINES`; `verbatim-dense:PATH_OR_ID` for a search by a sentence-transformers model; or
            `module:Class` or `path/to/file.py:Class` for a class of the user's own.
        gold: by query, the texts that it needs, as they are stored. Only the oracle uses it, and it needs it.
        limits: what the system may take; by default 300 s for a call and 8 GB for its process.
        in_process: whether the user's class is imported into this process. By default it lives in a process of its own.

    Raises:
        BadInput: the name is unknown, the class is not a memory system, something it needs is not installed, or a limit
            is out of its range.
    """
    limits = limits or Limits()
    limits.check()
    if name in BASELINES or name.startswith(_DENSE):
        return _baseline(name, gold)
    if ":" not in name:
        raise BadInput(f"unknown memory system {name!r}; expected one of: {', '.join(BASELINES)}; {BRING_YOUR_OWN}")
    return import_system(name) if in_process else describe_system(name, limits)


def _baseline(name: str, gold: Mapping[str, Sequence[str]] | None) -> SystemSpec:
    if name == "none":
        return SystemSpec(name, Nothing, baseline=True, may_be_empty=True)
    if name == "full-context":
        return SystemSpec(name, FullContext, baseline=True, beyond_k=True)
    if name == "oracle":
        if gold is None:
            raise BadInput("memory system 'oracle': expected the texts that each query needs, got none")
        return SystemSpec(name, partial(Oracle, gold), baseline=True, beyond_k=True, knows_gold=True)
    if name == "verbatim-bm25":
        search = load_retriever("bm25")
    elif name == "verbatim-dense":
        from epbench.retrieval.lsa import latent_search as search
    elif model := name.removeprefix(_DENSE):
        search = load_retriever(f"st:{model}")  # loaded once, for all stores
    else:
        raise BadInput(f"memory system {name!r}: expected verbatim-dense alone, or verbatim-dense:PATH_OR_ID")
    return SystemSpec(name, partial(Verbatim, search), baseline=True)
