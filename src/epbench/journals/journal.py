"""An append-only file of records, one JSON object per line, that survives `kill -9` at any byte.

`read_journal` reads and changes nothing, so that a run can be read while it goes on. `Journal` writes; its owner holds the
lock of the run's folder (`epbench.runs.folder.open_run`). While it has the lock, each journal of the folder is read once, and
both give the same records; see `kept_journals`.

A file of other records than `JOURNALS` says is damaged, or another tool's. What the files of only one benchmark hold, such as its
scores, lives with the benchmark.
"""

from __future__ import annotations

import base64
import errno
import gc
import hashlib
import json
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct, convert

from epbench.errors import BadInput, RunFailed
from epbench.files.secrets import scrubber
from epbench.files.text import parse_json, whole
from epbench.files.typed import Number, Whole, fields, typed

Record = dict[str, Any]

RETIRED = "the question was asked anew with another prompt"
"""The failure of an answer that the answer to another prompt of the same question has replaced."""

_MARK = 2  # bytes for each line: the hash tells that a line has changed, and a mark which


_USAGE = fields({}, dict.fromkeys(("prompt", "cached", "completion", "thinking"), Whole))
_COST = {"usage": _USAGE, "seconds": Number | None, "failure": str | None}
_PASSAGES = list[tuple[Whole, Whole]]
ANY_RECORD = fields({"key": str})  # what every record has

_ANSWER = fields(
    {"key": str, "id": str, "repeat": Whole},
    {
        **_COST, **dict.fromkeys(("answer", "partial", "ended", "setup"), str), "reasoning": str | None,
        "probabilities": dict[str, Number | None], "missing": bool,
    },
    ("answer",), ("failure",), ("missing",),
)  # fmt: skip

JOURNALS: dict[str, type[Struct]] = {
    "answers.jsonl": _ANSWER,
    "judge_calls.jsonl": _ANSWER,
    "prompt_answers.jsonl": _ANSWER,
    "replies.jsonl": _ANSWER,
    "judgements.jsonl": fields(  # a verdict on every item of an answer, or one yes or no
        {"key": str, "id": str, "judge": str},
        {
            **_COST, "prompt_hash": str | None, **dict.fromkeys(("items", "order", "raw"), list[str]),
            "scores": list[Number], "verdict": bool, **dict.fromkeys(("reason", "kind", "setup"), str),
        },
        ("items", "scores", "order"), ("verdict",), ("failure",),
    ),
    "stored.jsonl": fields(
        {"key": str, "store": str},
        {
            "conversation": str, "units": list[str], **dict.fromkeys(("again", "lost", "changed"), bool),
            "failure": str | None, "memories": Whole, "seconds": Number | None, "of": str, "counts": dict[str, Whole],
            "bytes": Whole,
        },
    ),
    "system_calls.jsonl": fields(  # a request of a memory system to its models
        {
            **dict.fromkeys(("key", "method", "store", "item", "path", "reply"), str),
            **dict.fromkeys(("status", "tokens_in", "tokens_out"), Whole),
            **dict.fromkeys(("retry", "unparsable"), bool), "seconds": Number,
        },
    ),
    "retrieved.jsonl": fields(  # memories of a memory system, or passages
        {"key": str},
        {
            **dict.fromkeys(("question", "store", "of", "id", "query"), str), "k": Whole, "memories": list[str],
            "failure": str | None, "seconds": Number | None, "counts": dict[str, Whole], "passages": _PASSAGES,
            "ranks": tuple[Whole | None, Whole | None], **dict.fromkeys(("both", "in_order"), bool),
        },
        ("of", "memories"), ("failure",), ("id", "query", "ranks", "both", "in_order"),
    ),
    "batches.jsonl": fields(  # what was submitted to an endpoint's batch API
        {"key": str, "requests": list[str]}, {**dict.fromkeys(("file", "batch"), str), "collected": bool},
    ),
    "shown.jsonl": fields(  # which of the memories a reader is shown
        {"key": str, **dict.fromkeys(("k", "memories", "tokens", "left_out"), Whole)},
    ),
    "passages.jsonl": fields({"key": str, "id": str, "passages": _PASSAGES}),  # chapter and paragraph of each
    "training.jsonl": fields(  # a step of the optimizer
        {
            "key": str, **dict.fromkeys(("step", "epoch", "samples", "tokens", "learned"), Whole),
            **dict.fromkeys(("loss", "rate", "seconds", "tokens_per_second"), Number),
        },
        dict.fromkeys(("gradient_norm", "mfu", "mfu_causal"), Number | None),
    ),
    "measures.jsonl": fields({"key": str, "epoch": Whole}),  # what a checkpoint was worth; each benchmark measures more
}  # fmt: skip
"""The type of a record in each journal of a run, by the name of the file."""


