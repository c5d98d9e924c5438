"""A universe of a user's own: a harbour town with 40 locations and 12 kinds of event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STYLES = {
    "horror": ["fearful", "dread-laden", "uncanny"],
    "romance": ["passionate", "intimate", "longing"],
    "comedy": ["funny", "quick-witted", "absurd"],
}
QUALIFIERS = {"spaces": ["Old", "New", "Far"], "contents": ["Grand", "Small", "Late", "Early"]}
PLACES = [
    f"{first} {second}"
    for first in ("Crane", "Mussel", "Tallow", "Beacon", "Rope")
    for second in ("Quay", "Steps", "Yard", "Wharf", "Slip", "Arch", "Loft", "Gate")
]
EVENTS = (
    "Knot Contest", "Net Mending", "Gull Count", "Lamp Parade", "Tide Watch", "Cask Race", "Sail Auction", "Chart Lesson",
    "Anchor Lift", "Pilot Exam", "Fog Drill", "Herring Feast",
)  # fmt: skip


def details_of(event: str) -> list[str]:
    """Thirty things to do at an event, none part of another."""
    numbers = [f"{tens}-{ones}" for tens in ("twenty", "thirty", "forty") for ones in "abcdefghij"]
    return [f"Carried basket {number} to the {event.split()[0].lower()} table" for number in numbers]


def toml(styles: Any = STYLES, qualifiers: Any = QUALIFIERS, **keys: Any) -> str:
    """The text of universe.toml."""
    values = {"start": "2031-03-01", "end": "2031-12-31", "kind": '"novel"'} | keys
    lines = [f"{key} = {value}" for key, value in values.items() if value is not None]
    for name, table in (("styles", styles), ("qualifiers", qualifiers)):
        if table is not None:
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def write_universe(folder: Path) -> Path:
    """Write the whole universe, and return its folder."""
    folder.mkdir(parents=True)
    (folder / "universe.toml").write_text(toml())
    rows = [f"{name},{40 + i / 100},{-70 - i / 100}" for i, name in enumerate(PLACES)]
    (folder / "locations.csv").write_text("\n".join(["name,latitude,longitude", *rows]) + "\n")
    (folder / "contents.json").write_text(json.dumps({event: details_of(event) for event in EVENTS}))
    return folder
