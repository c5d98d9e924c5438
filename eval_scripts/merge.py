"""Join the folders of a run that was split over machines with --shard.

    python eval_scripts/merge.py runs/part1 runs/part2 runs/part3 runs/part4 --out runs/whole

Answers and verdicts are put together and scored as one run. A question that some folder answered is answered; questions
that no folder holds are counted as failed, so a shard that is missing shows. The shards must have one judge. If that is
a model, answers that it has not judged yet are counted as failed too, and eval_scripts/tulving.py --rejudge has it judge
them.
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
    from epbench.tulving.evaluation import JUDGEMENTS, finish
    from epbench.tulving.judge import Judge
    from epbench.tulving.judging import CALLS, PastJudge, check_judge, judge_answers, judge_failures, note_judge
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
    judges = {(run["judge"]["name"], run["judge"]["prompt_hash"]) for run in described.values() if "judge" in run}
    if len(judges) > 1:
        names = ", ".join(f"{name} ({prompt_hash})" for name, prompt_hash in sorted(judges))
        raise BadInput(f"the shards have different judges: {names}; have one judge them all, by --rejudge")
    judge: Judge = LexicalJudge()
    if judges - {(judge.name, judge.prompt_hash)}:
        judge = PastJudge(*judges.pop())
    data = load_tulving(args.dataset or first["dataset"])
    if data.fingerprint != first["identity"]["fingerprint"]:
        raise BadInput(f"{data.name}: its rows are not those of the runs; give the right folder by --dataset")

    about = {name: first[name] for name in ("dataset", "book", "label")} | {"merged": [str(f) for f in args.runs]}
    with open_run(args.out, first["identity"], about) as folder:
        check_judge(folder, judge)
        for name in (ANSWERS, JUDGEMENTS, CALLS):
            journals = [part / name for part in args.runs if (part / name).exists()]
            if journals:
                whole = Journal(folder / name)
                for path in journals:
                    shard = Journal(path)
                    for record in shard:
                        if not whole.done(record["key"]):
                            whole.add(**record)
                    shard.close()
                whole.close()
        rows = part_of(data.rows, args.limit)
        note_judge(folder, judge, limit=args.limit)
        verdicts = judge_answers(folder, rows, judge, no_progress)
        missing = len(rows) * first["identity"]["repeats"] - len(verdicts)
        scores = finish(folder, verdicts, missing, first["label"], judge=judge)
    console = Console()
    console.print(screen_tables({first["label"]: scores}))
    for reason, n in judge_failures(args.out, judge).items():
        console.print(f"failed {n} times: {reason}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    command.run(main)
