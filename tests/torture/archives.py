"""Damaged and hostile archives in the published layout, generated from a seed, and the results of scoring them."""

from __future__ import annotations

import io
import json
import math
import shutil
import struct
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from epbench.errors import BadInput
from epbench.progress import no_progress
from epbench.tulving.dataset.schema import configs_of
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.books import read_book
from epbench.tulving.released.runs import score_published_runs

OURS = Path(__file__).parents[1] / "data" / "ours_n20.zip"
Entries = dict[str, bytes]

N_QUESTIONS = 16  # of the mutated run; few, so that a mutation takes only a fraction of a second
DEEP = 100_000  # levels of nesting
_JUST_DEEP = 480  # levels that the parser accepts, but that may be too many for a recursive function
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 10**30, 10**400, 1.5, -0.0, math.nan, math.inf, "", " ", "x", "\ud83d", "a\0b",
    "\u2028", "x" * 5000, [], {}, [None], [[]], [1, "x"], ["\udc00"], {"": None}, {"a": {"b": []}},
)  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One way to damage an archive."""

    name: str  # what is damaged, and how
    plant: Callable[[Path], Path]  # writes the damaged archive into an empty folder, and returns its folder or zip file


@dataclass
class Outcome:
    """The result of one mutation: `scored`, `refused` with one clear line, or `traceback`."""

    kind: str
    detail: str = ""
    escaped: list[str] = field(default_factory=list)


def small_archive() -> Entries:
    """Return the test archive with one of its runs and a few questions of each kind of get."""
    with zipfile.ZipFile(OURS) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    table_path = next(path for path in files if path.endswith("df_qa.parquet"))
    table = pq.read_table(io.BytesIO(files[table_path]))
    gets = table.column("get").to_pylist()
    kept = [i for i, get in enumerate(gets) if get != "all"][:6] + list(range(0, len(gets), len(gets) // 10))
    kept = sorted(set(kept))[:N_QUESTIONS]
    runs = sorted({path.split("/raw_answers/")[0] for path in files if "/raw_answers/" in path})
    small = {path: content for path, content in files.items() if "/answers/" not in path}
    small[table_path] = _parquet(table.take(kept))
    for new, old in enumerate(kept):
        for folder in ("raw_answers", "evaluated_answers", "chronological_answers"):
            if (path := f"{runs[0]}/{folder}/{old}.json") in files:
                small[f"{runs[0]}/{folder}/{new}.json"] = files[path]
    return small


def mutations(seed: int, n: int) -> Iterator[Mutation]:
    """Yield n mutations, which are the same for the same seed. The kinds alternate, so 40 mutations cover all of them."""
    files = small_archive()
    for number in range(n):
        draw = Random(f"{seed} {number}")
        kind = _KINDS[number % len(_KINDS)]
        yield kind(files, draw)


def torture_archives(folder: Path, n: int, seed: int) -> dict[str, int]:
    """Read and score n mutated archives, one after another, in a folder from which they and their results are removed.

    Returns the counts of tracebacks (errors other than `BadInput`), escaped (mutations that created or changed a file outside
    the folder of results), refused (those that ended in a `BadInput`, or without any scored run) and scored.
    """
    counts = Counter(mutated=0, tracebacks=0, escaped=0, refused=0, scored=0)
    for number, outcome in enumerate(outcomes(folder, mutations(seed, n))):
        counts["mutated"] = number + 1
        counts["tracebacks" if outcome.kind == "traceback" else outcome.kind] += 1
        counts["escaped"] += bool(outcome.escaped)
    return dict(counts)


def outcomes(folder: Path, planted: Iterable[Mutation]) -> Iterator[Outcome]:
    """Yield the result of each mutation."""
    for number, mutation in enumerate(planted):
        place = folder / f"mutation-{number}"
        (place / "archive").mkdir(parents=True)
        source = mutation.plant(place / "archive")
        before = _listing(place, place / "results" / "out")
        outcome = _outcome(source, place / "results" / "out")
        outcome.escaped = sorted(set(_listing(place, place / "results" / "out")) ^ set(before))
        outcome.detail = f"{mutation.name}: {outcome.detail}"
        yield outcome
        shutil.rmtree(place)


def _outcome(source: Path, out: Path) -> Outcome:
    """Do everything that the scripts do with an archive, in this process."""
    out.mkdir(parents=True)
    try:
        archive = open_archive(source)
        for book in archive.books:
            try:
                for config in configs_of(read_book(archive, book)):
                    _ = config.table
            except BadInput as error:
                _check_line(error)
        found = score_published_runs(archive, out, no_progress)
    except BadInput as error:
        _check_line(error)
        return Outcome("refused", str(error))
    except Exception:
        return Outcome("traceback", traceback.format_exc())
    if found.scores:
        return Outcome("scored")
    return Outcome("refused", "; ".join(found.not_scored.values()))


def _check_line(error: BadInput) -> None:
    """Check that a message is one line of reasonable length, whatever the archive contains."""
    text = str(error)
    assert 0 < len(text) < 3000, f"a message of {len(text):,} characters"
    text.encode("utf-8", "surrogateescape")


def _listing(place: Path, out: Path) -> list[tuple[str, int]]:
    inside = {out, out.parent}
    files = (path for path in sorted(place.rglob("*")) if not path.is_dir() and not inside & {path, *path.parents})
    return [(str(path), path.lstat().st_size) for path in files]


# How an archive is written


def zipped(files: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about duplicate names
        for path, data in files:
            archive.writestr(path, data)
    return content.getvalue()


def _untouched(content: bytearray) -> None:
    """Leave a zip file as it is."""


def as_zip(
    files: Iterable[tuple[str | zipfile.ZipInfo, bytes]], spoil: Callable[[bytearray], None] = _untouched
) -> Callable[[Path], Path]:
    files = list(files)

    def plant(folder: Path) -> Path:
        content = bytearray(zipped(files))
        spoil(content)
        (folder / "archive.zip").write_bytes(content)
        return folder / "archive.zip"

    return plant


def _with_entry(
    files: Entries, chosen: str, content: bytes, spoil: Callable[[bytearray], None] = _untouched, **fields: Any
) -> Callable[[Path], Path]:
    """A zip in which one entry has this content and these fields of `ZipInfo`."""
    entries = {path: zipfile.ZipInfo(path) for path in files}
    for name, value in fields.items():
        setattr(entries[chosen], name, value)
    return as_zip([(entries[path], content if path == chosen else data) for path, data in files.items()], spoil)


def _as_either(files: Entries, draw: Random) -> Callable[[Path], Path]:
    """Write the files as a zip or as a folder, each with probability one half."""
    if draw.random() < 0.5:
        return as_zip(files.items())

    def plant(folder: Path) -> Path:
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return folder

    return plant


def _parquet(table: pa.Table) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _some(files: Entries, draw: Random, ending: str = "") -> str:
    """Return a random file; every kind of file is equally likely."""
    kinds: dict[str, list[str]] = {}
    for path in sorted(files):
        if path.endswith(ending):
            parts = path.split("/")
            kinds.setdefault(parts[-2] if parts[-2].endswith("_answers") else parts[-1], []).append(path)
    return draw.choice(kinds[draw.choice(sorted(kinds))])


# The kinds of mutations


def _flipped_bytes(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw)
    content = bytearray(files[path])
    for _ in range(draw.choice((1, 3, 30))):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return Mutation(f"bytes of {path}", _as_either(files | {path: bytes(content)}, draw))


def _flipped_zip(files: Entries, draw: Random) -> Mutation:
    n = draw.choice((1, 10, 200))

    def spoil(content: bytearray) -> None:
        low = len(content) * 3 // 4 if draw.random() < 0.5 else 0
        for _ in range(n):
            content[draw.randrange(low, len(content))] = draw.randrange(256)

    return Mutation(f"{n} bytes of the zip", as_zip(files.items(), spoil))


def _cut_file(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw)
    return Mutation(f"{path} cut", _as_either(files | {path: files[path][: draw.randrange(len(files[path]))]}, draw))


def _cut_zip(files: Entries, draw: Random) -> Mutation:
    share = draw.choice((0.0, 0.3, 0.9, 0.999))

    def spoil(content: bytearray) -> None:
        del content[int(len(content) * share) :]

    return Mutation(f"zip cut at {share}", as_zip(files.items(), spoil))


def _removed(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw)
    return Mutation(f"{path} removed", _as_either({p: c for p, c in files.items() if p != path}, draw))


def _exchanged(files: Entries, draw: Random) -> Mutation:
    one, other = _some(files, draw), _some(files, draw)
    return Mutation(f"{one} has the content of {other}", _as_either(files | {one: files[other]}, draw))


def _renamed(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw)
    name = draw.choice(("x", path + ".bak", path.upper(), path.replace("seed0", "seed1"), path.replace("answers", "a")))
    return Mutation(f"{path} renamed", _as_either({(name if p == path else p): c for p, c in files.items()}, draw))


def _duplicated(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw)
    return Mutation(f"{path} twice", as_zip([*files.items(), (path, draw.choice((files[path], b"null")))]))


def _named(files: Entries, draw: Random) -> Mutation:
    name = draw.choice((
        "../escaped.json", "a/../../../escaped.json", "/tmp/epbench-escaped.json", "C:/x", "..\\escaped.json", "a\nb",
        "a\x1b[31m", "x" * 300, "\x7f", "a//b", "./a", "/", "a/" * 2000 + "b", "é" * 200, "CON",
    ))  # fmt: skip
    if draw.random() < 0.5:  # as the name of a run
        run = next(path for path in files if "/raw_answers/" in path).split("/raw_answers/")[0]
        where = run.rsplit("/", 1)[0] + "/" + name
        content = [(path.replace(run, where), data) for path, data in files.items()]
    else:
        content = [*files.items(), (name, b"[]")]
    return Mutation(f"an entry named {name[:30]!r}", as_zip(content))


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within a JSON value."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [here, *(place for key, item in inner for place in places(item, (*here, key)))]


def inside(value: Any, place: tuple[Any, ...]) -> Any:
    """Return the object or the list within a JSON value that has the place."""
    return reduce(getitem, place[:-1], value)


def with_value(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    inside(value, place)[place[-1]] = new
    return value


def _json_value(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw, ".json")
    value = json.loads(files[path])
    place = draw.choice(places(value))
    new = draw.choice(_VALUES)
    spoilt = json.dumps(with_value(value, place, new)).encode()
    return Mutation(f"{path} at {place} is {new!r:.30}", _as_either(files | {path: spoilt}, draw))


def _json_field_lost(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw, ".json")
    value = json.loads(files[path])
    place = draw.choice(places(value))
    if place:
        inner = inside(value, place)
        if draw.random() < 0.5:
            del inner[place[-1]]
        elif isinstance(inner, dict):
            inner["renamed"] = inner.pop(place[-1])
        else:
            inner.append(inner[place[-1]])
    return Mutation(f"{path} without {place}", _as_either(files | {path: json.dumps(value).encode()}, draw))


def _json_deep(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw, ".json")
    depth = draw.choice((DEEP, _JUST_DEEP, 900))
    nested = draw.choice(
        ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, '["\\ud83d",' * depth + "1" + "]" * depth)
    )
    value = json.loads(files[path])
    if isinstance(value, dict) and draw.random() < 0.7:
        name = draw.choice(sorted(value))
        text = json.dumps(value | {name: "HERE"}).replace('"HERE"', nested)
    else:
        text = nested
    return Mutation(f"{path} nested {depth} deep", _as_either(files | {path: text.encode()}, draw))


def _json_text(files: Entries, draw: Random) -> Mutation:
    """Replace a JSON file by content that is not JSON in UTF-8, or is extreme."""
    path = _some(files, draw, ".json")
    content = draw.choice((
        b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf" + files[path], files[path].decode().encode("utf-16"), b'"\xed\xa0\xbd"',
        b'"\xe9"', b"NaN", b"-Infinity", b"9" * 5000, b"1e999", b'"' + b"x" * 3_000_000 + b'"', b"\x1f\x8b" + b"x" * 50,
        b"[" + b"0," * 200_000 + b"0]", b'"\\ud83d\\ud83d"', b'{"\\udc00": 1}',
    ))  # fmt: skip
    return Mutation(f"{path} is {content[:12]!r}", _as_either(files | {path: content}, draw))


def _parquet_column(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw, ".parquet")
    table = pq.read_table(io.BytesIO(files[path]))
    at = draw.randrange(table.num_columns)
    name, n = table.column_names[at], table.num_rows
    others: dict[str, Callable[[], Any]] = {
        "nulls": lambda: pa.nulls(n, table.schema.field(at).type),
        "null type": lambda: pa.nulls(n),
        "texts": lambda: pa.array(["x"] * n),
        "large texts": lambda: pa.array(["x"] * n, pa.large_string()),
        "bytes": lambda: pa.array([b"\xff\xfe"] * n),
        "numbers": lambda: pa.array([-(2**62)] * n),
        "fractions": lambda: pa.array([math.nan] * n),
        "truths": lambda: pa.array([True] * n),
        "days": lambda: pa.array([2**31 - 1] * n, pa.date32()),
        "times": lambda: pa.array([2**62] * n, pa.timestamp("us")),
        "lists": lambda: pa.array([[1, None]] * n),
        "lists of texts": lambda: pa.array([["x", "y"]] * n),
        "empty lists": lambda: pa.array([[]] * n, pa.list_(pa.string())),
        "lists of lists": lambda: pa.array([[["x"]]] * n),
        "objects": lambda: pa.array([{"a": 1}] * n),
        "a dictionary": lambda: pa.array(["x"] * n).dictionary_encode(),
        "no texts": lambda: pa.array([b"\xed\xa0\x80"] * n).cast(pa.binary()).view(pa.string()),
    }
    kind = draw.choice(sorted(others))
    spoilt = table.set_column(at, name, others[kind]())
    if draw.random() < 0.3:  # in the last row only
        with suppress(pa.ArrowException, ValueError, TypeError):
            spoilt = pa.concat_tables([table.slice(0, n - 1), spoilt.slice(n - 1)], promote_options="permissive")
    return Mutation(f"{path}, column {name}: {kind}", _as_either(files | {path: _parquet(spoilt)}, draw))


def _parquet_table(files: Entries, draw: Random) -> Mutation:
    path = _some(files, draw, ".parquet")
    table = pq.read_table(io.BytesIO(files[path]))
    at = draw.randrange(table.num_columns)
    name = table.column_names[at]
    others: dict[str, Callable[[], pa.Table]] = {
        "dropped": lambda: table.drop_columns([name]),
        "renamed": lambda: table.rename_columns([c + "x" if c == name else c for c in table.column_names]),
        "twice": lambda: table.append_column(name, table.column(at)),
        "no rows": lambda: table.slice(0, 0),
        "one row": lambda: table.slice(0, 1),
        "no columns": lambda: table.select([]),
        "rows turned round": lambda: table.take(pa.array(range(table.num_rows - 1, -1, -1))),
        "rows twice": lambda: pa.concat_tables([table, table]),
        "more columns": lambda: table.append_column("more", pc.random(table.num_rows)),
        "a name of a name": lambda: table.append_column("a.b", table.column(at)),
    }
    kind = draw.choice(sorted(others))
    return Mutation(f"{path}, column {name} {kind}", _as_either(files | {path: _parquet(others[kind]())}, draw))


# Offset and format of the fields in a record of the list of entries (PK\1\2) and in the end record (PK\5\6).
_LISTED = {"version": (6, "<H"), "flags": (8, "<H"), "method": (10, "<H"), "crc": (16, "<I"), "packed": (20, "<I"),
           "size": (24, "<I"), "name": (28, "<H"), "extra": (30, "<H"), "mode": (38, "<I"), "offset": (42, "<I")}  # fmt: skip
_END = {"disk": (4, "<H"), "entries": (10, "<H"), "list size": (12, "<I"), "list offset": (16, "<I")}
_NUMBERS = {
    "<H": (0, 1, 8, 12, 14, 95, 99, 0x800, 0x801, 0xFFFF),
    "<I": (0, 1, 2**31, 0xA1FF0000, 0xFFFFFFFF, 0xFFFFFFFE),
}


def _header(files: Entries, draw: Random) -> Mutation:
    listed = draw.random() < 0.8
    mark, fields = (b"PK\1\2", _LISTED) if listed else (b"PK\5\6", _END)
    name = draw.choice(sorted(fields))
    offset, form = fields[name]
    number = draw.choice(_NUMBERS[form])

    def spoil(content: bytearray) -> None:
        start = content.find(b"PK\1\2")
        places = [i for i in range(start, len(content) - 3) if content[i : i + 4] == mark]
        for place in places if draw.random() < 0.3 else [draw.choice(places)]:
            struct.pack_into(form, content, place + offset, number)

    return Mutation(f"header field {name} is {number}", as_zip(files.items(), spoil))


def _locked(files: Entries, draw: Random) -> Mutation:
    """Mark every entry in both headers as encrypted, or as compressed by an unknown method."""
    flags, method = draw.choice(((1, 8), (0x41, 8), (0, 99), (0, 97), (0, 12), (0, 14), (0x2001, 8), (0x20, 8)))

    def spoil(content: bytearray) -> None:
        for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            place = content.find(mark)
            while place >= 0:
                struct.pack_into("<HH", content, place + at, flags, method)
                place = content.find(mark, place + 4)

    return Mutation(f"flags {flags:x}, method {method}", as_zip(files.items(), spoil))


def _zip64(files: Entries, draw: Random) -> Mutation:
    """Add a zip64 extra field that is too short, or that gives an impossibly large size."""
    size = draw.choice((2**40, 2**63, 2**64 - 1))
    extra = draw.choice((
        struct.pack("<HHQQ", 1, 16, size, size), struct.pack("<HHI", 1, 4, 7), struct.pack("<HH", 1, 24), b"\1\0\x10",
    ))  # fmt: skip
    chosen = _some(files, draw)

    def spoil(content: bytearray) -> None:
        if draw.random() < 0.7:
            struct.pack_into("<II", content, content.rfind(chosen.encode()) - 26, 0xFFFFFFFF, 0xFFFFFFFF)

    return Mutation(f"zip64 field of {chosen}", _with_entry(files, chosen, files[chosen], spoil, extra=extra))


def _linked(files: Entries, draw: Random) -> Mutation:
    """Put a link or a folder where a file is expected."""
    path, kind = _some(files, draw), draw.choice(("itself", "nothing", "/dev/zero", "a folder", "outside", "above"))

    def plant(folder: Path) -> Path:
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name != path:
                (folder / name).write_bytes(data)
        target = {"itself": folder / path, "nothing": folder / "nothing", "outside": Path(__file__), "above": folder}
        if kind == "a folder":
            (folder / path).mkdir()
        else:
            (folder / path).symlink_to(target.get(kind, kind))
        return folder

    return Mutation(f"{path} is {kind}", plant)


def _linked_entry(files: Entries, draw: Random) -> Mutation:
    """Make an entry of the zip a symbolic link."""
    chosen = _some(files, draw)
    plant = _with_entry(files, chosen, b"../../escaped", external_attr=0o120777 << 16)
    return Mutation(f"{chosen} is a link in the zip", plant)


_KINDS: tuple[Callable[[Entries, Random], Mutation], ...] = (
    _json_value, _json_field_lost, _json_deep, _json_text, _parquet_column, _parquet_table, _flipped_bytes, _flipped_zip,
    _cut_file, _cut_zip, _removed, _exchanged, _renamed, _duplicated, _named, _header, _locked, _zip64, _linked,
    _linked_entry,
)  # fmt: skip
