"""Read one config of a MemFail dataset for an evaluation: from the Hub, the local cache or a folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows
from epbench.memfail.dataset.questions import facts_to_store, questions_of
from epbench.memfail.dataset.schema import CHOICES, PUBLISHED_COLUMNS, Row, features_of
from epbench.memfail.dataset.types import CONFIGS, Fact, Question


@dataclass(frozen=True)
class Loaded:
    """One config as an evaluation uses it.

    Attributes:
        config: One of `CONFIGS`.
        rows: The rows of the dataset.
        facts: The facts to store.
        questions: The questions to ask.
        fingerprint: Hash of the rows, so that a run can only be resumed on the same rows.
    """

    config: str
    rows: list[Row]
    facts: list[Fact]
    questions: list[Question]
    fingerprint: str


def load_memfail(dataset: str, config: str) -> Loaded:
    """Load a config of `epbench/memfail` or of a folder that its builder wrote.

    Args:
        dataset: Name on the Hub, or a folder.
        config: One of `CONFIGS`.

    Raises:
        BadInput: The dataset or config does not exist, or is not a MemFail table.
    """
    rows = all_checked_rows(dataset, config, "test", row_type(config))
    content = json.dumps(rows, sort_keys=True, ensure_ascii=False, default=str)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Loaded(config, rows, facts_to_store(config, rows), questions_of(config, rows), fingerprint)


def row_type(config: str) -> type[Struct]:
    """Return the types of the values that facts and questions are made of.

    Short chains leave the last cells of a `long_hop` row empty.

    Raises:
        BadInput: There is no such config.
    """
    if config not in CONFIGS:
        raise BadInput(f"unknown config {config!r}; MemFail has: {', '.join(CONFIGS)}")
    kinds: dict[str, Any] = dict.fromkeys(features_of(config), Any) | {"id": str}
    kinds |= dict.fromkeys(PUBLISHED_COLUMNS[config], str | None if config == "long_hop" else str)
    if config == "persona_retrieval":
        question = dict.fromkeys(("text", "ground_truth_answer"), str)
        asked: Any = fields({**question, "is_misleading": bool, "distractor": str | None})
        kinds["questions"] = list[asked]
    if config == "long_hop":
        kinds |= {"hop_count": Whole, **dict.fromkeys((*CHOICES, "stem", "ground_truth_answer"), str)}
    lists = [name for name in ("preferences", "preference_facts", "entity_facts") if name in kinds]
    return fields({**kinds, **dict.fromkeys(lists, list[str])})
