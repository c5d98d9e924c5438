"""Read one config of a MemFail dataset for an evaluation: from the Hub, the local cache or a folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from types import NoneType

from epbench.errors import BadInput
from epbench.files.shapes import Items, Kind, Shape
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
    rows = all_checked_rows(dataset, config, "test", shape_of(config))
    content = json.dumps(rows, sort_keys=True, ensure_ascii=False, default=str)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Loaded(config, rows, facts_to_store(config, rows), questions_of(config, rows), fingerprint)


_ANY: Kind = (str, int, float, bool, list, dict, NoneType)


def shape_of(config: str) -> Shape:
    """Return the types of the values that facts and questions are made of.

    Short chains leave the last cells of a `long_hop` row empty.

    Raises:
        BadInput: There is no such config.
    """
    if config not in CONFIGS:
        raise BadInput(f"unknown config {config!r}; MemFail has: {', '.join(CONFIGS)}")
    text: Kind = (str, NoneType) if config == "long_hop" else (str,)
    kinds: dict[str, Kind] = dict.fromkeys(features_of(config), _ANY)
    kinds["id"] = (str,)
    kinds |= dict.fromkeys(PUBLISHED_COLUMNS[config], text)
    if config == "persona_retrieval":
        question = dict.fromkeys(("text", "ground_truth_answer"), (str,))
        kinds["questions"] = Items(Shape({**question, "is_misleading": (bool,), "distractor": (str, NoneType)}))
    if config == "long_hop":
        kinds |= {"hop_count": (int,), "stem": (str,), **dict.fromkeys((*CHOICES, "ground_truth_answer"), (str,))}
    lists = [name for name in ("preferences", "preference_facts", "entity_facts") if name in kinds]
    return Shape({**kinds, **dict.fromkeys(lists, Items((str,)))})
