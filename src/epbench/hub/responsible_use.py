"""What a card says on responsible use, and the same as a file for machines, `croissant-rai.json`.

The fields are those of the Responsible AI vocabulary of Croissant, http://mlcommons.org/croissant/RAI/1.0. The Hub writes
the rest of a dataset's Croissant metadata itself and takes none of these fields from a card, so they come as a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

FILE = "croissant-rai.json"

_HEADING = "## Responsible use"
_ROW = re.compile(r"^\| `rai:(\w+)` \| (.*) \|$", re.MULTILINE)
_TYPES = "dataCollectionType"
_SPDX = {"mit": "https://spdx.org/licenses/MIT", "cc0-1.0": "https://spdx.org/licenses/CC0-1.0"}
_OWN = (
    "column", "data", "dataType", "equivalentProperty", "examples", "extract", "field", "fileObject", "fileProperty",
    "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_SPECIAL = {"data": "@json", "examples": "@json", "dataType": "@vocab"}


@dataclass(frozen=True)
class ResponsibleUse:
    """What who uses a dataset should know, each in plain sentences on one line.

    Attributes:
        collection: How the data came to be.
        collection_types: The same in terms of the vocabulary, such as `Document analysis`, or `Others` for what was made
            and not collected.
        annotation: Who or what decided what the right answers are.
        personal: Personal or sensitive information in the data.
        biases: Where the data is lopsided.
        limitations: What a score on the data does not say.
        uses: What the data is for, and what it is not for.
        impact: What good and what harm its use may do.
        maintenance: How versions are made, and what happens to old ones.
    """

    collection: str
    collection_types: Sequence[str]
    annotation: str
    personal: str
    biases: str
    limitations: str
    uses: str
    impact: str
    maintenance: str

    def section(self) -> str:
        """The section of a card, a table with one line for each field."""
        rows = {
            "dataCollection": self.collection,
            _TYPES: ", ".join(self.collection_types),
            "dataAnnotationProtocol": self.annotation,
            "personalSensitiveInformation": self.personal,
            "dataBiases": self.biases,
            "dataLimitations": self.limitations,
            "dataUseCases": self.uses,
            "dataSocialImpact": self.impact,
            "dataReleaseMaintenancePlan": self.maintenance,
        }
        lines = [f"| `rai:{name}` | {' '.join(text.replace('|', '/').split())} |" for name, text in rows.items()]
        return "\n".join(
            [
                f"{_HEADING}\n",
                f"In the fields of Croissant's Responsible AI vocabulary; `{FILE}` has the same for machines.\n",
                "| field | |",
                "|---|---|",
                *lines,
            ]
        )


def rai_file(name: str, card: str) -> str | None:
    """Return the text of `croissant-rai.json`: Croissant metadata in JSON-LD with the fields of a card's section.

    Returns:
        The text; None if the card has no section on responsible use.
    """
    fields: dict[str, Any] = dict(_ROW.findall(card.partition(f"\n{_HEADING}\n")[2]))
    if not fields:
        return None
    from huggingface_hub import DatasetCard

    header: dict[str, Any] = DatasetCard(card).data.to_dict()  # type: ignore[no-untyped-call]
    fields[_TYPES] = fields[_TYPES].split(", ")
    content = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": name,
        "description": header["pretty_name"],
        "license": _SPDX.get(header["license"], header["license"]),
        "url": f"https://huggingface.co/datasets/epbench/{name}",
        "version": header["version"],
        "inLanguage": "en",
        **{f"rai:{field}": value for field, value in fields.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _context() -> dict[str, Any]:
    """The context that the specification prescribes."""
    own: dict[str, Any] = {name: f"cr:{name}" for name in _OWN}
    own |= {name: {"@id": f"cr:{name}", "@type": kind} for name, kind in _SPECIAL.items()}
    context = own | {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "dct": "http://purl.org/dc/terms/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "sc": "https://schema.org/",
    }
    return dict(sorted(context.items()))
