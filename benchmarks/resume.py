"""What it takes to resume a finished run with very many answers and verdicts: seconds of CPU, and the largest memory.

    python benchmarks/resume.py
    python benchmarks/resume.py --quick

Makes the folder of a run on the short Tulving book whose questions were asked very often, each time with another answer and
a verdict of the judge by rules, and gives the command of the run twice, which asks and judges nothing. The first time the
run looks as if it had been killed before it was scored: what is measured is reading, scoring and writing. The second time it
is finished, and nothing has changed since.

Prints what was run on what, and as its last line one JSON object: answers, megabytes (the size of both journals), and
cpu_seconds and peak_mb of resuming the run when it was `stopped` and when it was `finished`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine

ROOT = Path(__file__).parents[1]
EVALUATE = [sys.executable, str(ROOT / "eval_scripts/tulving.py")]


def make_run(folder: Path, dataset: Path, n: int) -> list[str]:
    """Make the folder of a run with at least n answers and as many verdicts; return the command that resumes it."""
    from epbench import load_book
    from epbench.tulving.judging.lexical import LexicalJudge
    from epbench.tulving.judging.verdicts import judge_input
    from epbench.tulving.reader import LexicalReader

    data = load_book(str(dataset))
    repeats = -(-n // len(data.rows))
    command = [
        *EVALUATE,
        "--dataset",
        str(dataset),
        "--memory",
        "none",
        "--repeats",
        str(repeats),
        "--out",
        str(folder),
    ]
    from epbench.models.protocol import Sampling
    from epbench.tulving.context.requests import Reading

    model, judge = LexicalReader(), LexicalJudge()
    reading = Reading(memory="none", repeats=repeats, sampling=Sampling(1024, 0.0, 0))
    rows = {row["id"]: row for row in data.rows}
    folder.mkdir(parents=True)
    with (folder / "answers.jsonl").open("w") as answers, (folder / "judgements.jsonl").open("w") as verdicts:
        for request in reading.requests(data, data.rows):
            row = rows[request.id]
            found = row["answer"][: request.repeat % 3]
            text = f"{', '.join(found) or 'Nothing of the kind happened'}, as far as I remember the {request.repeat}."
            answer = {"key": request.key(model.identity), "id": request.id, "repeat": request.repeat, "answer": text}
            answers.write(json.dumps(answer | {"seconds": 0.0001}) + "\n")
            about = {"id": request.id, "judge": judge.name, "prompt_hash": judge.prompt_hash}
            scores = [float(item in found) for item in row["answer"]]
            verdict = {"items": found, "scores": scores, "order": found, "reason": "items found by their words"}
            verdicts.write(json.dumps({"key": judge_input(row, text).key(judge), **about, **verdict}) + "\n")
    identity = reading.run_identity(data, model)
    about = {"dataset": str(dataset), "dataset_revision": None, "book": dataset.name, "label": "none, lexical"}
    described = {"identity": identity, **about, "command": "", "python": "", "platform": "", "versions": {}}
    (folder / "run.json").write_text(json.dumps(described))
    return command


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command in a process of its own; return its seconds of CPU, and the most memory in megabytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    kilo = used.ru_maxrss / 1024 if sys.platform == "darwin" else used.ru_maxrss
    return used.ru_utime + used.ru_stime, kilo / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 answers instead of a million")
    n = 20_000 if parser.parse_args().quick else 1_000_000
    print(machine())
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        build = [sys.executable, str(ROOT / "builders/tulving.py"), "--book", "short", "--out", str(base)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        command = make_run(base / "run", base / "short", n)
        journals = [base / "run" / name for name in ("answers.jsonl", "judgements.jsonl")]
        size = sum(path.stat().st_size for path in journals) / 2**20
        n = sum(1 for _ in journals[0].open("rb"))
        found: dict[str, object] = {"answers": n, "megabytes": size}
        for state in ("stopped", "finished"):
            seconds, peak = measured(command)
            print(
                f"resuming a {state} run of {n:,} answers and verdicts ({size:,.0f} MB): {seconds:.1f} s of CPU, "
                f"{peak:,.0f} MB at most"
            )
            found[state] = {"cpu_seconds": seconds, "peak_mb": peak}
        print(json.dumps(found))


if __name__ == "__main__":
    main()
