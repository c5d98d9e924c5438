"""Examples of following instructions as others publish them: the rows of files, here or on the Hub, as conversations."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from epbench.errors import BadInput
from epbench.files.json_files import json_objects
from epbench.files.text import shown
from epbench.files.typed import fields, typed
from epbench.finetuning.texts.tokens import Message
from epbench.hub.rows import Row, bounded_rows, parquet_errors
from epbench.models.protocol import whole
from epbench.progress import Progress

SUFFIXES = (".parquet", ".jsonl", ".json")
MAX_ROWS = 50_000_000  # in a file; OpenHermes-2.5 has 1,001,551

_FIELDS = {"conversations": ("from", "value"), "messages": ("role", "content")}
_MORE = {"system_prompt": str | None, "category": str | None}
_TURN: Any = fields({"from": str, "value": str})
_MESSAGE: Any = fields({"role": str, "content": str})
_KINDS = {
    "conversations": fields({"conversations": list[_TURN]}, _MORE),
    "messages": fields({"messages": list[_MESSAGE]}, _MORE),
}
_ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
_ABOUT = ("dataset_info.json", "dataset_infos.json")  # say what is in other files
_PIECE = 2**23  # bytes
_LONGEST_REASON = 300  # characters


class Example(NamedTuple):
    """A row: its category, which may be empty, and its conversation up to the last answer, empty if there is none."""

    category: str
    messages: list[Message]


class Source(NamedTuple):
    """The files of a source, and its revision on the Hub; empty for what lies here."""

    files: Sequence[Path]
    revision: str


def find_source(source: str) -> Source:
    """Find the files with the rows of a source.

    Args:
        source: A file of JSON Lines, Parquet, or JSON with one array; a folder with such files; or the name of a dataset on
            the Hub, whose files are downloaded unless they are in the Hub's cache. Of a folder or dataset, all Parquet
            files are taken, or else all of JSON Lines, or else of JSON; if some have a path with a part that begins with
            "train", only these.

    Raises:
        BadInput: There are no such files, or the Hub cannot be reached and its cache has none.
    """
    path, revision = Path(source).expanduser(), ""
    if not path.is_dir() and path.suffix.lower() in SUFFIXES:
        return Source([path], "")
    if path.is_file():
        raise BadInput(f"{source}: expected a file of examples (*{', *'.join(SUFFIXES)}), found another kind of file")
    if not path.is_dir():
        path = _from_hub(source)
        revision = path.name
    for suffix in SUFFIXES:
        parts = {file: file.relative_to(path).parts for file in sorted(path.rglob(f"*{suffix}"))}
        files = [
            file for file in parts if not (file.name in _ABOUT or any(part.startswith(".") for part in parts[file]))
        ]
        if files:
            train = [file for file in files if any(part.startswith("train") for part in parts[file])]
            return Source(train or files, revision)
    raise BadInput(f"{source}: expected files of examples (*{', *'.join(SUFFIXES)}), found none")


def examples_of(files: Sequence[Path], progress: Progress) -> Iterator[Example]:
    """Yield the rows of files one by one; only a few megabytes are held at a time.

    A row has `conversations` with turns of `from` (system, human or gpt) and `value`, as in OpenHermes-2.5, or `messages` with
    turns of `role` (system, user or assistant) and `content`. It may have a `category`, and a `system_prompt`, which counts
    if the conversation has no system message. What follows the last answer is left out.

    Raises:
        BadInput: A file cannot be read, or a row is not as said.
    """
    for path in files:
        rows = _parquet_rows if path.suffix.lower() == ".parquet" else _json_rows
        for number, row in enumerate(rows(path, progress)):
            yield _example(f"{path}, row {number}", row)


def _example(where: str, row: Row) -> Example:
    name = next((name for name in _FIELDS if row.get(name) is not None), None)
    if name is None:
        found = ", ".join(map(shown, list(row)[:9])) or "nothing"
        raise BadInput(f"{where}: expected the field 'conversations' or 'messages', found {found}")
    typed(where, row, _KINDS[name])
    role, content = _FIELDS[name]
    messages: list[Message] = []
    for number, turn in enumerate(row[name]):
        if turn[role] not in _ROLES:
            raise BadInput(
                f"{where}, field '{name}[{number}].{role}': expected {', '.join(_ROLES)}, found {shown(turn[role])}"
            )
        messages.append({"role": _ROLES[turn[role]], "content": whole(turn[content])})
    if messages and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": whole(row.get("system_prompt") or "")})
    if messages and not messages[0]["content"].strip() and messages[0]["role"] == "system":
        del messages[0]
    answers = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    blank = any(not messages[number]["content"].strip() for number in answers)
    return Example(row.get("category") or "", [] if blank or not answers else messages[: answers[-1] + 1])


def _parquet_rows(path: Path, progress: Progress) -> Iterator[Row]:
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except parquet_errors() as error:
        raise BadInput(f"{path}: not a readable Parquet file ({' '.join(str(error).split())})") from None
    columns = [name for name in file.schema_arrow.names if name in {*_FIELDS, *_MORE}]
    rows = bounded_rows(file, str(path), columns=columns, max_rows=MAX_ROWS)
    yield from progress(rows, "rows of instructions", file.metadata.num_rows)


def _json_rows(path: Path, progress: Progress) -> Iterator[Row]:
    try:
        with path.open("rb") as file:
            n = -(-path.stat().st_size // _PIECE)
            pieces = progress(iter(lambda: file.read(_PIECE), b""), "parts of instructions", n)
            yield from json_objects(str(path), codecs.iterdecode(pieces, "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8 ({error.reason})") from None
    except OSError as error:
        raise BadInput(f"{path}: expected a file that can be read ({error.strerror})") from None


def _from_hub(name: str) -> Path:
    """Return the folder of the Hub's cache in which the files of a dataset are."""
    from huggingface_hub import snapshot_download

    # `datasets` would make a copy, and needs seven times the size of a JSON array (1.9 GB for OpenHermes-2.5) in memory.
    try:
        return Path(snapshot_download(name, repo_type="dataset", allow_patterns=[f"*{suffix}" for suffix in SUFFIXES]))
    except Exception as error:  # the Hub's client and the network raise a dozen types
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise BadInput(
            f"instructions {name!r}: neither a file nor a folder, and not to be had from the Hub or its cache ({reason}); "
            "name a file or folder of such examples, or train without them"
        ) from error
