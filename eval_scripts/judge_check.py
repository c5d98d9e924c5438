"""Check a judge before its scores are believed: how often is it right on answers of known truth?

    python eval_scripts/judge_check.py --judge lexical --out runs/judge
    python eval_scripts/judge_check.py --judge openai:gpt-4o-mini --n 50 --out runs/judge-mini
    python eval_scripts/judge_check.py --judge hf:Qwen/Qwen3-8B --plan --out runs/judge-qwen
    python eval_scripts/judge_check.py --judge lexical --released episodic-memory-benchmark.zip --out runs/judges

The made answers are of many kinds: exact, in other words, with another date format, one item missing or wrong, the right
month and no or the wrong day, a first name alone, too many items, the wrong order, repeats, abstentions, guesses, confident
nonsense, denials, instructions to the judge. OUT gets passport.json, table.md and report.html; the passport is kept in
the user's cache as well (EPBENCH_CACHE), and the reports of later runs by this judge and prompt show it beside their
headline and correct the headline for it. A check that was stopped goes on where it was with the same command.

With --released, the judge reads the answers of a published archive, and its verdicts are held against those of the
archive's own judge, item by item: OUT/<book>/<run>/agreement.json (with the largest disagreements) and table.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--judge", required=True, help="lexical, hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME")
    parser.add_argument("--out", type=Path, required=True, help="the check's folder")
    parser.add_argument("--n", type=int, default=30, help="made answers per kind, at least 20 (30)")
    parser.add_argument("--seed", type=int, default=0, help="of the made answers (0)")
    parser.add_argument("--plan", action="store_true", help="print requests and tokens, and stop")

    model = parser.add_argument_group("the judge, if it is a model")
    model.add_argument("--base-url", help="of an OpenAI-compatible endpoint")
    model.add_argument(
        "--request-timeout", type=float, default=300.0, metavar="SECONDS",
        help="of one try of one request to an endpoint (300)",
    )  # fmt: skip
    model.add_argument("--window", type=int, help="tokens: of an endpoint that does not tell, or for vLLM to set aside")
    model.add_argument("--tensor-parallel", type=int, default=1, help="GPUs for vLLM (1)")
    model.add_argument("--judge-prompts", type=Path, help="another prompt pack; see data/judging.toml")
    model.add_argument("--judge-max-tokens", type=int, default=2048, help="of one reply (2048)")

    archive = parser.add_argument_group("against the judge of a published archive")
    archive.add_argument("--released", type=Path, help="folder or zip of the published data")
    archive.add_argument("--book", choices=["short", "long", "very-long"], help="only runs on books of this length")
    archive.add_argument("--generator", help="only runs on books written by this model")
    archive.add_argument("--run", help="only runs whose path in the archive holds this text")
    args = parser.parse_args(argv)
    command.show_log()
    if args.released:
        _against_published(args)
    else:
        _check(args)


def _check(args: Any) -> None:

    from epbench.errors import BadInput
    from epbench.runs.folder import open_run
    from epbench.runs.secrets import without_login
    from epbench.tulving.calibration.answers import fingerprint_of_answers, make_answers
    from epbench.tulving.calibration.check import check_judge_on
    from epbench.tulving.calibration.report import passport_screen
    from epbench.tulving.calibration.store import passport_path
    from epbench.tulving.judging.verdicts import judge_failures, plan_lines

    console = command.console()
    if args.book or args.generator or args.run:
        raise BadInput("--book, --generator and --run choose runs of an archive; --released is expected with them")
    judge = _judge(args, args.out)
    made = make_answers(args.n, args.seed)
    plan = plan_lines(judge, [answer.case for answer in made])
    if args.plan or judge.name != "lexical":
        console.print("\n".join(plan), soft_wrap=True)
    if args.plan:
        return
    identity = {"benchmark": "judge check", "judge": judge.name, "prompt_hash": judge.prompt_hash}
    identity |= {"n": args.n, "seed": args.seed, "made_answers": fingerprint_of_answers(made)}
    identity |= {"base_url": without_login(args.base_url or "")}
    with open_run(args.out, identity, {}) as folder:
        passport = check_judge_on(folder, made, args.seed, judge, command.bar)
    console.print(passport_screen(passport))
    if passport["failed"]:
        console.print(f"{passport['failed']} made answers have no verdict; they count neither as right nor as wrong")
        for reason, n in judge_failures(args.out, judge).items():
            console.print(f"failed {n} times: {reason}", soft_wrap=True)
    console.print(f"report: {args.out / 'report.html'}; kept for later runs: {passport_path(judge)}", soft_wrap=True)


def _against_published(args: Any) -> None:

    from epbench.errors import BadInput
    from epbench.runs.folder import open_run, write_json, write_text
    from epbench.runs.secrets import without_login
    from epbench.tulving.judging.verdicts import judge_answers, judge_input, plan_lines
    from epbench.tulving.released.archive import open_archive
    from epbench.tulving.released.runs import clipped, published_runs, read_published_run
    from epbench.tulving.scores.judge_agreement import agreement_screen, agreement_table, judge_agreement
    from epbench.tulving.scores.results import record_answers

    console = command.console()
    archive = open_archive(args.released)
    every = published_runs(archive)
    runs = [
        run
        for run in every
        if args.book in (None, run.book.book)
        and args.generator in (None, run.book.generator)
        and (args.run or "") in run.path
    ]
    if not runs:
        raise BadInput(f"{args.released}: no run fits; it has: {'; '.join(run.label for run in every)}")
    found = {}
    for run in runs:
        out = args.out / run.folder
        judge, names = _judge(args, out), (args.judge, f"{run.book.generator} (published)")
        published = read_published_run(archive.files, run)
        cases = [judge_input(row, answer) for row, answer in zip(published.rows, published.answers, strict=True)]
        if args.plan or judge.name != "lexical":
            console.print("\n".join([f"{run.label}:", *plan_lines(judge, cases)]), soft_wrap=True)
        if args.plan:
            continue
        identity = {"benchmark": "judge agreement", "judge": judge.name, "prompt_hash": judge.prompt_hash}
        identity |= {"released": run.book.folder, "run": run.path, "base_url": without_login(args.base_url or "")}
        with open_run(out, identity, {"book": run.book.name}) as folder:
            record_answers(folder, {case.id: case.answer for case in cases}, run.path)
            ours = judge_answers(folder, published.rows, judge, command.bar)
            theirs = [clipped(row) for row in published.judged()]
            found[run.label] = judge_agreement(ours, theirs, {case.id: (case.question, case.answer) for case in cases})
            content = {"judges": list(names), "n_failed": len(cases) - len(ours), **found[run.label]}
            write_json(folder / "agreement.json", content)
            write_text(folder / "table.md", agreement_table(found[run.label], names))
        if content["n_failed"]:
            console.print(f"{run.label}: {content['n_failed']} answers have no verdict; they are left out")
    if found:
        console.print(agreement_screen(found))
        console.print(f"largest disagreements: agreement.json of every run below {args.out}", soft_wrap=True)


def _judge(args: Any, folder: Path) -> Any:
    """The judge, with the journal of its calls in that folder."""
    from epbench.models.load import Options
    from epbench.tulving.judging.verdicts import CALLS, choose_judge

    return choose_judge(
        args.judge,
        Options(args.base_url, args.window, args.tensor_parallel, args.request_timeout),
        prompts=args.judge_prompts,
        calls=folder / CALLS,
        max_tokens=args.judge_max_tokens,
    )


if __name__ == "__main__":
    command.run(main)
