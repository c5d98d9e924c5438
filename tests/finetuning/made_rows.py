"""Rows in the published shape of OpenHermes-2.5, and files of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def row(question: str, answer: str, category: str | None = "general", **more: Any) -> dict[str, Any]:
    """A row with one question."""
    pairs = (("human", question), ("gpt", answer))
    turns = [{"from": who, "value": text, "weight": None} for who, text in pairs]
    return {"category": category, "system_prompt": None, "source": "made", "conversations": turns} | more


def rows(n: int) -> list[dict[str, Any]]:
    """Rows that differ, without a category that is left out."""
    return [row(f"What is {i} and {i}?", f"It is {2 * i}.", "coding" if i % 2 else None) for i in range(n)]


def write_rows(path: Path, content: Sequence[dict[str, Any]]) -> str:
    """Write a file of the format that its name says, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(list(content)), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in content), "utf-8")
    else:
        path.write_text(json.dumps(content, indent=1), "utf-8")
    return str(path)
