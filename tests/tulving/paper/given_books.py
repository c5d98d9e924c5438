"""Books for the tests of their tables, and plain readers of what they hold: the tests count again from the files alone."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from epbench.tulving.dataset.build import Recipe, draw_outline
from tests.conftest import Once
from tests.scripts import in_process
from tests.tulving.scripted_writer import ScriptedWriter

OUTLINE = draw_outline(Recipe("short"))
_SEVERAL = [number for number, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3]
MISTAKES = {
    _SEVERAL[0]: ["date in another paragraph", "place in two paragraphs"],
    _SEVERAL[1]: ["name forgotten", "a second date", "numbers from 2"],
    _SEVERAL[2]: ["a second person", "a second event"],
    _SEVERAL[3]: ["deed forgotten"] * 9 + ["a second date"],
}
"""By number of the event the mistakes of its candidates; the last event never gets a chapter."""


def built(once: Once, name: str, *args: object) -> Path:
    """The folder of a dataset that the builder makes once per run of the tests."""

    def build(out: Path) -> None:
        done = in_process.script("builders/tulving.py", *args, "--out", out)
        assert done.returncode == 0, done.stderr

    (folder,) = [path for path in once(name, build).iterdir() if (path / "README.md").is_file()]
    return folder


def written(once: Once) -> Path:
    """The short book written by a model behind an endpoint, with mistakes."""
    with ScriptedWriter(OUTLINE.universe, OUTLINE.events, MISTAKES).endpoint() as endpoint:
        options = ("--writer", "openai:tiny", "--base-url", endpoint.url, "--window", 32768)
        return built(once, "paper-written", "--book", "short", *options)


def rows(folder: Path, config: str) -> list[dict[str, Any]]:
    """The rows of a config."""
    return [row for path in sorted((folder / config).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def published(archive: Path) -> dict[str, Any]:
    """The files of the one book of a published archive, as they are stored."""
    with zipfile.ZipFile(archive) as files:
        names = files.namelist()

        def one(end: str) -> bytes:
            (name,) = [name for name in names if name.endswith(end)]
            return files.read(name)

        def checks(folder: str) -> dict[str, Any]:
            found = [name for name in names if f"/{folder}/" in name and name.endswith(".json")]
            return {name.rpartition("/")[2]: json.loads(files.read(name)) for name in found}

        return {
            "chapters": pq.read_table(io.BytesIO(one("df_book_groundtruth.parquet"))).to_pylist(),
            "questions": pq.read_table(io.BytesIO(one("df_qa.parquet"))).to_pylist(),
            "events": json.loads(one("/events.json")),
            "layouts": json.loads(one("/meta_events.json")),
            "text": json.loads(one("/book.json")),
            "exact": checks("paragraphs_verif_direct"),
            "model": checks("paragraphs_verif_llm"),
        }
