"""Run folders that are damaged or come from another tool, generated from a seed, and how our scripts react."""

from __future__ import annotations

import json
import math
import shutil
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.scripts.in_process import script
from tests.torture.archives import places, with_value

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 7, 10**400, 1.5, math.nan, math.inf, "", "x", "\ud83d", [], {}, [None], ["x"], [[1]], {"a": 1},
)  # fmt: skip
WHOLE: tuple[bytes | None, ...] = (  # contents of a file; None stands for a folder
    b"", b"\0\1\2\xff", b"null", b"[]", b"{}", b"3", b'"x"', b"[" * 5000, b'{"a": ' * 5000, b"key: yaml\n", None,
    b'{"identity": "x"}\n', b'{"key": 1}\n', b'{"key": "x"}\n', b'{"identity": {"benchmark": ["tulving"]}}',
    b'{"identity": {"benchmark": "lm-eval"}}', b"\xff\xfe{\0}\0", b"{} {}\n",
)  # fmt: skip


def spoil(folder: Path, draw: Random) -> str:
    """Damage one file of a run's folder, and return a description of the damage."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.stat().st_size)
    path = draw.choice(files)
    kind = draw.choice(("whole", "value", "value", "value", "lost"))
    if kind == "whole":
        content = draw.choice(WHOLE)
        path.unlink()
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
        return f"{path.name} is {content!r:.40}"
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = draw.randrange(len(lines))
    value = json.loads(lines[at])
    place = draw.choice([place for place in places(value) if place and len(place) <= 5])
    if kind == "value":
        new = draw.choice(VALUES)
        value = with_value(value, place, new)
        done = f"{path.name}, line {at + 1}, {place} is {new!r:.20}"
    else:
        inner = value
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]
        done = f"{path.name}, line {at + 1}, {place} is lost"
    lines[at] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n")
    return done


def torture_folders(place: Path, commands: Mapping[str, Any], n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Damage n copies of runs in an empty folder, and call a script on each; yield the damage and what came of it.

    `commands` has by name the folders of the runs that a command takes, and what makes its arguments from their copies. What
    comes of it is `ok`, `refused`, or the traceback or the printed lines.
    """
    names = sorted(commands)
    for number in range(n):
        draw = Random(f"{seed} {number}")
        folders, arguments = commands[names[number % len(names)]]
        copies = [
            Path(shutil.copytree(folder, place / f"{number}-{i}" / folder.name)) for i, folder in enumerate(folders)
        ]
        done = spoil(draw.choice(copies), draw)
        name = f"{names[number % len(names)]}: {done}"
        try:
            result = script(*arguments(copies, place / f"{number}-out"))
        except Exception:
            yield name, traceback.format_exc()
        else:
            # Status 1: the run is valid, but has nothing to score or compare.
            lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
            refused = result.returncode in (1, 2) and result.stderr.strip().splitlines() == lines and len(lines) == 1
            # verify.py says on the screen what does not hold, and its status is 1.
            told = result.returncode == 1 and not result.stderr and " do not" in result.stdout
            fine = "ok" if not result.returncode else "refused" if told or (refused and len(lines[0]) < 3000) else ""
            yield name, fine or f"{result.returncode}: {result.stderr}"
        for i in range(len(folders)):
            shutil.rmtree(place / f"{number}-{i}")
