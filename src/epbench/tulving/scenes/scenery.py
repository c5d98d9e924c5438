"""The scene of each kind of event of a universe, and the kind of each of its spaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.tulving.events.universe import Universe
from epbench.tulving.events.universe_files import SCENE_FILES, read_universe_files
from epbench.tulving.scenes.scene_files import PlaceKind, Scene, read_places, read_scenes


@dataclass(frozen=True)
class Scenery:
    """How the events of a universe go, and where.

    Attributes:
        scenes: The scene of each content.
        places: The kind of each location.
    """

    scenes: Mapping[str, Scene]
    places: Mapping[str, PlaceKind]


def load_scenery(universe: Universe) -> Scenery:
    """Read `scenes.json` and `places.json` of a universe; a name with a qualifier has the scene of the plain name.

    Raises:
        BadInput: A file is missing or faulty.
    """
    for name in SCENE_FILES:
        if not (universe.folder / name).is_file():
            raise BadInput(
                f"{universe.folder / name}: the file is missing; books of level 2 and higher need {' and '.join(SCENE_FILES)}"
            )
    files = read_universe_files(str(universe.folder) if universe.files_hash else universe.name)
    scenes = read_scenes(universe.folder / "scenes.json", files.details)
    places = read_places(universe.folder / "places.json", files.locations)
    return Scenery(
        {content: scenes[universe.listed[content]] for content in universe.contents},
        {space: places[universe.listed[space]] for space in universe.spaces},
    )


def paraphrases(content: str, universe: Universe, scenery: Scenery) -> list[str]:
    """Return phrases that tell a kind of event without its name, such as `the evening of spoken verse`.

    If the name has a qualifier, so do they (`the second evening of spoken verse`), or it could not be told from the others.
    """
    qualifier = content.removesuffix(universe.listed[content]).lower()
    return [f"the {qualifier}{what}" for what in scenery.scenes[content].what]
