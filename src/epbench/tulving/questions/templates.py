"""The question templates: which cue is given, which trace is asked for, and what to get.

They are in `data/questions.json`. The first 36 are those of the paper (Table 10): their numbers, cues, traces and what to get
are the paper's, the wording is ours. A new template goes to the end of `chapters`, since ids and stored answers depend on the
numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, check_text

ChapterTrace = Literal["times", "spaces", "entities", "contents", "other_entities", "full_details"]
"""What one chapter tells by itself."""
Trace = Literal[ChapterTrace, "causes", "states"]
Get = Literal["all", "latest", "chronological"]

CUE_LETTERS = "tsec"  # time, space, entity, content: in this order everywhere


class Template(NamedTuple):
    """One question template."""

    id: int  # its number, from 0
    cue: str  # the letters of the given elements
    trace: Trace  # what is asked for
    get: Get  # `all` matches, the `latest` one, or all in `chronological` order
    text: str  # the wording, with `{t}`, `{s}`, `{e}`, `{c}` for the given elements and no others


_LISTED = read_typed(packaged("epbench.tulving", "questions.json"), dict[str, tuple[Template, ...]])

TEMPLATES: tuple[Template, ...] = _LISTED["chapters"]
PUBLISHED_TEMPLATES: tuple[Template, ...] = TEMPLATES[:36]
"""Those of the paper. Published questions and the calibration set are made of these alone, whatever is added later."""
CUES: tuple[str, ...] = tuple(dict.fromkeys(template.cue for template in TEMPLATES))
TEMPLATES_BY_CUE: dict[str, tuple[Template, ...]] = {
    cue: tuple(template for template in TEMPLATES if template.cue == cue) for cue in CUES
}

OUTCOME_TEMPLATES: tuple[Template, ...] = _LISTED["outcomes"]
"""Those of books of level 5, which ask for causes and for the state of things."""


def own_texts() -> str:
    """Return our texts in TOML, by number of the template."""
    listed = (*TEMPLATES, *OUTCOME_TEMPLATES)
    lines = [f"{of.id} = {json.dumps(of.text, ensure_ascii=False)}  # {of.trace}, {of.get}\n" for of in listed]
    return "".join(lines)


def load_texts(section: Section) -> Mapping[int, str]:
    """Return the texts in a section of a file of wording by number of the template; BadInput if one does not fit its template."""
    cues = {f"{each.id}": each.cue for each in (*TEMPLATES, *OUTCOME_TEMPLATES)}
    for number, text in section.content.items():
        if number not in cues:
            raise BadInput(f"{section}: found the unknown key {number!r}, expected numbers from 0 to {len(cues) - 1}")
        check_text(f"{section}, key {number!r}", text, [f"{letter}|" for letter in cues[number]])
    return {int(number): text for number, text in section.content.items()}
