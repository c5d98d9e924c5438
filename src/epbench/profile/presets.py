"""Presets: which runs a profile is made of. They are data, and two profiles compare only with the same preset and version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.typed import Whole, typed


class Part(Struct, frozen=True):
    """A run of a profile."""

    name: str  # of the run's folder; a dimension says by it where it is measured
    benchmark: Literal["tulving", "booksort", "memfail"]  # which benchmark
    build: list[str]  # the arguments of its builder
    dataset: str  # the folder that the builder makes
    ask: list[str]  # the arguments of its evaluation, besides dataset, memory, model and limit
    limit: Whole | None = None  # the number of questions, of each config where there are several; None for all


class Preset(Struct, frozen=True):
    """Runs that make a profile; another `version` of one name is another preset."""

    version: Whole
    about: str
    part: list[Part]


def preset_names() -> list[str]:
    """The presets of the package."""
    return sorted(path.stem for path in packaged("epbench.profile").glob("*.toml"))


def read_preset(name: str) -> Preset:
    """Read a preset: one of `preset_names`, or the path of a TOML file of the same form.

    Raises:
        BadInput: There is no such preset, or the file is no preset.
    """
    path = Path(name) if name.endswith(".toml") else packaged("epbench.profile", f"{name}.toml")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise BadInput(f"preset {name!r}: expected {', '.join(preset_names())} or a TOML file") from None
    except ValueError as error:
        raise BadInput(f"{path}: expected TOML ({error})") from None
    preset = typed(str(path), content, Preset)
    if len({part.name for part in preset.part}) < len(preset.part) or not preset.part:
        raise BadInput(f"{path}: expected parts with different names")
    return preset
