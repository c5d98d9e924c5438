"""What a language model gets at each level of a book with nothing, with retrieved paragraphs, and with the evidence alone.

    python benchmarks/levels_model.py --model hf:smollm2
    python benchmarks/levels_model.py --model hf:Qwen/Qwen3-8B --dtype bfloat16 --book long --limit 200
    python benchmarks/levels_model.py --quick

Every run is one of `epbench eval tulving`, with the judge `minilm` for a real model and `lexical` for the built-in reader
(--quick). The memory `oracle` shows the paragraphs of the evidence, from level 2 on; of a book of level 1, the chapters that
answer the question. Printed are F1 over the questions that have an answer, and over those that have none, where any item is
wrong. Failed questions make a score a range, and none is shown. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MEMORIES = ("none", "rag-paragraph", "oracle")
LEVELS = range(1, 6)


def run(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "epbench", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def f1(folder: Path) -> dict[str, float | None]:
    """F1 with and without an answer in the reference, from the bins of a run."""
    scores = json.loads((folder / "scores.json").read_text("utf-8"))
    means: dict[str, Any] = scores["f1_by_bin"]
    numbers = {name: n for name, n in scores["n_by_bin"].items() if name != "0"}
    complete = numbers and all(name in means for name in numbers)
    answered = sum(means[name] * n for name, n in numbers.items()) / sum(numbers.values()) if complete else None
    return {"with an answer": answered, "without": means.get("0")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", default="short")
    parser.add_argument("--universe", default="default")
    parser.add_argument("--model", default="hf:smollm2")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--limit", type=int, default=48, help="questions per level and memory (48)")
    parser.add_argument("--quick", action="store_true", help="the built-in reader, 12 questions")
    parser.add_argument("--out", type=Path, help="keep the runs in this folder, and resume what it has")
    args = parser.parse_args()
    model, judge, limit = ("lexical", "lexical", 12) if args.quick else (args.model, "minilm", args.limit)

    from rich.console import Console
    from rich.table import Table

    with tempfile.TemporaryDirectory() as temporary:
        out = args.out or Path(temporary)
        for level in LEVELS:
            run("build", "tulving", "--book", args.book, "--universe", args.universe, "--level", str(level),
                "--out", out / "data")  # fmt: skip
        books = sorted((out / "data").iterdir(), key=lambda folder: (len(folder.name), folder.name))
        for memory in MEMORIES:
            run("eval", "tulving", "--dataset", *books, "--memory", memory, "--model", model, "--judge", judge,
                "--limit", str(limit), "--max-tokens", "512", "--dtype", args.dtype, "--out", out / "runs" / memory)  # fmt: skip
        found = {
            memory: {level: f1(out / "runs" / memory / book.name) for level, book in zip(LEVELS, books, strict=True)}
            for memory in MEMORIES
        }
    console = Console()
    where = f"Python {platform.python_version()} on {platform.machine()}, {args.book} book of the universe {args.universe}"
    console.print(f"{where}, seed 0, {model}, judge {judge}, at most {limit} questions a level")
    table = Table("F1 at level", "questions", *map(str, LEVELS))
    for memory, levels in found.items():
        for kind in ("with an answer", "without"):
            cells = ["–" if (share := levels[level][kind]) is None else f"{share:.3f}" for level in LEVELS]
            table.add_row(memory, kind, *cells)
    console.print(table)
    print(json.dumps({"book": args.book, "model": model, "judge": judge, "questions": limit, "f1": found}))


if __name__ == "__main__":
    main()
