"""Examples of following instructions, mixed in so that a model does not forget how that is done (Appendix F).

They are the rows of files that others publish, here or on the Hub, and have nothing to do with a benchmark. Those that are
held out are never trained: what a model makes of them after each epoch shows how much it has forgotten.
"""

from __future__ import annotations

import codecs
import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from epbench.draws import RandomStream
from epbench.errors import BadInput, reason_of
from epbench.files.json_files import json_objects
from epbench.files.text import shown, whole
from epbench.files.typed import fields, typed
from epbench.finetuning.packing import Sample
from epbench.finetuning.tokens import Learn, Message, SampleTokens
from epbench.hub.rows import Row, bounded_rows, parquet_errors
from epbench.journals.answers import fingerprint_of
from epbench.progress import Progress, no_progress

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


class Example(NamedTuple):
    """A row: its category, which may be empty, and its conversation up to the last answer, empty if there is none."""

    category: str
    messages: list[Message]


def find_source(source: str) -> tuple[list[Path], str]:
    """Find the files with the rows of a source, and its revision on the Hub, which is empty for what lies here.

    That is a file of JSON Lines, Parquet, or JSON with one array; a folder with such files; or the name of a dataset on
    the Hub. Of a folder or dataset, all Parquet files are taken, or else all of JSON Lines, or else of JSON; if some have a path
    with a part that begins with "train", only these. BadInput if neither this machine nor the Hub has such files.
    """
    path, revision = Path(source).expanduser(), ""
    if not path.is_dir() and path.suffix.lower() in SUFFIXES:
        return [path], ""
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
            return train or files, revision
    raise BadInput(f"{source}: expected files of examples (*{', *'.join(SUFFIXES)}), found none")


def examples_of(files: Sequence[Path], progress: Progress) -> Iterator[Example]:
    """Yield the rows of files one by one; only a few megabytes are held at a time.

    A row has `conversations` with turns of `from` (system, human or gpt) and `value`, as in OpenHermes-2.5, or `messages` with
    turns of `role` (system, user or assistant) and `content`. It may have a `category`, and a `system_prompt`, which counts
    if the conversation has no system message. What follows the last answer is left out. BadInput if a file cannot be read,
    or a row is not as said.
    """
    for path in files:
        rows = _parquet_rows if path.suffix.lower() == ".parquet" else _json_rows
        for number, row in enumerate(rows(path, progress)):
            yield _example(f"{path}, row {number}", row)


def _example(where: str, row: Row) -> Example:
    name = next((name for name in _FIELDS if row.get(name) is not None), None)
    if name is None:
        names = ", ".join(map(shown, list(row)[:9])) or "nothing"
        raise BadInput(f"{where}: expected the field 'conversations' or 'messages', found {names}")
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
        raise BadInput(
            f"instructions {name!r}: neither a file nor a folder, and not to be had from the Hub or its cache "
            f"({reason_of(error)}); name a file or folder of such examples, or train without them"
        ) from error


_WORDS = """
    anchor barley candle dune ember feather garden harbour island jacket kettle lantern meadow needle orchard
    pebble quarry ribbon saddle thistle umbrella valley willow yarn
""".split()


def toy_instructions(n: int, seed: int) -> list[list[Mapping[str, str]]]:
    """Return n different conversations: tasks with words and numbers, and their right answers; more begin with the same ones."""
    draw = RandomStream("toy instructions", seed)
    conversations: dict[str, list[Mapping[str, str]]] = {}
    while len(conversations) < n:
        messages: list[Mapping[str, str]] = []
        if draw.index(3) == 0:
            messages.append({"role": "system", "content": "You are a helpful assistant."})
        for _ in range(1 + (draw.index(3) == 0)):
            task, answer = _task(draw)
            messages += [{"role": "user", "content": task}, {"role": "assistant", "content": answer}]
        conversations.setdefault(str(messages), messages)
    return list(conversations.values())


