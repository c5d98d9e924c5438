"""A small dataset to publish, and the script that publishes it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from epbench.hub.card import card
from epbench.hub.dataset_folder import Config, write_dataset

PUBLISH = Path(__file__).parents[2] / "builders" / "publish.py"

Python = Callable[..., "subprocess.CompletedProcess[str]"]


def diary(parent: Path, answers: Sequence[Sequence[str] | None]) -> tuple[Path, list[Config]]:
    """A dataset of two configs, written as the folder `diary`, and what is in it."""
    from datasets import Features, List, Value

    ids = [f"q{i}" for i in range(len(answers))]
    first = Features({"id": Value("string"), "answers": List(Value("string")), "score": Value("float64")})
    second = Features({"id": Value("string"), "who": {"name": Value("string"), "age": Value("int64")}})
    configs = [
        Config("first", "test", first, {"id": ids, "answers": answers, "score": [i / 7 for i in range(len(ids))]}),
        Config("second", "train", second, {"id": ["e0"], "who": [{"name": "Zoë 🦊", "age": None}]}),
    ]
    text = card(configs, "# Diary", pretty_name="Diary", license="mit", tags=["test"])
    write_dataset(parent / "diary", configs, text)
    return parent / "diary", configs
