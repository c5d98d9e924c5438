"""What the files of a run say, and a script that is killed while it writes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.scripts.in_process import ROOT, ran

PAIRS = "--template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 5"
BUILT = {
    "short": "builders/tulving.py --book short --events 6",
    "booksort": f"builders/booksort.py {PAIRS}",
    "memfail": "builders/memfail.py --config long_hop coexisting_facts --rows 10",
}
"""The commands of the small sets."""
COMMANDS = {
    "tulving": "eval_scripts/tulving.py --dataset {}/short --memory rag-chapter --limit 40",
    "tulving-none": "eval_scripts/tulving.py --dataset {}/short --memory none --limit 40",
    "booksort": "eval_scripts/booksort.py --dataset {}/booksort --memory in-context --model oracle",
    "memfail": "eval_scripts/memfail.py --dataset {}/memfail --config long_hop --system verbatim-bm25",
    "memfail-none": "eval_scripts/memfail.py --dataset {}/memfail --config long_hop --system none",
}
"""The commands of the small runs, in each of which the folder of the small sets is to be filled in."""


def read(folder: Path, name: str) -> Any:
    """The content of a JSON file in a folder."""
    return json.loads((folder / name).read_text("utf-8"))


def scores_of(run: Path) -> Any:
    """What a run scored."""
    return read(run, "scores.json")


def change(file: Path, **values: Any) -> None:
    """Set fields of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | values), "utf-8")


def drop(file: Path, name: str) -> None:
    """Take a field out of a JSON file."""
    content = json.loads(file.read_text("utf-8"))
    del content[name]
    file.write_text(json.dumps(content), "utf-8")


def lines_of(path: Path) -> list[Any]:
    """The whole lines of a journal, which may be written to just now or not be there yet."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def write_lines(path: Path, records: list[Any]) -> None:
    """Write a journal of these records."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def files_in(run: Path) -> dict[str, bytes]:
    """The content of the files of a folder, without those in folders below it."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def files_below(folder: Path) -> dict[str, bytes]:
    """The content of all files of a folder, by their paths in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(dataset: Path, config: str, split: str = "test") -> list[Any]:
    """The rows of one split of a dataset."""
    (path,) = (dataset / config).glob(f"{split}-*.parquet")
    return parquet.read_table(path).to_pylist()


def without_bytes(card: Path) -> str:
    """The text of a card; bytes in memory depend on the version of pyarrow."""
    return re.sub(r"num_bytes: \d+", "", card.read_text("utf-8"))


def killed(command: list[object], reached: Callable[[], object], **env: str) -> None:
    """Start one of our scripts in a process of its own, and end it by kill -9 as soon as it has reached something."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=os.environ | {"OPENAI_API_KEY": "k"} | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not reached():
        time.sleep(0.002)
    process.kill()
    process.wait()


def taken_up(scripted: Any, command_of: Callable[[Any], list[object]], folder: Path, name: str, after: int) -> int:
    """Have a scripted model asked by a command that is killed after so many replies, and give the command again.

    The dataset `name` appears in the folder by the second one alone, and no reply is kept twice. Returns how many requests were
    on their way when it was killed.
    """

    def slowly(body: Any) -> Any:
        time.sleep(0.02)
        return scripted(body)

    def kept() -> list[str]:
        return [record["key"] for path in folder.glob("*/replies.jsonl") for record in lines_of(path)]

    with ScriptedEndpoint(slowly) as endpoint:
        command = command_of(endpoint)
        killed(command, lambda: len(kept()) >= after)
        time.sleep(0.2)  # what the endpoint was still writing
        n_kept, n_sent = len(kept()), scripted.asked.total()
        assert not (folder / name).exists() and n_kept >= after
        ran(*command)
    assert set(Counter(kept()).values()) == {1}
    return int(n_sent - n_kept)