def _task(draw: RandomStream) -> tuple[str, str]:
    """A task and its answer."""
    kind = draw.index(5)
    if kind == 1:
        word = draw.pick(_WORDS) + draw.pick(_WORDS)
        return f"How many letters does {word} have?", str(len(word))
    if kind == 3:
        first, second = draw.between(10, 999), draw.between(10, 999)
        return f"What is {first} plus {second}?", str(first + second)
    words = draw.sample(_WORDS, 3 + kind // 2)
    if kind == 0:
        return f"Repeat these words: {' '.join(words)}", " ".join(words)
    if kind == 2:
        return f"Sort these words from A to Z: {', '.join(words)}", ", ".join(sorted(words))
    return f"Which is the last of these words: {', '.join(words)}?", words[-1]


LEFT_OUT = ("experience", "stylized response", "joke", "trivia", "roleplay", "riddle", "greeting")
"""The categories of OpenHermes-2.5 that are left out, as in the paper."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """Examples of following instructions."""

    samples: Sequence[Sample]  # those to train on
    held_out: Sequence[Sample]  # those that are never trained
    facts: dict[str, Any]  # where they come from and what was left out, for the record of a run


def load_instructions(
    source: str | None,
    n: int = 3500,
    *,
    seed: int,
    tokens: SampleTokens,
    learn: Learn,
    n_held_out: int,
    progress: Progress = no_progress,
) -> Instructions:
    """Choose `n` examples of a source to train on, and others to hold out; see `find_source` and `examples_of`.

    Without a source, as many as are needed are made by rules (`toy_instructions`), for runs that download nothing.

    Rows of the categories in `LEFT_OUT` (in any case, with `_` as a blank), repeated ones and those without an answer are left
    out. The others are taken in ascending order of the SHA-256 of the JSON text of `[seed, messages]`, so the choice depends
    neither on their order nor on the machine. A row is passed over if it has more than `tokens.max_length` tokens, or
    `tokens` cannot write it. The first n that remain are trained, and the next ones are held out.

    The facts count what was left out in the whole source (`categories_left_out`, `without_answer`, `repeated`), and what
    was passed over before enough were found (`too_long`, `not_written`). BadInput if the source cannot be had or read, a
    row is not an example, or there are fewer than `n + n_held_out`.
    """
    wanted = n + n_held_out
    held = 2 * wanted  # only some more than are wanted; the source is read again if too many are passed over
    made, files, revision = list[Example](), list[Path](), ""
    if source is None:
        made, progress = [Example("", messages) for messages in toy_instructions(wanted, seed)], no_progress
        source = "made by rules"
    else:
        files, revision = find_source(source)
    facts: dict[str, Any] = {"source": source} | ({"revision": revision} if revision else {})
    while True:
        counts = _Counts()
        examples = _numbered(made or examples_of(files, progress), seed, counts)
        first = heapq.nsmallest(held, examples, key=itemgetter(0))
        samples = _samples(first, wanted, tokens, learn, counts, progress)
        if len(samples) == wanted:
            break
        if len(first) < held:
            counted = ", ".join(f"{name} {value}" for name, value in counts.facts().items())
            why = f"; {counts.reason}" if counts.reason else ""
            if counts.too_long:
                why = f"; an example may have {tokens.max_length:,} tokens{why}"
            raise BadInput(
                f"instructions {source!r}: expected {n:,} examples and {n_held_out:,} to hold out, found "
                f"{len(samples):,} in all ({counted}{why})"
            )
        held *= 4
    facts |= {"n": n, "held_out": n_held_out, "seed": seed} | counts.facts()
    facts["fingerprint"] = fingerprint_of([sample.id for sample in samples])
    return Instructions(samples[:n], samples[n:], facts)


@dataclass
class _Counts:
    """What was found in a source and left out."""

    rows: int = 0
    categories_left_out: Counter[str] = field(default_factory=Counter)
    without_answer: int = 0
    repeated: int = 0
    too_long: int = 0
    not_written: int = 0
    reason: str = ""

    def facts(self) -> dict[str, Any]:
        counts = {name: value for name, value in vars(self).items() if name != "reason"}
        return counts | {"categories_left_out": dict(sorted(self.categories_left_out.items()))}


def _numbered(examples: Iterable[Example], seed: int, counts: _Counts) -> Iterator[tuple[bytes, list[Message]]]:
    """Yield each conversation that counts, once, with its number."""
    seen: set[bytes] = set()
    for category, messages in examples:
        counts.rows += 1
        if category and (plain := " ".join(category.casefold().replace("_", " ").split())) in LEFT_OUT:
            counts.categories_left_out[plain] += 1
        elif not messages:
            counts.without_answer += 1
        elif (number := hashlib.sha256(json.dumps([seed, messages]).encode()).digest()) in seen:
            counts.repeated += 1
        else:
            seen.add(number)
            yield number, messages


def _samples(
    numbered: Sequence[tuple[bytes, list[Message]]],
    wanted: int,
    tokens: SampleTokens,
    learn: Learn,
    counts: _Counts,
    progress: Progress,
) -> list[Sample]:
    """Return the first samples that can be had."""
    samples: list[Sample] = []
    for number, messages in progress(numbered, "instructions", len(numbered)):
        if len(samples) == wanted:
            break
        try:
            sample = tokens.dialogue(f"instruction/{number.hex()[:16]}", messages, learn)
        except BadInput as error:
            counts.not_written += 1
            counts.reason = counts.reason or str(error)
            continue
        if tokens.max_length is not None and len(sample.ids) > tokens.max_length:
            counts.too_long += 1
        else:
            samples.append(sample)
    return samples
