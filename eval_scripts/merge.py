"""Join the folders of a run on Tulving books or Book-SORT that was split over machines with --shard.

    python eval_scripts/merge.py runs/part1 runs/part2 runs/part3 runs/part4 --out runs/whole

Answers and verdicts are put together and scored as one run. A question that some folder answered is answered. Questions
that no folder holds have failed: a Tulving score that they belong to is incomplete, and shown as a range, so a shard that
is missing shows. The shards must have one judge. If that is a model, answers that it has not judged yet have failed too,
and eval_scripts/tulving.py --rejudge has it judge them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of the shards")
    parser.add_argument("--dataset", help="where the dataset lies here, if not where the shards had it")
    parser.add_argument("--limit", type=int, help="questions of the whole; the --limit of the shards unless given")
    parser.add_argument("--out", type=Path, required=True, help="folder of the whole run")
    args = parser.parse_args(argv)

    from epbench.runs.merge import described_shards, limit_of

    described = described_shards(args.runs, args.out)
    limit = limit_of(described, args.limit)
    dataset = args.dataset or described[0]["dataset"]
    merge = _merge_tulving if described[0]["identity"]["benchmark"] == "tulving" else _merge_booksort
    merge(args.runs, described, dataset, limit, args.out)


def _merge_tulving(
    shards: Sequence[Path], described: Sequence[dict[str, Any]], dataset: str, limit: int | None, out: Path
) -> None:

    from epbench.errors import BadInput
    from epbench.judges.journal import JUDGEMENTS
    from epbench.judges.protocol import PastJudge
    from epbench.judges.run_judge import check_judge, note, note_judge
    from epbench.runs.answers import ANSWERS, no_progress
    from epbench.runs.folder import open_run
    from epbench.runs.merge import join_journals
    from epbench.tulving.dataset.load import load_tulving
    from epbench.tulving.dataset.parts import part_of
    from epbench.tulving.judging.lexical import LexicalJudge
    from epbench.tulving.judging.protocol import Judge
    from epbench.tulving.judging.verdicts import CALLS, judge_answers, judge_failures
    from epbench.tulving.scores.results import finish, lost_questions
    from epbench.tulving.scores.tables import screen_tables

    first = described[0]
    judges = {(run["judge"]["name"], run["judge"]["prompt_hash"]) for run in described if "judge" in run}
    if len(judges) > 1:
        names = ", ".join(f"{name} ({prompt_hash})" for name, prompt_hash in sorted(judges))
        raise BadInput(f"the shards have different judges: {names}; have one judge them all, by --rejudge")
    judge: Judge = LexicalJudge()
    if judges - {(judge.name, judge.prompt_hash)}:
        judge = PastJudge(*judges.pop())
    data = load_tulving(dataset)
    _check_rows(data.fingerprint, first, dataset)

    about = {name: first[name] for name in ("dataset", "book", "label")} | {"merged": [str(f) for f in shards]}
    with open_run(out, first["identity"], about) as folder:
        check_judge(folder, judge)
        join_journals(shards, folder, (ANSWERS, JUDGEMENTS, CALLS))
        rows = part_of(data.rows, limit)
        note(folder, limit=limit)
        verdicts = judge_answers(folder, rows, judge, no_progress)
        lost = lost_questions(rows, verdicts, first["identity"]["repeats"])
        scores = finish(folder, verdicts, lost, first["label"], judge=judge)
        note_judge(folder, judge)
    console = command.console()
    console.print(screen_tables({first["label"]: scores}))
    for reason, n in judge_failures(out, judge).items():
        console.print(f"failed {n} times: {reason}", soft_wrap=True)


def _merge_booksort(
    shards: Sequence[Path], described: Sequence[dict[str, Any]], dataset: str, limit: int | None, out: Path
) -> None:

    from epbench.booksort.context.orders import both_orders
    from epbench.booksort.context.retrieved import RETRIEVED
    from epbench.booksort.dataset.load import fingerprint, load_pairs
    from epbench.booksort.dataset.parts import part_of
    from epbench.booksort.scores.results import finish
    from epbench.booksort.scores.tables import screen_tables
    from epbench.runs.answers import ANSWERS
    from epbench.runs.folder import open_run
    from epbench.runs.journal import read_journal
    from epbench.runs.merge import join_journals

    first = described[0]
    identity = first["identity"]
    everything = load_pairs(dataset, identity["config"], identity["split"])
    _check_rows(fingerprint(everything), first, dataset)
    books = identity["books"]
    pairs = part_of([pair for pair in everything if books is None or pair.book_idx in books], limit)

    if identity.get("both_orders"):
        pairs = both_orders(pairs)
    about = {"dataset": dataset, "label": first["label"], "limit": limit, "merged": [str(f) for f in shards]}
    with open_run(out, identity, about) as folder:
        join_journals(shards, folder, (ANSWERS, RETRIEVED))
        keys = {record["id"]: record["key"] for record in read_journal(folder / ANSWERS).values()}
        scores = finish(folder, pairs, keys, first["label"])
    command.console().print(screen_tables({first["label"]: scores}))


def _check_rows(found: str, first: dict[str, Any], dataset: str) -> None:
    from epbench.errors import BadInput

    if found != first["identity"]["fingerprint"]:
        raise BadInput(f"{dataset}: its rows are not those of the runs; give the right folder by --dataset")


if __name__ == "__main__":
    command.run(main)
