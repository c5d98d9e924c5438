"""From the name of a memory system to the system: a baseline, or a class of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from epbench.errors import BadInput
from epbench.memories.baselines import FullContext, Nothing, Oracle, Verbatim
from epbench.memories.guard import Limits
from epbench.memories.isolation import ISOLATIONS, Isolation, require_bwrap
from epbench.memories.process import describe_system
from epbench.memories.spec import Endpoint, SystemSpec
from epbench.memories.systems.catalog import SYSTEMS, describe_installed
from epbench.memories.user_class import METHODS, import_system
from epbench.retrieval.load import load_retriever

BASELINES = ("none", "full-context", "verbatim-bm25", "verbatim-dense", "oracle")
BRING_YOUR_OWN = (
    f"any other as module:Class or path/to/file.py:Class: a class around it with {', '.join(METHODS)}, as in "
    f"epbench.memories.example"
)
"""What to tell a user who names a memory system that is not built in."""

_DENSE = "verbatim-dense:"


def load_memory(
    name: str,
    gold: Mapping[str, Sequence[str]] | None = None,
    *,
    limits: Limits | None = None,
    isolation: Isolation = "process",
    variables: Sequence[str] = (),
    endpoint: Endpoint | None = None,
    settings: Mapping[str, str] | None = None,
    source: Path | None = None,
) -> SystemSpec:
    """Find the memory system of this name. No instance of it is made yet.

    Args:
        name: one of `BASELINES`; `verbatim-dense:PATH_OR_ID` for a search by a sentence-transformers model; one of
            `epbench.memories.systems.catalog.SYSTEMS`, which is installed when it is first used; or `module:Class` or
            `path/to/file.py:Class` for a class of the user's own.
        gold: by query, the texts that it needs, as they are stored. Only the oracle uses it, and it needs it.
        limits: what the system may take; by default 300 s for a call and 8 GB for its process.
        isolation: how code of others is kept apart, see `epbench.memories.isolation`; baselines run in this process.
        variables: names of environment variables, such as that of a key, that the user's class gets in its process.
        endpoint: who answers the requests of an installed system; by default OpenAI's gpt-4.1-mini.
        settings: of an installed system, by name; all others have the published evaluation's values.
        source: folder of the source code of a system that is not in the package index.

    Raises:
        BadInput: the name or a setting is unknown, the class is not a memory system, something it needs is not installed,
            a limit is out of its range, or the isolation does not work here.
    """
    limits = limits or Limits()
    limits.check()
    if isolation not in ISOLATIONS:
        raise BadInput(f"isolation: expected one of {', '.join(ISOLATIONS)}, got {isolation!r}")
    if isolation == "bwrap" and not _is_baseline(name):
        require_bwrap()
    if name in SYSTEMS:
        if isolation == "none":
            raise BadInput(f"memory system {name!r}: it lives in an environment of its own, not in this process")
        if variables:
            raise BadInput(
                f"memory system {name!r}: it gets no variables of ours, as the run makes its requests for it"
            )
        return replace(describe_installed(name, endpoint or Endpoint(), settings or {}, source), isolation=isolation)
    if endpoint is not None or settings or source is not None:
        raise BadInput(
            f"memory system {name!r}: a model, an embedder and settings can be chosen for {', '.join(SYSTEMS)} only"
        )
    if _is_baseline(name):
        return _baseline(name, gold)
    if ":" not in name:
        there_are = ", ".join([*BASELINES, *SYSTEMS])
        raise BadInput(f"unknown memory system {name!r}; expected one of: {there_are}; {BRING_YOUR_OWN}")
    return import_system(name) if isolation == "none" else describe_system(name, limits, isolation, variables)


def _is_baseline(name: str) -> bool:
    return name in BASELINES or name.startswith(_DENSE)


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
