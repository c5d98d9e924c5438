"""Measure every claim on speed, and write the page that shows them: benchmarks/README.md.

    python benchmarks/claims.py
    python benchmarks/claims.py --only questions booksort
    python benchmarks/claims.py --only
    python benchmarks/claims.py --out mine --compare benchmarks/results.json

Runs the benchmarks that the claims name, one after the other, and takes the numbers from the last line that each prints.
The page has each claim with its goal, what was measured, the command and the machine; the numbers also go into
results.json beside it. With --only, claims of other benchmarks keep the numbers of an earlier run; without names it measures
nothing and writes the page anew. With --compare the page has a second column, from the results.json of another machine. A
ratio compares two things in one run on one machine, so that it may be compared with that of another; seconds say only how long
one waits on this one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import gpu
from questions import machine

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Claim:
    """Something that is said of our speed.

    Attributes:
        text: What is measured.
        benchmark: The script that measures it.
        key: Where its number is in the script's JSON, with dots between the names.
        unit: What the number counts.
        goal: The largest number that is good enough, or the smallest if `at_least`; None if there is no goal.
        at_least: Whether more is better.
    """

    text: str
    benchmark: str
    key: str
    unit: str
    goal: float | None = None
    at_least: bool = False

    def found(self, results: Mapping[str, Any]) -> float | None:
        """The number in the results of a machine; None if it was not measured there."""
        value: Any = results.get("benchmarks", {}).get(self.benchmark)
        for name in self.key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def shown_goal(self) -> str:
        """The goal as the page shows it."""
        return "" if self.goal is None else f"{'at least' if self.at_least else 'at most'} {self.goal:g}"

    def shown(self, results: Mapping[str, Any]) -> str:
        """The number as the page shows it; one that misses its goal says so."""
        value = self.found(results)
        if value is None:
            return "not measured"
        missed = self.goal is not None and (value < self.goal if self.at_least else value > self.goal)
        return f"{value:.3g} {self.unit}" + (" (missed)" if missed else "")


CLAIMS = (
    Claim("`make quickstart` without the installation, CPU time", "quickstart", "cpu_seconds", "s", 60),
    Claim("`make quickstart` without the installation, from start to end", "quickstart", "seconds", "s"),
    Claim("All questions of a book of 2,000 events", "questions", "seconds.2000", "s", 0.37),
    Claim("The same, as often as the published code's 187 s contain it", "questions", "of_reference", "×", 500, True),
    Claim("All questions of a book of 20,000 events", "questions", "seconds.20000", "s"),
    Claim("How that time grows with the number of events; 1 is linear", "questions", "exponent", "(exponent)"),
    Claim("Memory of the whole build of 20,000 events", "questions", "gigabytes_20000", "GB", 1),
    Claim("The book `very-long` with its dataset, over pyarrow's time for its files", "questions", "of_write", "×", 5),
    Claim("Metric `episodic_f1` on a million rows, over its formula alone", "questions", "f1_of_formula", "×", 3),
    Claim("Book-SORT with its dataset, over pyarrow's time for the same rows", "booksort", "of_write", "×", 3),
    Claim(
        "50 questions on a book of 8,192 tokens: one by one, over together", "shared_context", "speedup", "×", 20, True
    ),
    Claim("The same for probabilities of A and B", "shared_context", "label_speedup", "×", 15, True),
    Claim("A text of 32,768 tokens in pieces: with a mask, over without", "shared_context", "pieces_speedup", "×"),
    Claim("Book-SORT's questions, over the bare forward pass of the same tokens", "real_model", "ratio", "×"),
    Claim("Two replicas of one core, over one", "scale", "speedup", "×"),
    Claim("Fine-tuning, over a loop that does nothing else", "finetune", "of_bare_loop", "×"),
    Claim("Estimated memory of fine-tuning, over its peak", "finetune", "of_estimate", "×"),
    Claim("A report's page with 35,000 questions, until the first is drawn", "page", "35000.open", "s"),
)


def measured(benchmark: str) -> tuple[list[str], dict[str, Any]]:
    """Run a benchmark, and return the lines that it prints and the JSON object in the last one."""
    command = [sys.executable, str(HERE / f"{benchmark}.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    if process.returncode:
        raise SystemExit(f"{benchmark}.py ended with code {process.returncode}; the page has what was measured before")
    return lines[:-1], json.loads(lines[-1])


def page(results: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    """The page, in Markdown."""
    columns = ["claim", "goal", "here", *(["there"] if other else []), "command"]
    rows = [
        [
            claim.text,
            claim.shown_goal(),
            claim.shown(results),
            *([claim.shown(other)] if other else []),
            f"`python benchmarks/{claim.benchmark}.py`",
        ]
        for claim in CLAIMS
    ]
    table = ["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows)]
    machines = [f"Here: {results['machine']}.", *([f"There: {other['machine']}."] if other else [])]
    ran = [
        f"### {name}\n\n```text\n" + "\n".join(lines).strip() + "\n```\n" for name, lines in results["printed"].items()
    ]
    return "\n".join([*_HEAD, *machines, "", *table, "", *_FOOT, on_a_gpu(), "## What was run\n", *ran])


def on_a_gpu() -> str:
    """What a CUDA device alone can tell, from gpu.json beside this script; else what has not been measured."""
    stored = HERE / "gpu.json"
    told = gpu.table(json.loads(stored.read_text("utf-8"))) if stored.is_file() else _UNMEASURED
    return f"## On a GPU\n\n{told}\n\n{_CARRY}"


_HEAD = (
    "# How fast it is\n",
    "Written by `make bench`. A ratio compares two things in one run on one machine, so that it may be compared with that of",
    "another; seconds and gigabytes say what one waits for and needs here. A goal that is missed is marked.\n",
)
_FOOT = (
    "To compare your machine with this one: `python benchmarks/claims.py --out mine --compare benchmarks/results.json` writes",
    "`mine/README.md` with both columns. On a machine with a GPU the model's claims are measured on the GPU.\n",
    "Other scripts in this folder measure what is no claim on speed: `levels.py` and `levels_model.py` how hard the levels of a",
    "book are, `similarity.py` the thresholds of a judge, `torture.py` what is lost when commands are killed; `resume.py` and\n"
    "`journals.py` what it takes to read the journals of a very large run.\n",
)


_UNMEASURED = """Not measured yet, because no CUDA device was at hand:

