"""What a real model makes of all three benchmarks: the runs, and the tables of them that stand in docs/results.md.

    python benchmarks/results.py --model qwen2.5-coder-1.5b --dtype bfloat16 --out runs/results
    python benchmarks/results.py --model qwen2.5-coder-1.5b --dtype bfloat16 --out runs/results --only levels --hours 2
    python benchmarks/results.py --model smollm2 --dtype bfloat16 --out runs/results
    python benchmarks/results.py --out runs/results --table

Builds the datasets once (two template books for Book-SORT, MemFail from templates, the short book of levels 1 to 5), and makes
the runs of `RUNS` one after the other, each by `epbench eval`. Every answer is kept, so that a start after a stop goes on where
it was; --hours stops asking after that time. A run that is refused, such as one whose prompts exceed the model's window, is
named. --table makes no run, and prints in Markdown what is finished in OUT, for all models. Intervals are at 95 %. Tulving's
judge is minilm, and MemFail's follows rules.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LEVELS = range(2, 6)
SORT = ("eval", "booksort", "--dataset", "template/booksort", "--both-orders")
SHORT = ("--limit", "96", "--max-tokens", "512", "--judge", "minilm")
MEMFAIL = ("eval", "memfail", "--dataset", "memfail", "--config", "all", "--limit", "100", "--system")
RUNS: dict[str, tuple[str, ...]] = {
    "sort/none": (*SORT, "--memory", "none"),
    "sort/in-context, 250 words": (*SORT, "--memory", "in-context"),
    "short/none": ("eval", "tulving", "--dataset", "short", "--memory", "none", *SHORT),
    "short/oracle": ("eval", "tulving", "--dataset", "short", "--memory", "oracle", *SHORT),
    "short/in-context": ("eval", "tulving", "--dataset", "short", "--memory", "in-context", *SHORT),
    **{f"levels/oracle, {n}": ("eval", "tulving", "--dataset", f"short-l{n}", "--memory", "oracle", *SHORT) for n in LEVELS},
    "memfail/oracle": (*MEMFAIL, "oracle"),
    "memfail/verbatim-bm25": (*MEMFAIL, "verbatim-bm25"),
    "sort/rag": (*SORT, "--memory", "rag"),
    **{
        f"short/{memory}, {retriever.removeprefix('st:')}": (
            "eval", "tulving", "--dataset", "short", "--memory", memory, "--retriever", retriever, *SHORT,
        )
        for memory in ("rag-paragraph", "rag-chapter")
        for retriever in ("bm25", "st:minilm")
    },
    "memfail/verbatim-dense": (*MEMFAIL, "verbatim-dense:minilm"),
    "sort/in-context, 1,000 words": (*SORT, "--memory", "in-context", "--config", "e1000_s20"),
    **{
        f"levels/in-context, {n}": ("eval", "tulving", "--dataset", f"short-l{n}", "--memory", "in-context", *SHORT)
        for n in LEVELS
    },
}  # fmt: skip
"""By group and name, the words of each run, in the order in which they are made."""

CONFIGS = ("coexisting_facts", "conditional_facts_easy", "conditional_facts_hard", "long_hop", "persona_retrieval")
BINS = ("0", "1", "2", "3-5", "6+")

Scores = Mapping[str, Any]
Row = Sequence[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="PATH_OR_ID", help="as after hf:")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16 or float16; by the device unless given")
    parser.add_argument("--out", type=Path, required=True, help="folder of datasets and runs")
    parser.add_argument("--only", metavar="GROUP", help="only the runs of sort, short, levels or memfail")
    parser.add_argument("--hours", type=float, help="ask nothing more after so long")
    parser.add_argument("--table", action="store_true", help="print what is finished, and make no run")
    args = parser.parse_args()
    if args.table:
        print("\n\n".join(filter(None, tables(args.out))))
        return
    if args.model is None:
        parser.error("the following arguments are required: --model, or --table")
    data, begin, refused = args.out / "data", time.monotonic(), False
    build(data)
    for name, words in RUNS.items():
        left = None if args.hours is None else args.hours * 3600 - (time.monotonic() - begin)
        if (args.only and not name.startswith(f"{args.only}/")) or (left is not None and left <= 0):
            continue
        placed = [str(data / word) if before == "--dataset" else word for before, word in zip(("", *words), words)]  # noqa: B905
        more = ["--model", f"hf:{args.model}", "--dtype", args.dtype, "--out", str(folder(args.out, args.model, name))]
        print(f"{time.strftime('%H:%M')} {name}", flush=True)
        refused |= epbench(*placed, *more, *(() if left is None else ("--max-time", f"{left:.0f}s")))
    sys.exit(int(refused))


def build(data: Path) -> None:
    """Build the datasets that are not there yet."""
    sort = ("--template-books", "2", "--excerpt-words", "250", "1000", "--segment-words", "20", "--excerpts", "50")
    if not (data / "template").exists():
        epbench("build", "booksort", *sort, "--out", str(data / "template"))
    if not (data / "memfail").exists():
        epbench("build", "memfail", "--out", str(data))
    for level in (1, *LEVELS):
        if not (data / (f"short-l{level}" if level > 1 else "short")).exists():
            epbench("build", "tulving", "--book", "short", "--level", str(level), "--out", str(data))


def epbench(*words: str) -> bool:
    """Run a command, and return whether it was refused."""
    done = subprocess.run([sys.executable, "-m", "epbench", *words], stdout=subprocess.DEVNULL, check=False)
    if done.returncode < 0 or done.returncode > 128:  # killed or interrupted
        sys.exit(1)
    return done.returncode not in (0, 3)  # 3: the time is over


def folder(out: Path, model: str, name: str) -> Path:
    """The folder of a run, named without white space and commas."""
    return out / Path(model).name / name.replace(", ", "-").replace(" ", "-").replace(",", "")


def finished(out: Path, group: str) -> Iterator[tuple[str, str, Path]]:
    """Model, name and folder of each run of a group that has scores, the models beside one another."""
    models = sorted(path.name for path in out.iterdir() if path.is_dir() and path.name != "data")
    for name in RUNS:
        for model in models:
            where = folder(out, model, name)
            if name.startswith(f"{group}/") and any(where.rglob("scores.json")):
                yield model, name.partition("/")[2], where


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def tables(out: Path) -> Iterator[str]:
    """The tables, each with the line of its heads."""
    sort = [[name, model, *sort_cells(read(where / "scores.json"))] for model, name, where in finished(out, "sort")]
    yield table(
        ["Book-SORT", "model", "pairs", "accuracy", "AUC of one order", "accuracy by pair", "label mass", "answers A"],
        sort,
    )
    short = [[name, model, *short_cells(read(where / "scores.json"))] for model, name, where in finished(out, "short")]
    yield table(
        ["Tulving, short book", "model", *(f"F1, {bin_}" for bin_ in BINS[:4]), "simple recall", "latest state"], short
    )
    levels = [
        [*name.split(", "), model, *level_cells(read(where / "scores.json"))]
        for model, name, where in finished(out, "levels")
    ]
    yield table(["Tulving, levels", "level", "model", "simple recall", "F1 by links: 0", "1", "2", "3"], levels)
    memfail = [
        [name, model, *(memfail_cell(where / config / "scores.json") for config in CONFIGS)]
        for model, name, where in finished(out, "memfail")
    ]
    yield table(["MemFail", "model", *(config.replace("_", " ") for config in CONFIGS)], memfail)


def sort_cells(scores: Scores) -> Row:
    orders = scores.get("both_orders") or {}
    return [
        f"{orders.get('n_pairs', scores['n_questions']):,}",
        with_interval(scores, "accuracy"),
        with_interval(scores, "auc"),
        number(orders.get("pair_accuracy")),
        number(scores["label_mass"]),
        f"{100 * scores['share_a']:.0f} %",
    ]


def short_cells(scores: Scores) -> Row:
    bins = [bounds(scores, f"f1_by_bin.{bin_}", scores["f1_by_bin"].get(bin_)) for bin_ in BINS[:4]]
    return [*bins, with_interval(scores, "simple_recall_score"), bounds(scores, "latest", scores["latest"])]


def level_cells(scores: Scores) -> Row:
    links = scores.get("f1_by_links", {})
    return [with_interval(scores, "simple_recall_score"), *(number(links.get(str(n))) for n in range(4))]


def memfail_cell(path: Path) -> str:
    if not path.exists():
        return "–"
    (scores,) = read(path)["by_k"].values()
    return with_interval(scores, "success_rate")


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def bounds(scores: Scores, name: str, value: float | None) -> str:
    """A score, or its lowest and highest value where answers are missing."""
    low_high = scores.get("incomplete", {}).get(name)
    return f"{low_high[0]:.2f}–{low_high[1]:.2f}*" if low_high else number(value)


def with_interval(scores: Scores, name: str) -> str:
    interval = scores["intervals"].get(name)
    text = bounds(scores, name, scores.get(name))
    return f"{text} ({interval[0]:.2f}–{interval[1]:.2f})" if interval and "*" not in text else text


def table(head: Sequence[str], rows: Sequence[Row]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else ""


if __name__ == "__main__":
    main()
