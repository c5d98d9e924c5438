"""The prompts of a model that writes rows (ours are in `data/memfail_generation.toml`); paper: Appendix D.1."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from epbench.files.packaged import packaged
from epbench.prompt_packs import load_pack

OWN = packaged("epbench.memfail", "memfail_generation.toml")


@dataclass(frozen=True, slots=True)
class GenerationPrompts:
    """A pack; comments in our file say what each text is for.

    Attributes:
        system: The system message; may be empty.
        repair: Follows a prompt whose last reply had `{problems}`.
        conditional_datapoint, …: What is asked in each step, about `{specs}`; for chains with the `{known}` ones.
    """

    system: str
    repair: str
    conditional_datapoint: str
    easy_essay: str
    hard_essay: str
    coexisting: str
    persona: str
    long_hop_chain: str
    long_hop_audit: str
    long_hop_options: str


def load_generation_prompts(path: Path | None = None) -> GenerationPrompts:
    """Return the pack in a file, or ours.

    Raises:
        BadInput: The file is not such a pack; see `load_pack`.
    """
    steps = [field.name for field in fields(GenerationPrompts) if field.name not in ("system", "repair")]
    holds = {"repair": ["problems"], **{name: ["specs"] for name in steps}, "long_hop_chain": ["specs", "known"]}
    return load_pack(path or OWN, GenerationPrompts, holds)
