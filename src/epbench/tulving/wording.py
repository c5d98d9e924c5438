"""Everything that is told to models about a Tulving book: the sections of a file of wording."""

from __future__ import annotations

from typing import Any

from epbench.files import prompt_packs
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Words
from epbench.tulving.chapters import prompts as writing
from epbench.tulving.context import requests
from epbench.tulving.judging import load as judging
from epbench.tulving.questions import templates

WORDS = {
    "reader": Words(requests.OWN, requests.load_prompts),
    "judge": Words(judging.OWN, judging.load_judge_prompts),
    "writer": Words(writing.OWN, writing.load_writing_prompts),
    "questions": Words(templates.own_texts, templates.load_texts),
}


def read_wording(given: str | None) -> dict[str, Any]:
    """Return the prompts of reader, judge and writer, and the texts of the questions by number; nothing if no file is given."""
    return prompt_packs.read_wording(given, WORDS, packaged("epbench.tulving", "published_wording.toml"))
