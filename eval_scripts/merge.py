"""Join the folders of a run that was split over machines with --shard.

    python eval_scripts/merge.py runs/part1 runs/part2 runs/part3 runs/part4 --out runs/whole

Answers and verdicts are put together and scored as one run. A question that some folder answered is answered; questions
that no folder holds are counted as failed, so a shard that is missing shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of the shards")
    parser.add_argument("--dataset", help="where the dataset lies here, if not where the shards had it")
    parser.add_argument("--limit", type=int, help="the --limit of the shards, if they had one")
    parser.add_argument("--out", type=Path, required=True, help="folder of the whole run")
    args = parser.parse_args(argv)

    from rich.console import Console

    from epbench.errors import BadInput
    from epbench.runs.asking import ANSWERS, no_progress
    from epbench.runs.folder import open_run, read_json
    from epbench.runs.journal import Journal
    from epbench.tulving.evaluation import JUDGEMENTS, finish, judge_answers
    from epbench.tulving.lexical_judge import LexicalJudge
    from epbench.tulving.loading import load_tulving
    from epbench.tulving.parts import part_of
    from epbench.tulving.tables import screen_tables

    described = {folder: read_json(folder / "run.json") for folder in args.runs}
    first = described[args.runs[0]]
    for folder, run in described.items():
        for name, value in first["identity"].items():
            if run["identity"].get(name) != value:
                raise BadInput(
                    f"{folder / 'run.json'}: its {name} is {run['identity'].get(name)!r}, {value!r} expected"
                )
    data = load_tulving(args.dataset or first["dataset"])
    if data.fingerprint != first["identity"]["fingerprint"]:
        raise BadInput(f"{data.name}: its rows are not those of the runs; give the right folder by --dataset")

    about = {name: first[name] for name in ("dataset", "book", "label")} | {"merged": [str(f) for f in args.runs]}
    with open_run(args.out, first["identity"], about) as folder:
        for name in (ANSWERS, JUDGEMENTS):
            whole = Journal(folder / name)
            for part in args.runs:
                shard = Journal(part / name)
                for record in shard:
                    if not whole.done(record["key"]):
                        whole.add(**record)
                shard.close()
            whole.close()
        rows = part_of(data.rows, args.limit)
        verdicts = judge_answers(folder, rows, LexicalJudge(), no_progress)
        missing = len(rows) * first["identity"]["repeats"] - len(verdicts)
        scores = finish(folder, verdicts, missing, first["label"])
    Console().print(screen_tables({first["label"]: scores}))


if __name__ == "__main__":
    command.run(main)