- reading a book of 8,192 or 100,000 tokens once for all questions, with models of 1.2 and 8 billion parameters in bfloat16: the
  time per question, the speedup over one prompt at a time, the distance from the limit, and whether both ways say the same;
- pairs per second for probabilities of A and B, and what asking many at a time gains;
- the hit rate of vLLM's prefix cache on a GPU;
- fine-tuning a model of 1.2 billion parameters: tokens per second, MFU, and peak memory beside the estimate."""
_CARRY = """One command measures all of it in at most ten minutes. The machine needs Python 3.11 or newer with torch, transformers
and accelerate, but no network: weights are random and made on the device. vLLM is measured if it is installed.

```sh
git archive --format=tar.gz --output epbench.tar.gz HEAD src benchmarks   # 2.4 MB, all that the machine needs
tar xzf epbench.tar.gz && python3 benchmarks/gpu.py --out gpu.json        # there, in an empty folder
```

`gpu.json` is written after every number, and `python benchmarks/gpu.py --table gpu.json` prints its tables again. To add them to
this page, put the file into this folder and run `python benchmarks/claims.py --only`. `--small` tries everything on a CPU.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    benchmarks = list(dict.fromkeys(claim.benchmark for claim in CLAIMS))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=benchmarks, metavar="NAME", help="the benchmarks to run")
    parser.add_argument("--out", type=Path, default=HERE, metavar="DIR", help="where the page goes (benchmarks)")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="results.json of another machine")
    args = parser.parse_args(arguments)
    other = json.loads(args.compare.read_text("utf-8")) if args.compare else None
    stored = args.out / "results.json"
    earlier = json.loads(stored.read_text("utf-8")) if args.only is not None and stored.is_file() else {}
    if args.only and earlier and earlier["machine"] != machine():
        raise SystemExit(
            f"{stored}: measured on {earlier['machine']}; run all benchmarks on this machine, without --only"
        )
    results = {
        "machine": earlier.get("machine", machine()),
        "benchmarks": earlier.get("benchmarks", {}),
        "printed": earlier.get("printed", {}),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    for name in benchmarks if args.only is None else args.only:
        print(f"\n== {name}.py", flush=True)
        results["printed"][name], results["benchmarks"][name] = measured(name)
        stored.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (args.out / "README.md").write_text(page(results, other), "utf-8")
    (args.out / "README.md").write_text(page(results, other), "utf-8")
    print(f"\n{args.out / 'README.md'}")


if __name__ == "__main__":
    main()
