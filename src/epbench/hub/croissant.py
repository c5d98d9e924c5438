"""A card as files: README.md, and what it says on responsible use for machines, `croissant-rai.json`.

The fields are those of the Responsible AI vocabulary of Croissant, http://mlcommons.org/croissant/RAI/1.0. The Hub writes
the rest of a dataset's Croissant metadata itself and takes none of these fields from a card, so they come as a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from epbench.files.json_files import read_json
from epbench.files.packaged import packaged

FILE = "croissant-rai.json"

FIELDS: Mapping[str, str] = {
    "dataCollection": "how the data came to be",
    "dataCollectionType": "the same in terms of the vocabulary: a list",
    "dataAnnotationProtocol": "who or what decided what the right answers are",
    "personalSensitiveInformation": "personal or sensitive information in the data",
    "dataBiases": "where the data is lopsided",
    "dataLimitations": "what a score on the data does not say",
    "dataUseCases": "what the data is for, and what it is not for",
    "dataSocialImpact": "what good and what harm its use may do",
    "dataReleaseMaintenancePlan": "how versions are made, and what happens to old ones",
}
"""What a card says on responsible use, in this order: the name of each field, and what it is about."""

_SPDX = {"mit": "https://spdx.org/licenses/MIT", "cc0-1.0": "https://spdx.org/licenses/CC0-1.0"}


@dataclass(frozen=True)
class Card:
    """The card of a dataset."""

    text: str  # README.md, with its YAML header
    header: Mapping[str, Any]  # the fields of that header
    # What the card says of each of `FIELDS`; empty if it says nothing.
    responsible_use: Mapping[str, str | Sequence[str]]

    def reworded(self, change: Callable[[str], str]) -> Card:
        """Return the card with its text as `change` gives it, such as with commands in place of scripts."""
        return replace(self, text=change(self.text))

    def files(self, name: str) -> dict[str, str]:
        """Return the texts of the card's files by their names, for a dataset with this name."""
        if not self.responsible_use:
            return {"README.md": self.text}
        content = read_json(packaged("epbench.hub", "croissant.json")) | {
            "name": name,
            "description": self.header["pretty_name"],
            "license": _SPDX.get(self.header["license"], self.header["license"]),
            "url": f"https://huggingface.co/datasets/epbench/{name}",
            "version": self.header["version"],
            "inLanguage": "en",
            **{f"rai:{field}": value for field, value in self.responsible_use.items()},
        }
        return {FILE: json.dumps(content, indent=2, ensure_ascii=False) + "\n", "README.md": self.text}
