"""Measure on a CUDA device, in at most ten minutes, what nothing but such a device can tell.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --only device shared-1b --minutes 3 --out shared.json
    python benchmarks/gpu.py --small --only device labels --out small.json
    python benchmarks/gpu.py --table small.json

Sections, in the order in which they are measured:

    device     name, memory, driver and versions; the speed of a matrix product and of a copy
    shared-8b  8 billion parameters: a book of 8,192 tokens, then one of 100,000, each read once for 50 questions of 16 new
               tokens; beside it the same prompts one by one through `generate`, and a limit: the book read once by the bare
               model, and as many questions and answers by the bare model as if there were no book
    shared-1b  the same with 1.2 billion
    finetune   1.2 billion parameters trained by the trainer and by a bare loop: tokens a second, the part of the device's peak
               that they use (MFU), and peak memory beside the estimate
    labels     probabilities of A and B for 128 pairs behind 32 excerpts, with 1, 8, 32 and 128 questions at a time
    vllm       the share of repeated prompt tokens that vLLM's cache gives back, if vLLM is installed

It needs a checkout, torch, transformers (tried with 5.19 and 5.24) and accelerate, and no network: the models are Llamas in
bfloat16 with random weights, made on the device. What such weights say means nothing, so that agreement of both ways of reading
is a matter of numbers alone: the divergence (KL, in nats) of the first new token, beside that from a prompt without the book. The
scores of attention are scaled to a standard deviation of 1.5, so that tokens are told apart and the book matters.

Each section runs in a process of its own. The JSON file is written anew after every number, and its tables are printed in
Markdown at the end; below them is what was not measured, with the reason, such as a lack of time or memory. Only a few questions
are asked one by one; a ratio compares times per question. `--small` measures toy sizes on any device.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NEEDED = ("torch", "transformers", "accelerate")
SECONDS = {"device": 30, "shared-8b": 180, "shared-1b": 90, "finetune": 120, "labels": 100, "vllm": 120}
"""How long each section may take of ten minutes, if so much is left: about twice what it should take on an H100.

The longest is one reading of 100,000 tokens by 8 billion parameters: 1.4 · 10^15 operations for the weights and 2.6 · 10^15 for
attention, so some 10 s at 400 TFLOP/s. It is done four times: shared, bare, and twice for one prompt alone.
"""
LEAST = 20  # seconds under which no section is started
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    models: Mapping[str, Mapping[str, Any]]  # by name, what a LlamaConfig is made of
    books: tuple[int, ...] = (8192, 100_000)  # tokens
    alone: tuple[int, ...] = (4, 2)  # questions behind each book that are asked one by one
    questions: int = 50
    new: int = 16  # tokens of an answer
    excerpts: int = 32
    excerpt: int = 1300  # tokens of 1,000 words
    pair: int = 130  # tokens of two segments with a question
    together: tuple[int, ...] = (1, 8, 32, 128)  # questions about pairs at a time
    product: int = 8192  # rows and columns of the matrices that are multiplied


_LLAMA = {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128_256,
    "max_position_embeddings": 131_072,
}
_1B = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True}
_8B = {"hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32, "tie_word_embeddings": False}
LARGE = Sizes({"1b": _LLAMA | _1B, "8b": _LLAMA | _8B})
_TOY = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2}
_TOY |= {"vocab_size": 600, "max_position_embeddings": 4096, "initializer_range": 0.1, "num_hidden_layers": 2}
SMALL = Sizes({"1b": _TOY, "8b": _TOY | {"num_hidden_layers": 3}}, (400, 1000), (2, 2), 6, 8, 3, 60, 20, (1, 12), 256)

Column = tuple[str, str, str]  # key, heading, format
COLUMNS: Mapping[str, Sequence[Column]] = {
    "shared": (
        ("reading_seconds", "book read once, s", ".3g"),
        ("answers_seconds", "answers behind it, s", ".3g"),
        ("seconds_per_question", "s per question", ".3g"),
        ("alone_seconds_per_question", "alone, s per question", ".3g"),
        ("alone_questions", "asked alone", ""),
        ("ratio", "ratio", ".3g"),
        ("of_limit", "over the limit", ".3g"),
        ("label_seconds", "labels behind it, s", ".3g"),
        ("answers_identical", "answers identical", ""),
        ("first_tokens_equal", "first tokens equal", ""),
        ("kl", "largest KL", ".1e"),
        ("kl_without_book", "KL without the book", ".1e"),
        ("peak_gb", "peak GB", ".1f"),
        ("strategy", "strategy", ""),
    ),
    "labels": (
        ("pairs_per_second", "pairs per second", ".3g"),
        ("fitted", "fitted in memory", ""),
        ("strategy", "strategy", ""),
    ),
    "vllm": (("hit_rate", "hit rate", ".4f"), ("seconds_per_question", "s per question", ".3g"), ("vllm", "vLLM", "")),
    "finetune": (
        ("tokens_per_second", "tokens per second", ",.0f"),
        ("mfu", "MFU", ".1%"),
        ("mfu_causal", "MFU, half of attention", ".1%"),
        ("peak_gb", "peak GB", ".1f"),
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECONDS, metavar="SECTION", help="the sections to measure (all)")
    parser.add_argument("--minutes", type=float, default=10, help="how long all of it may take (10)")
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), metavar="FILE", help="the JSON file (gpu.json)")
    parser.add_argument("--small", action="store_true", help="toy sizes, on any device")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="print the tables of a JSON file, and measure nothing"
    )
    args = parser.parse_args(arguments)
    if args.table:
        print(table(json.loads(args.table.read_text("utf-8"))))
        return
    end = time.time() + 60 * args.minutes
    refuse_what_is_missing(args.small)
    result: dict[str, Any] = {"small": args.small, "sections": {}, "not_measured": {}, "seconds": {}, "log": {}}
    for name in [section for section in SECONDS if section in (args.only or SECONDS)]:
        left = end - time.time()
        if left < LEAST:
            result["not_measured"][name] = f"{max(0, left):.0f} s were left of --minutes {args.minutes:g}"
        else:
            measure(name, min(left, SECONDS[name] * max(1, args.minutes / 10)), result, args)
        write(args.out, result)
    print(table(result))


def refuse_what_is_missing(small: bool) -> None:
    """End with one clear line if nothing can be measured here."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"gpu.py needs {' and '.join(missing)}: {sys.executable} -m pip install {' '.join(missing)}")
    if not small:
        import torch

        if not torch.cuda.is_available():
            sys.exit("gpu.py: torch finds no CUDA device; --small measures toy sizes on any device")