def read_journal(path: Path, kind: type[Struct] | None = None) -> dict[str, Record]:
    """Read the records of a journal by key; of several records with one key, the last one counts.

    Nothing is written. A last line without its end is left out: it is being written, or its writer was killed. The records come
    in the order in which their keys first appear; none if there is no such file. They may be shared, so nobody may change them.
    `kind` is their type; None for that of the file's name, see `JOURNALS`. `BadInput` if a line before the last is not a
    record, or has a field of another type, because the file was edited or is not a journal.
    """
    return dict(_content(path, kind).records)


def from_journal(path: Path, compute: Callable[[Iterable[Record]], Any]) -> Any:
    """Return what is computed from the records of a journal, once for as long as they are kept; nobody may change the value."""
    content = _content(path, None)
    length, value = content.computed.get(compute, (-1, None))
    if length != content.whole:
        value = compute(content.records.values())
        content.computed[compute] = content.whole, value
    return value


class Journal:
    """Records by key; the last one of a key counts.

    A line is written in one call and ends in a newline, so only the last record can be torn. It is removed when the next
    record is added, and its work is done again.
    """

    def __init__(self, path: Path, kind: type[Struct] | None = None) -> None:
        """Read the file as `read_journal` does, or make an empty one; it is opened for writing by the first `add`."""
        self.path = path
        path.touch()
        self._content = _content(path, kind)
        self.records = self._content.records
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()
        self._scrubbed = scrubber()

    def add(self, key: str, **values: Any) -> None:
        """Append one record, which is in the file when this returns. Several threads may add records.

        Half a surrogate pair, which some endpoints send and UTF-8 cannot hold, becomes U+FFFD. The secrets that this process
        knew when the journal was opened become `***` in all values but the key and the id, which other files name. `OSError` if
        the record could not be written in full, as when the disk is full; the file then ends with the record before.
        `RunFailed` if another process has written to the file since it was read.
        """
        kept = {name: values[name] for name in ("id",) if name in values}
        record = {"key": key, **self._scrubbed(values), **kept}
        line = whole(json.dumps(record, ensure_ascii=False))
        with self._lock:
            self._append(line.encode() + b"\n")
            self.records[key] = _sharing(json.loads(line), self._content.values)

    def _append(self, data: bytes) -> None:
        file = self._file or self._open()
        try:
            written = file.write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        if written != len(data):
            file.truncate(self._content.whole)
            reason = f"{written} of {len(data)} bytes of a record could be written; is the disk full?"
            raise OSError(errno.ENOSPC, reason, str(self.path))
        self._content.lines.add(data)
        self._content.whole += len(data)
        self._content.length = self._content.whole

    def done(self, key: str) -> bool:
        """Whether the key has a record that is not a failure; the next start tries failures again."""
        record = self.records.get(key)
        return record is not None and record.get("failure") is None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def close(self) -> None:
        """Close the file. All added records are already in it."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> BinaryIO:
        """The file, without a torn last line."""
        self._file = file = self.path.open("ab", buffering=0)  # type: ignore[assignment]
        assert file is not None
        length = file.seek(0, 2)
        if length != self._content.length:
            file.close()
            self._file = None
            raise RunFailed(
                f"{self.path}: another process is writing to it: {self._content.length:,} bytes were read and there are "
                f"{length:,} now; wait for that process to end and start again"
            )
        file.truncate(self._content.whole)
        self._content.length = self._content.whole
        return file


class LinesHash:
    """The hash of the lines of a journal, and a mark of each of them, by which a changed line is found."""

    def __init__(self, noted_size: int | None = None) -> None:
        """Begin with no lines; `noted_size` is the size at which `noted` becomes the hash of the lines before it."""
        self.size = 0
        self.noted: str | None = None
        self._noted_size = noted_size
        self._digest, self._marks = hashlib.sha256(), bytearray()

    def add(self, line: bytes) -> None:
        self.size += len(line)
        self._digest.update(line)
        self._marks += (zlib.crc32(line) & 0xFFFF).to_bytes(_MARK, "big")
        if self.size == self._noted_size:
            self.noted = self.sha256

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def lines(self) -> str:
        """The marks of all lines, for a file."""
        return base64.b64encode(self._marks).decode()

    def first_change(self, noted: str) -> int:
        """The number, from 1, of the first line whose mark is not the noted one."""
        before = base64.b64decode(noted)
        pairs = range(0, min(len(before), len(self._marks)), _MARK)
        at = next((i for i in pairs if before[i : i + _MARK] != self._marks[i : i + _MARK]), len(pairs) * _MARK)
        return at // _MARK + 1


@dataclass(slots=True)
class _Content:
    """What is known of a file."""

    records: dict[str, Record]
    whole: int  # the bytes of its whole lines
    length: int  # the bytes of the file
    lines: LinesHash
    values: dict[str | bytes, Any] = field(default_factory=dict)  # those that records share
    computed: dict[Any, tuple[int, Any]] = field(default_factory=dict)  # from the records, with `whole` at that time


_kept: dict[Path, dict[str, _Content]] = {}
"""The journals that were read, by the folders that this process has to itself."""


@contextmanager
def kept_journals(folder: Path) -> Iterator[None]:
    """Read each journal of a folder once: it is kept, and follows what is added. Nobody else may write there meanwhile."""
    place = folder.resolve()
    _kept[place] = {}
    try:
        yield
    finally:
        del _kept[place]


def lines_of(path: Path, noted_size: int | None = None) -> LinesHash:
    """The hash of the lines of a journal in a folder of `kept_journals`; on the way the hash at `noted_size` is noted."""
    return _content(path, None, noted_size).lines


def _content(path: Path, kind: type[Struct] | None, noted_size: int | None = None) -> _Content:
    kept = _kept.get(path.parent.resolve()) if _kept else None
    if kept is None:
        return _read(path, kind, noted_size)
    content = kept.get(path.name)
    if content is None or content.length != (path.stat().st_size if path.is_file() else 0):  # it may have been removed
        content = kept[path.name] = _read(path, kind, noted_size)
    return content


def _read(path: Path, kind: type[Struct] | None, noted_size: int | None) -> _Content:
    kind = kind or JOURNALS.get(path.name, ANY_RECORD)
    content = _Content({}, 0, 0, LinesHash(noted_size))
    try:
        with path.open("rb") as file, _no_collection():
            for number, line in enumerate(file, 1):
                content.length += len(line)
                if not line.endswith(b"\n"):
                    break  # it is being written, or its writer was killed
                content.lines.add(line)
                record = _sharing(_record(path, number, line, kind), content.values)
                content.records[record["key"]] = record
                content.whole = content.length
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BadInput(f"{path}: expected a file of JSON lines that can be read ({error.strerror})") from None
    return content


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector of cycles from going through all records again and again: there are no cycles in them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


_ONE_OF_FEW = ("id", "judge", "prompt_hash", "reason", "kind", "ended", "served")
_LISTS = ("items", "scores", "order")
_LONGEST = 80  # characters


def _sharing(record: Record, values: dict[str | bytes, Any]) -> Record:
    """Make a record share the values that many have in common: short texts, and the lists of verdicts."""
    for name in _ONE_OF_FEW:
        value = record.get(name)
        if type(value) is str and len(value) <= _LONGEST:
            record[name] = values.setdefault(value, value)
    for name in _LISTS:
        if type(value := record.get(name)) is list:
            record[name] = values.setdefault(_encoded(value), value)  # 1 is not 1.0 in JSON
    return record


_encoded = msgspec.json.Encoder().encode
_decoded = msgspec.json.Decoder().decode


def _record(path: Path, number: int, line: bytes, kind: type[Struct]) -> Record:
    """Parse a line; `BadInput` if it is not a JSON object with a key, or is not of this kind."""
    try:  # the usual case, without a message
        record = _decoded(line)
        convert(record, kind)
        return record  # type: ignore[no-any-return]
    except (ValueError, RecursionError):  # msgspec takes no half of a surrogate pair, and nothing that is not finite
        pass
    where = f"{path}, line {number}"
    try:
        record = parse_json(line)
    except ValueError as error:
        raise BadInput(f"{where}: expected a JSON object with a key ({error})") from None
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        raise BadInput(
            f"{where}: expected a JSON object with a key, found {line[:-1][:60].decode('utf-8', 'replace')!r}"
        )
    typed(where, record, kind)
    return record
