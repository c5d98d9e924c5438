"""Ask a reader what it remembers of a Tulving book, judge the answers and score them.

    python eval_scripts/tulving.py --dataset epbench/short --memory in-context --out runs/short
    python eval_scripts/tulving.py --dataset out/long --memory rag-chapter --top-k 17 --out runs/long-rag
    python eval_scripts/tulving.py --dataset epbench/short --answers my_answers.jsonl --out runs/mine
    python eval_scripts/tulving.py --released episodic-memory-benchmark.zip --out runs/published

Memories: in-context (the whole book), rag-paragraph and rag-chapter (BM25), none. --answers takes a JSONL file of
{"id", "answer"}. --released scores every published run of an archive from its own judge's replies.

OUT becomes a run's folder: run.json, answers.jsonl, judgements.jsonl, scores.json, table.md, report.html. A run that
was stopped, however hard, goes on where it was when the same command is given again; nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset", help="epbench/<book>, or a folder made by builders/tulving.py")
    source.add_argument("--released", type=Path, help="folder or zip of the published data: re-score its runs")
    parser.add_argument("--memory", help="in-context, rag-paragraph, rag-chapter or none")
    parser.add_argument("--model", default="lexical", help="reader: lexical (rule-based, offline)")
    parser.add_argument("--judge", default="lexical", help="judge: lexical (rule-based, offline)")
    parser.add_argument("--answers", type=Path, help="score these answers instead of asking a reader")
    parser.add_argument("--top-k", type=int, help="chunks per question; as published unless given")
    parser.add_argument("--keep-order", action="store_true", help="chunks in the order of the book, not best first")
    parser.add_argument("--limit", type=int, help="ask only this many questions, a random part of the set")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")
    args = parser.parse_args(argv)
    if args.released:
        _rescore(args.released, args.out)
    else:
        _evaluate(args)


def _evaluate(args: Any) -> None:
    from rich.console import Console

    from epbench.errors import BadInput
    from epbench.models.choose import choose_model
    from epbench.runs.folder import open_run
    from epbench.tulving.answers_file import read_answers
    from epbench.tulving.evaluation import ask, finish, judge_answers, record_answers
    from epbench.tulving.lexical_judge import LexicalJudge
    from epbench.tulving.loading import load_tulving
    from epbench.tulving.memory import Asked, published_top_k, requests_for
    from epbench.tulving.tables import screen_tables

    if (args.memory is None) == (args.answers is None):
        raise BadInput("either --memory (ask a reader) or --answers (score a file) is expected, and not both")
    if args.judge != "lexical":
        raise BadInput(f"unknown judge {args.judge!r}; this version has: lexical (rule-based, offline)")
    data = load_tulving(args.dataset)
    rows = _limited(data.rows, args.limit)
    identity = {"benchmark": "tulving", "fingerprint": data.fingerprint, "judge": args.judge}

    # 1. What the reader sees, question by question; 2. its answers, journaled as they come.
    if args.answers:
        answers = read_answers(args.answers, [row["id"] for row in data.rows])
        label = args.answers.name
        identity |= {"memory": "answers", "model": args.answers.name}
    else:
        model = choose_model(args.model)
        asked = [Asked(row["id"], row["question"], row["n_chapters"]) for row in rows]
        all_asked = [Asked(row["id"], row["question"], row["n_chapters"]) for row in data.rows]
        top_k = published_top_k(args.memory, all_asked) if args.top_k is None else args.top_k
        requests = list(requests_for(args.memory, data.book, asked, top_k=top_k, keep_order=args.keep_order))
        label = f"{args.memory}, {model.name}"
        identity |= {"memory": args.memory, "model": model.name, "top_k": top_k, "keep_order": args.keep_order}
    with open_run(args.out, identity, {"dataset": args.dataset, "book": Path(args.dataset).name}) as folder:
        if args.answers:
            record_answers(folder, answers, args.answers.name)
        else:
            answers = ask(folder, requests, model, _bar)

        # 3. Which true items are in each answer; 4. the scores, from the journals alone.
        verdicts = judge_answers(folder, rows, answers, LexicalJudge(), _bar)
        scores = finish(folder, verdicts, len(rows) - len(verdicts), label)
    Console().print(screen_tables({label: scores}))
    if scores["n_failed"]:
        Console().print(f"{scores['n_failed']} questions have no answer; they count neither as right nor as wrong")
    Console().print(f"report: {args.out / 'report.html'}")


def _rescore(archive: Path, out: Path) -> None:
    from rich.console import Console

    from epbench.tulving.published_runs import score_published_runs
    from epbench.tulving.released import open_archive
    from epbench.tulving.tables import screen_tables

    scores = score_published_runs(open_archive(archive), out, _bar)
    Console().print(screen_tables(scores))


def _limited(rows: list[dict[str, Any]], limit: int | None) -> list[dict[str, Any]]:
    """A random part of the rows that grows with the limit: those whose ids hash lowest, in the order of the set."""
    from hashlib import sha256

    from epbench.errors import BadInput

    if limit is None:
        return rows
    if limit < 1:
        raise BadInput(f"--limit {limit}: at least 1 expected")
    chosen = sorted(row["id"] for row in rows)
    kept = set(sorted(chosen, key=lambda id_: sha256(id_.encode()).hexdigest())[:limit])
    return [row for row in rows if row["id"] in kept]


def _bar(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    from rich.progress import track

    return track(items, what, total=total, transient=True)


if __name__ == "__main__":
    command.run(main)
