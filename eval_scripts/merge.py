"""Join the folders of a run that was split over machines with --shard.

    python eval_scripts/merge.py runs/part1 runs/part2 runs/part3 runs/part4 --out runs/whole

Answers and verdicts are put together and scored as one run. A question that any shard answered is answered. Questions that
no shard answered have failed: a score that they belong to is incomplete and shown as a range, so a missing shard shows.
The shards must have one judge. If that judge is a model, answers that it has not judged yet have failed, too;
eval_scripts/tulving.py --rejudge has it judge them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench import command
from epbench.arguments.declaring import argument, parse


@dataclass(frozen=True, kw_only=True)
class Arguments:
    runs: list[Path] = argument("folders of the shards", positional=True)
    dataset: str | None = argument("where the dataset is on this machine, if not where the shards found it")
    limit: int | None = argument("questions of the whole run, if not the --limit of the shards")
    prompts: Path | None = argument(
        "the reader's prompt pack or file of wording, if shards of MemFail had another than ours", metavar="FILE"
    )
    out: Path = argument("folder of the whole run")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.errors import BadInput
    from epbench.runs.benchmark import find_benchmark
    from epbench.runs.merge import merge

    benchmark = find_benchmark(args.runs[0])
    if args.prompts is not None and benchmark.name != "memfail":
        raise BadInput(f"--prompts is for shards of MemFail, got those of {benchmark.name}")
    merged = merge(benchmark, args.runs, args.out, args.dataset, args.limit, args.prompts)
    console = command.console()
    console.print(benchmark.screen_tables({run.label: run.scores for run in merged}))
    for run in merged:
        for reason, n in run.failures.items():
            console.say(f"failed {n} times: {reason}")
        if benchmark.part and run.scores["n_failed"]:
            console.say(f"{run.label}: {run.scores['n_failed']} questions failed")


if __name__ == "__main__":
    command.run(main)