def measure(name: str, seconds: float, result: dict[str, Any], args: argparse.Namespace) -> None:
    """Run a section in a process of its own, and write its numbers as they come; it is killed when its time is up."""
    print(f"{name}: at most {seconds:.0f} s", file=sys.stderr, flush=True)
    started, missing = time.time(), result["not_measured"]
    environment = OFFLINE | {"CUDA_VISIBLE_DEVICES": "0"} | os.environ
    if name != "vllm":  # which has an allocator of its own
        environment = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} | environment
    with tempfile.TemporaryDirectory() as scratch, (Path(scratch) / "log").open("w+", encoding="utf-8") as log:
        records = Path(scratch) / "records"
        command = [sys.executable, str(HERE / "gpu_sections.py"), name, "--records", str(records)]
        command += ["--seconds", str(seconds), *(["--small"] if args.small else [])]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            while process.poll() is None and time.time() < started + seconds:
                time.sleep(0.2)
                rows, before = rows_in(records), result["sections"].get(name, {})
                if rows != before:
                    print(
                        *(f"  {row}\n" for row in rows if row not in before),
                        sep="",
                        end="",
                        file=sys.stderr,
                        flush=True,
                    )
                    result["sections"][name] = rows
                    write(args.out, result)
        finally:
            late = process.poll() is None
            with suppress(ProcessLookupError):  # with all that it has started
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        result["sections"][name] = rows = rows_in(records)
        log.seek(0)
        result["log"][name] = said = log.read().strip().splitlines()[-40:]
    result["seconds"][name] = round(time.time() - started, 1)
    missing |= {f"{name}, {row}": values["failed"] for row, values in rows.items() if "failed" in values}
    if late:
        missing[name] = f"what is not in the table: stopped after {seconds:.0f} s"
    elif code:
        missing[name] = f"its process ended with code {code}: {' '.join(said[-1:])[:300]}"


def rows_in(records: Path) -> dict[str, dict[str, Any]]:
    """What a section has written so far; it may be within a line."""
    rows: dict[str, dict[str, Any]] = {}
    for line in records.read_text("utf-8").splitlines(keepends=True) if records.is_file() else ():
        if line.endswith("\n"):
            row, values = json.loads(line)
            rows.setdefault(row, {}).update(values)
    return rows


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Replace the file in one step, so that a kill leaves the last one whole."""
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(path)


def table(result: Mapping[str, Any]) -> str:
    """What was measured and what was not, in Markdown."""
    sections = result["sections"]
    facts = {
        name: value for row in ("facts", "speed") for name, value in sections.get("device", {}).get(row, {}).items()
    }
    lines = [", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if name != "failed")]
    if result["small"]:
        lines += ["", "Toy sizes: these numbers say only that everything runs."]
    for kind, columns in COLUMNS.items():
        rows = [
            (name, values)
            for section, found in sections.items()
            for name, values in found.items()
            if section.startswith(kind) and any(key in values for key, _, _ in columns)
        ]
        used = [column for column in columns if any(values.get(column[0]) is not None for _, values in rows)]
        if rows:
            cells = [[kind, *(heading for _, heading, _ in used)], ["---"] * (1 + len(used))]
            cells += [[name, *(shown(values.get(key), form) for key, _, form in used)] for name, values in rows]
            lines += ["", *("| " + " | ".join(row) + " |" for row in cells)]
    lines += ["", *(f"Not measured: {what}: {reason}." for what, reason in result["not_measured"].items())]
    return "\n".join(lines).strip()


def shown(value: Any, form: str) -> str:
    """A value as the table shows it; nothing where there is none."""
    return "" if value is None else format(value, form) if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped as well
    main()
