"""Rows in their published form: one CSV file per config, with lists as JSON, CRLF line ends and empty absent cells."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.memfail.dataset.schema import PUBLISHED_COLUMNS

# As in the reference repository.
PATHS = {
    "conditional_facts_easy": "conditional_facts/easy/conditional_facts_dataset_easy.csv",
    "conditional_facts_hard": "conditional_facts/hard/conditional_facts_dataset_hard.csv",
    "coexisting_facts": "coexisting_facts/coexisting_facts_dataset.csv",
    "persona_retrieval": "custom_persona_retrieval/persona_dataset.csv",
    "long_hop": "long_hop/long_hop_chains.csv",
}


def write_published(folder: Path, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """Write the rows of these configs into a folder, and return the folder."""
    for config, rows in tables.items():
        write_csv(folder / PATHS[config], config, rows)
    return folder


def write_csv(path: Path, config: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(PUBLISHED_COLUMNS[config])
        writer.writerows([[_cell(row[column]) for column in PUBLISHED_COLUMNS[config]] for row in rows])
    return path


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list) else str(value)
