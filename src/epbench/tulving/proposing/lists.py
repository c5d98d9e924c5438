"""The lists of a universe, as `data/proposing.toml` declares them, and what each text must be beside the others.

The checks are those of a user's own universe, text by text; a part's `form` also refuses what only a chapter would show.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import parse_toml, read_text, shown
from epbench.files.typed import typed
from epbench.tulving.events import universe_files as own
from epbench.tulving.scenes.scene_files import check_phrase, check_unnamed, read_sentence


class Part(Struct, frozen=True):
    """How many texts of a part are asked for and needed, their pattern, and how a message names it."""

    asked: int
    needed: int
    form: str = r".*[\w)'’]"
    expected: str = "a phrase without a mark at its end"


class Pack(Struct, frozen=True):
    """Prompts by list, the parts of those whose length is fixed, and what frames them; our file says what each is for."""

    system: str
    reply: str
    known: str
    repair: str
    prompts: dict[str, str]
    parts: dict[str, dict[str, Part]]


def load_pack(path: Path | None = None) -> Pack:
    """Return our pack, or that of a file, whose parts are ours; BadInput if it is not one, or a prompt is missing."""
    own_file = packaged("epbench.tulving", "proposing.toml")
    ours, pack = (typed(str(file), parse_toml(read_text(file)), Pack) for file in (own_file, path or own_file))
    for name in ours.prompts:
        if "{theme}" not in pack.prompts.get(name, ""):
            raise BadInput(f"{path}, prompts.{name}: expected a prompt with {{theme}}")
    return replace(pack, parts=ours.parts)


def check(
    task: str, part: str, form: Part, text: str, kept: Mapping[str, Sequence[str]], beside: Collection[str]
) -> None:
    """Refuse a text that cannot be in a part of a list, of which `kept` has the texts that have passed, by part.

    `beside` has, for settings, the fewest days; for contents and details the locations; for a review what is reviewed;
    for a scene the kind of event; for names the words of all other texts, case-folded.
    """
    if not re.fullmatch(form.form, text) or (task == "review" and text not in beside):
        raise BadInput(f"{part}: expected {form.expected}, found {shown(text)}")
    known = [name for names in kept.values() for name in names] if task in ("locations", "names") else kept[part]
    own.check_text(part, text)
    own.check_names([*known, text, *(beside if task == "contents" else ())], part)
    if part in ("begin", "middle", "end", "air"):
        read_sentence(part, text)
    elif task in ("place", "scene"):
        check_phrase(part, text)
    if task == "scene":
        check_unnamed(part, text, *beside)
    elif task == "details":
        own.check_no_location(part, text, beside)
    elif task == "names":
        own.check_own_name(part, text, f"{part}.txt", beside)
    elif part in ("first_day", "last_day"):
        _check_day(part, text, [*kept["first_day"], text][0], *map(int, beside))


def _check_day(part: str, text: str, first: str, days: int) -> None:
    try:
        between = date.fromisoformat(text) - date.fromisoformat(first)
    except ValueError:
        raise BadInput(f"{part}: expected a day of the calendar, found {text!r}") from None
    if part == "last_day" and between.days + 1 < days:
        raise BadInput(f"{part}: expected a day at least {days} days after the first, found {text!r}")
