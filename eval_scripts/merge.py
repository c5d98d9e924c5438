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


@dataclass(frozen=True)
class Arguments:
    """The command line.

    Attributes:
        runs: The folders of the shards.
        out: The folder of the whole run.
        dataset: Where the dataset is on this machine; None for where the shards found it.
        limit: The number of questions of the whole run; None for the limit of the shards.
        prompts: The reader's prompt pack, for shards of MemFail with another one than ours.
    """

    runs: Sequence[Path]
    out: Path
    dataset: str | None
    limit: int | None
    prompts: Path | None


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of the shards")
    parser.add_argument("--dataset", help="where the dataset is on this machine, if not where the shards found it")
    parser.add_argument("--limit", type=int, help="questions of the whole run, if not the --limit of the shards")
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help="the reader's prompt pack, if shards of MemFail had another than ours",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the whole run")
    _merge(Arguments(**vars(parser.parse_args(argv))))


def _merge(args: Arguments) -> None:
    from epbench.errors import BadInput
    from epbench.runs.several import benchmark_of

    benchmark = benchmark_of(args.runs[0])
    if benchmark == "tulving":
        from epbench.tulving.scores.merging import merge
        from epbench.tulving.scores.tables import screen_tables
    elif benchmark == "booksort":
        from epbench.booksort.scores.merging import merge
        from epbench.booksort.scores.tables import screen_tables
    elif benchmark == "memfail":
        _merge_memfail(args)
        return
    else:
        raise BadInput(f"{args.runs[0]}: expected a shard of tulving, booksort or memfail, found a run of {benchmark}")
    if args.prompts is not None:
        raise BadInput(f"--prompts is for shards of MemFail, got those of {benchmark}")

    merged = merge(args.runs, args.out, args.dataset, args.limit)
    console = command.console()
    console.print(screen_tables({merged.label: merged.scores}))
    for reason, n in merged.failures.items():
        console.say(f"failed {n} times: {reason}")


def _merge_memfail(args: Arguments) -> None:
    """Each config is a run of its own."""
    from epbench.memfail.scores.merging import merge_configs
    from epbench.memfail.scores.tables import screen_tables

    merged = merge_configs(args.runs, args.out, args.dataset, args.limit, args.prompts)
    console = command.console()
    console.print(screen_tables({run.label: run.scores for run in merged}))
    for run in merged:
        if run.scores["n_failed"]:
            console.say(f"{run.label}: {run.scores['n_failed']} questions failed")


if __name__ == "__main__":
    command.run(main)
