"""From a theme to the files of a universe: settings, places, locations and contents with a review, details, scenes, names.

Paper: Appendix B.1.1 and Listing 2: twice as many locations as are wanted, then a review that keeps the distinct ones. Here
contents are reviewed, too; a kind of event that does not get its details or its scene gives way to a spare one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.replacing import replacing
from epbench.files.writing import write_text
from epbench.runs.usage import commonest
from epbench.tulving.events.universe import load_universe
from epbench.tulving.events.universe_files import DATA, SCENE_FILES, check_folder_name, read_settings, universe_names
from epbench.tulving.proposing.asking import Proposer, Wanted
from epbench.tulving.proposing.lists import Part
from epbench.tulving.scenes.scene_files import load_scenery

SPARE, REVIEWED = 2, 1.2
"""Locations and contents that are asked for, and those that the review should keep, over those that are wanted."""

Texts = Mapping[str, Sequence[str]]


def check_wanted(folder: Path, kept: Path, theme: str, size: int) -> None:
    """Refuse names, themes and sizes that no universe can have, and a folder without the replies of this model."""
    check_folder_name(folder, folder.name)
    if folder.name in universe_names():
        raise BadInput(f"{folder.name}: a universe of the package has this name; choose another one")
    if not theme.strip() or not theme.isprintable():
        raise BadInput("theme: expected one line of text")
    if size < 2:
        raise BadInput(f"universe of {size}: expected at least 2")
    if folder.exists() and not kept.exists():
        raise BadInput(f"{folder} exists and was not proposed by this model; choose another name or folder")


def propose(proposer: Proposer, theme: str, size: int, with_scenes: bool = True) -> dict[str, str]:
    """Ask for all parts of a universe, so many locations and contents, and return its files: their texts by name.

    Those that books of level 2 and higher need, asked for `with_scenes`, are left out if no kind of location or too few
    kinds of event pass.

    Raises:
        BadInput: Too few texts of a list passed.
        RunFailed: Requests got no answer; all replies so far are kept.
    """
    about, parts, spare = {"theme": theme}, proposer.pack.parts, SPARE * size
    settings = _complete(proposer, Wanted("settings", parts["settings"], about | {"days": str(size)}, [str(size)]))
    kinds = _complete(proposer, Wanted("kinds", parts["kinds"], about))["kinds"]
    told = [Wanted("place", parts["place"], about | {"subject": kind}) for kind in kinds if with_scenes]
    places = {one.subject: one.kept for one in proposer.collect(*told)}

    by_kind = -(-spare // len(places or kinds))
    locations = Wanted("locations", dict.fromkeys(places or kinds, Part(by_kind, by_kind)), about)
    proposer.collect(locations)
    in_turn = [name for names in zip_longest(*locations.kept.values()) for name in names if name]
    spaces = _reviewed(proposer, locations, in_turn, size)[:size]
    contents = Wanted("contents", {"contents": Part(spare, spare)}, about, spaces)
    proposer.collect(contents)
    listed = _reviewed(proposer, contents, contents.kept["contents"], size)
    details, scenes = _described(proposer, about, listed, spaces, size, bool(places))

    words = {*re.findall(r"[\w'’-]+", _json([spaces, details]).casefold())}
    each = Part(size, size // 2 + 1, r"\S+", "one word")
    names = _complete(proposer, Wanted("names", {"first": each, "last": each}, about, words))
    files = {
        "universe.toml": _settings_file(f"{theme}, proposed by {proposer.model.name}", settings),
        "locations.csv": "\n".join(["name", *('"' + name.replace('"', '""') + '"' for name in spaces)]),
        "contents.json": _json(details, indent=1),
        **{f"{part}.txt": "\n".join(listed) for part, listed in names.items()},
    }
    if scenes:
        kind_of = {name: kind for kind, listed in locations.kept.items() for name in listed if name in spaces}
        both = scenes, {"kinds": {kind: _place(texts) for kind, texts in places.items()}, "kind_of": kind_of}
        files |= {name: _json(content, indent=1) for name, content in zip(SCENE_FILES, both, strict=True)}
    return {name: text + "\n" for name, text in files.items()}


def _complete(proposer: Proposer, wanted: Wanted) -> Texts:
    proposer.collect(wanted)
    for part in wanted.missing:
        found, needed = len(wanted.kept[part]), wanted.parts[part].needed
        raise _too_few(proposer, f"{wanted.label} ({part})", found, needed, [wanted])
    return wanted.kept


def _too_few(proposer: Proposer, what: str, found: int, needed: int, asked: Sequence[Wanted]) -> BadInput:
    refused = commonest(reason for one in asked for reason in one.refused)
    return BadInput(
        f"{proposer.model.name}: {found} of {needed} {what} passed the checks{refused}; the replies are kept in "
        f"{proposer.folder}; choose another model, other prompts or a smaller universe"
    )


def _reviewed(proposer: Proposer, wanted: Wanted, texts: Sequence[str], size: int) -> list[str]:
    """The texts that the model keeps, and behind them the others."""
    if len(texts) < size:
        raise _too_few(proposer, wanted.label, len(texts), size, [wanted])
    n = min(len(texts), round(REVIEWED * size))
    values = {**wanted.values, "subject": wanted.task, "texts": _json(texts)}
    review = Wanted("review", {"keep": Part(n, n, ".+", "one of the texts")}, values, texts)
    proposer.collect(review)
    return sorted(texts, key=lambda text: text not in review.kept["keep"])


def _described(
    proposer: Proposer, about: dict[str, str], spare: list[str], spaces: Sequence[str], size: int, with_scenes: bool
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The details and the scenes of so many contents; no scenes if too few contents have one."""
    details, scenes, asked, parts = dict[str, list[str]](), dict[str, Any](), list[Wanted](), proposer.pack.parts
    while spare and (missing := size - len(scenes if with_scenes else details)) > 0:
        tried, spare = [about | {"subject": content} for content in spare[:missing]], spare[missing:]
        asked += (lists := [Wanted("details", parts["details"], values, spaces) for values in tried])
        told = proposer.collect(*lists)
        details |= {one.subject: one.kept["details"] for one in told}
        if with_scenes:
            acted = proposer.collect(*(Wanted("scene", parts["scene"], one.values, [one.subject]) for one in told))
            scenes |= {one.subject: one.kept | {"people": one.kept["people"][0]} for one in acted}
            with_scenes = bool(scenes)
    if len(details) < size:
        raise _too_few(proposer, "contents with enough details", len(details), size, asked)
    scenes = scenes if len(scenes) >= size else {}
    chosen = [*(scenes or details)][:size]
    return {content: details[content] for content in chosen}, {content: scenes[content] for content in chosen if scenes}


