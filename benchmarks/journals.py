"""What it takes to read journals of a million records: seconds of CPU and the largest memory, with and without checks.

    python benchmarks/journals.py
    python benchmarks/journals.py --quick

Makes a journal of answers and one of verdicts, and reads each in processes of its own: with `read_journal`, which checks
every record; and without any check into a dict by key, with `json.loads` and with `msgspec.json.decode`.

Prints what was run on what, a table, and as its last line one JSON object: records, and for each journal megabytes, and for
each way of reading it cpu_seconds and peak_mb.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine
from resume import measured

READERS = {
    "read_journal": "from pathlib import Path; from epbench.journals.journal import *; r = read_journal(Path({path!r}))",
    "json.loads": "import json; r = {{x['key']: x for x in map(json.loads, open({path!r}, 'rb'))}}",
    "msgspec.json.decode": "from msgspec.json import decode; r = {{x['key']: x for x in map(decode, open({path!r}, 'rb'))}}",
}
"""The ways to read a journal, in Python."""


def make_journals(folder: Path, n: int) -> list[Path]:
    """Write answers.jsonl and judgements.jsonl of n records each; return their paths."""
    draws = random.Random(1)
    names = [f"Person {number} Of The Book" for number in range(200)]
    paths = [folder / "answers.jsonl", folder / "judgements.jsonl"]
    with paths[0].open("w") as answers, paths[1].open("w") as verdicts:
        for number in range(n):
            key, id_, found = f"{draws.getrandbits(256):064x}", f"q{number % 700:06d}", draws.sample(names, number % 3)
            answer = {
                "key": key,
                "id": id_,
                "repeat": number // 700,
                "answer": f"{', '.join(found)}, as far as I remember.",
            }
            usage = {"prompt": 8000 + number % 50, "cached": 7000, "completion": 12}
            answers.write(json.dumps({**answer, "usage": usage, "seconds": 0.0001}) + "\n")
            about = {"key": key, "id": id_, "judge": "lexical", "prompt_hash": "0123456789abcdef"}
            verdict = {
                "items": found,
                "scores": [1.0] * len(found),
                "order": found,
                "reason": "items found by their words",
            }
            verdicts.write(json.dumps({**about, **verdict}) + "\n")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 records instead of a million")
    n = 20_000 if parser.parse_args().quick else 1_000_000
    print(machine())
    found: dict[str, object] = {"records": n}
    with tempfile.TemporaryDirectory() as scratch:
        for path in make_journals(Path(scratch), n):
            of_file: dict[str, object] = {"megabytes": path.stat().st_size / 2**20}
            print(f"{path.name}, {n:,} records, {of_file['megabytes']:,.0f} MB")
            for name, code in READERS.items():
                seconds, peak = measured([sys.executable, "-c", code.format(path=str(path))])
                print(f"  {name:20} {seconds:6.2f} s of CPU, {peak:6,.0f} MB at most")
                of_file[name] = {"cpu_seconds": seconds, "peak_mb": peak}
            found[path.name] = of_file
    print(json.dumps(found))


if __name__ == "__main__":
    main()
