"""What a language model gets at each level of a book with nothing, with retrieved paragraphs, and with the evidence alone.

    python benchmarks/levels_model.py --model hf:smollm2
    python benchmarks/levels_model.py --model hf:Qwen/Qwen3-8B --dtype bfloat16 --book long --limit 200
    python benchmarks/levels_model.py --quick

Every run is one of `epbench eval tulving`, with the judge `minilm` for a real model and `lexical` for the built-in reader
(--quick). The memory `oracle` shows the paragraphs of the evidence, from level 2 on; of a book of level 1, the chapters that
answer the question. Printed is the simple recall score, the mean of F1 over the bins; a model whose answers do not end within
512 tokens has failed these, and its score is a range. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

MEMORIES = ("none", "rag-paragraph", "oracle")
LEVELS = range(1, 6)


def run(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "epbench", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def recall(folder: Path) -> tuple[float, float]:
    """The lowest and the highest simple recall score of a run; they differ if answers failed, as those that never end do."""
    scores = json.loads((folder / "scores.json").read_text("utf-8"))
    score = scores["simple_recall_score"]
    low, high = (score, score) if score is not None else scores["incomplete"]["simple_recall_score"]
    return low, high


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
        found = {memory: [recall(out / "runs" / memory / book.name) for book in books] for memory in MEMORIES}
    console = Console()
    where = (
        f"Python {platform.python_version()} on {platform.machine()}, {args.book} book of the universe {args.universe}"
    )
    console.print(f"{where}, seed 0, {model}, judge {judge}, at most {limit} questions a level")
    table = Table("simple recall at level", *map(str, LEVELS))
    for memory, scores in found.items():
        table.add_row(memory, *(f"{low:.3f}" if low == high else f"{low:.3f}–{high:.3f}" for low, high in scores))
    console.print(table)
    print(json.dumps({"book": args.book, "model": model, "judge": judge, "questions": limit, "simple_recall": found}))


if __name__ == "__main__":
    main()
