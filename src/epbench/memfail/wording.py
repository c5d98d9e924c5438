"""Everything that is told to models in MemFail: the sections of a file of wording."""

from __future__ import annotations

from typing import Any

from epbench.files import prompt_packs
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Words
from epbench.memfail.context import requests
from epbench.memfail.generation import asking as generation
from epbench.memfail.judging import load as judging

WORDS = {
    "reader": Words(requests.OWN, requests.load_prompts),
    "judge": Words(judging.OWN, judging.load_judging_prompts),
    "generation": Words(generation.OWN, generation.load_generation_prompts),
}


def read_wording(given: str | None) -> dict[str, Any]:
    """Return the prompts of reader, judge and generation as `prompt_packs.read_wording` does; nothing if no file is given."""
    return prompt_packs.read_wording(given, WORDS, packaged("epbench.memfail", "published_wording.toml"))