def _settings_file(comment: str, settings: Texts) -> str:
    """The text of `universe.toml`; each style has the three adjectives that our universes give it."""
    ours = [read_settings(DATA / f"universes/{name}/universe.toml")["styles"] for name in universe_names()]
    adjectives = {style: words for table in ours for style, words in table.items()}
    lines = [f"# {comment}", f"start = {settings['first_day'][0]}", f"end = {settings['last_day'][0]}"]
    lines += [f'kind = "{settings["kind"][0]}"', "\n[styles]"]
    lines += [f"{style} = {_json(adjectives.get(style))}" for style in settings["styles"]]
    lines += ["\n[qualifiers]", f"spaces = {_json(settings['spaces'])}", f"contents = {_json(settings['events'])}"]
    return "\n".join(lines)


def _place(texts: Texts) -> dict[str, Any]:
    told = {"indoors": texts["setting"] == ["indoors"], "preposition": texts["preposition"][0]}
    return told | {part: texts[part] for part in ("features", "air")}


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def write_universe(folder: Path, files: Mapping[str, str], size: int) -> None:
    """Write a folder that appears only if it passes all checks of a user's own universe; BadInput names the file at fault."""
    with replacing(folder) as draft:
        for name, text in files.items():
            write_text(draft / name, text)
        universe = load_universe(str(draft), size)
        if SCENE_FILES[0] in files:
            load_scenery(universe)
