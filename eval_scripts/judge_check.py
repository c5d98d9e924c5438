"""Check a judge before you believe its scores: how often is it right about answers whose truth is known?

    python eval_scripts/judge_check.py --judge lexical --out runs/judge
    python eval_scripts/judge_check.py --judge minilm --out runs/judge-minilm
    python eval_scripts/judge_check.py --judge openai:gpt-4o-mini --n 50 --out runs/judge-mini
    python eval_scripts/judge_check.py --judge hf:Qwen/Qwen3-8B --plan --out runs/judge-qwen
    python eval_scripts/judge_check.py --judge lexical --released episodic-memory-benchmark.zip --out runs/judges
    python eval_scripts/judge_check.py --benchmark memfail --judge lexical --out runs/judge-memfail
    python eval_scripts/judge_check.py --benchmark memfail --judge openai:gpt-5-mini --rows 30 --plan --out runs/judge-mini

The judge reads a calibration set, which holds answers of many kinds: exact, reworded, with another date format, with one
item missing or wrong, with the right month but no day or the wrong day, with a first name alone, with too many items, in
the wrong order, with repeats; abstentions, guesses, confident nonsense, denials, and instructions to the judge. OUT gets
passport.json, table.md and report.html. The passport is also kept in the user's cache ($EPBENCH_CACHE or
~/.cache/epbench): reports of later runs by this judge and prompt show it beside their headline, and correct the headline
for it. To resume a check that was stopped, give the same command again.

With --released, the judge reads the answers of the published archive, and its verdicts are compared item by item with
those of the archive's own judge: OUT/<book>/<run>/agreement.json, with the largest disagreements, and table.md.

With --benchmark memfail, the judge diagnoses records with one planted fault each: a fact absent or not listed, a stored
question, two people conflated, a detail dropped, a negation turned, a number changed, a link reversed, the wrong fact
retrieved, a wrong answer; with --config revision, a corrected or a withdrawn value answered, or a neighbour gone; and
faithful records. The passport tells how many faults get any error (sensitivity), how many
that of their stage, and how many faithful records are correct (specificity). The rows are made from templates; --dataset
takes them from a dataset. A model reads whole stores, which is dear: see --plan, and take fewer --rows or one --config.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.tulving.judging.verdicts import Judge
    from epbench.tulving.released.archive import Archive
    from epbench.tulving.released.runs import PublishedRun


@dataclass(frozen=True, kw_only=True)
class Arguments:
    benchmark: Literal["tulving", "memfail"] = argument("what the judge will judge (tulving)", default="tulving")
    judge: str = argument(f"{options.TULVING_JUDGES}, {options.MODELS}")
    out: Path = argument("the check's folder")
    n: int = argument("answers of each kind, or faults of each kind and config, at least 20 (30)", default=30)
    seed: int = argument("seed of what the judge is given (0)", default=0)
    plan: bool = argument("print the number of requests and tokens, and stop")

    backend: options.Backend = included("the judge, if it is a model")
    judge_prompts: Path | None = argument(
        "another prompt pack, TOML or JSON, like tulving/data/judging.toml or memfail/data/memfail_judging.toml",
        metavar="FILE",
    )
    wording: str | None = argument(
        "the same in a file like that of eval_scripts/wording.py, or published:FOLDER", metavar="FILE"
    )
    judge_max_tokens: int = argument("longest reply in tokens, for Tulving (2048)", default=2048, metavar="N")

    dataset: str | None = argument(
        "epbench/memfail, or a folder made by builders/memfail.py (rows from templates)",
        group="where faults are planted, for MemFail",
    )
    config: list[str] = argument("configs, or all (all)", default=["all"])
    rows: int = argument("rows made of each config: what a store holds (100)", default=100)

    released: Path | None = argument(
        "the published archive, folder or zip", group="to compare it with the judge of the published archive"
    )
    book: Literal["short", "long", "very-long"] | None = argument("only runs on books of this length")
    generator: str | None = argument("only runs on books written by this model")
    run: str | None = argument("only runs whose path in the archive contains this text")

    def __post_init__(self) -> None:
        wrong = None
        if not self.released and (self.book or self.generator or self.run):
            wrong = "--book, --generator and --run choose runs of an archive; give --released with them"
        elif self.benchmark != "memfail" and (self.dataset or self.config != ["all"] or self.rows != 100):
            wrong = "--dataset, --config and --rows say where faults are planted; give --benchmark memfail with them"
        elif self.benchmark == "memfail" and self.released:
            wrong = "--released is an archive of answers to questions about books; it goes with --benchmark tulving"
        if wrong:
            raise BadInput(f"{wrong}; see --help")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    command.show_log()
    if args.released:
        _compare_with_published(args, args.released)
    elif args.benchmark == "memfail":
        _check_on_planted_faults(args)
    else:
        _check(args)


def _check(args: Arguments) -> None:
    """Have the judge read the calibration set, and write its passport."""
    from epbench.runs.folder import open_run
    from epbench.tulving.calibration.answers import fingerprint_of_set, make_calibration_set
    from epbench.tulving.calibration.check import check_judge_on, passport_screen
    from epbench.tulving.calibration.passport import passport_path
    from epbench.tulving.judging.verdicts import judge_failures, plan_lines

    judge = _judge(args)
    made = make_calibration_set(args.n, args.seed)
    if not _goes_on(args, judge, plan_lines(judge, [answer.judge_input for answer in made])):
        return
    identity = _identity(args, judge, "judge check", n=args.n, seed=args.seed, made_answers=fingerprint_of_set(made))
    with open_run(args.out, identity, {}) as folder:
        passport = check_judge_on(folder, made, args.seed, judge, command.bar)
    command.console().print(passport_screen(passport))
    _end(args, "calibration answers", passport["failed"], judge_failures(args.out, judge), passport_path(judge))


def _check_on_planted_faults(args: Arguments) -> None:
    """Have the judge of MemFail find planted faults, and write its passport."""
    from epbench.memfail.calibration.passport import (
        check_judge_on,
        fingerprint_of,
        judge_failures,
        passport_path,
        passport_screen,
        plan_lines,
        planted_set,
    )
    from epbench.memfail.dataset.load import configs_named
    from epbench.memfail.judging.load import load_judge
    from epbench.memfail.wording import read_wording
    from epbench.runs.folder import open_run

    words = read_wording(args.wording)
    judge = load_judge(args.judge, args.backend.options, args.judge_prompts or words.get("judge"))
    cases = planted_set(configs_named(args.config), args.n, args.seed, dataset=args.dataset, rows=args.rows)
    if not _goes_on(args, judge, plan_lines(judge, cases)):
        return
    benchmark, rows = "judge check, memfail", args.dataset or f"{args.rows} template rows of each config"
    identity = _identity(args, judge, benchmark, n=args.n, seed=args.seed, planted=fingerprint_of(cases))
    with open_run(args.out, identity, {"dataset": rows}) as folder:
        passport = check_judge_on(folder, cases, judge, command.bar, n=args.n, seed=args.seed, rows=rows)
    command.console().print(passport_screen(passport))
    _end(args, "planted cases", passport["failed"], judge_failures(args.out, judge), passport_path(judge))


def _goes_on(args: Arguments, judge: Any, lines: Sequence[str]) -> bool:
    """Print what the judge has to do if it costs something or --plan is given; tell whether it is to be done."""
    from epbench.judges.protocol import is_free

    if args.plan or not is_free(judge):
        command.console().say("\n".join(lines))
    return not args.plan


def _identity(args: Arguments, judge: Any, benchmark: str, **more: Any) -> dict[str, Any]:
    """What tells this check from another one: a folder is resumed only by a check of the same identity."""
    from epbench.files.secrets import without_login
    from epbench.judges.protocol import about_judge

    address = without_login(args.backend.base_url or "")
    return {"benchmark": benchmark, **about_judge(judge, "judge"), **more, "base_url": address}


def _end(args: Arguments, what: str, n_failed: int, reasons: Mapping[str, int], kept: Path) -> None:
    """Say what has no verdict, and where the passport is."""
    console = command.console()
    if n_failed:
        console.say(f"{n_failed} {what} have no verdict; they count neither as right nor as wrong")
        console.say_all(f"failed {n} times: {reason}" for reason, n in reasons.items())
    console.say(f"report: {args.out / 'report.html'}; kept for later runs: {kept}")


def _compare_with_published(args: Arguments, path: Path) -> None:
    """Have the judge read published answers, and compare its verdicts with the published ones."""
    from epbench.tulving.released.archive import open_archive
    from epbench.tulving.scores.judge_agreement import agreement_screen

    archive = open_archive(path)
    found, judge = {}, _judge(args)
    for run in _chosen_runs(args, path, archive):
        if (agreement := _agreement(args, archive, run, judge)) is not None:
            found[run.label] = agreement
    if found:
        command.console().print(agreement_screen(found))
        command.console().say(f"largest disagreements: agreement.json of every run below {args.out}")


def _chosen_runs(args: Arguments, path: Path, archive: Archive) -> list[PublishedRun]:
    from epbench.tulving.released.runs import published_runs

    every = published_runs(archive)
    runs = [
        run
        for run in every
        if args.book in (None, run.book.book)
        and args.generator in (None, run.book.generator)
        and (args.run or "") in run.path
    ]
    if not runs:
        raise BadInput(f"{path}: no run matches; it has: {'; '.join(run.label for run in every)}")
    return runs


def _agreement(args: Arguments, archive: Archive, run: PublishedRun, judge: Judge) -> dict[str, Any] | None:
    """How far the judge agrees with the published one on the answers of one run; None if only the plan is wanted."""
    from epbench.files.json_files import write_json
    from epbench.files.writing import write_text
    from epbench.runs.folder import open_run
    from epbench.tulving.judging.own_answers import record_answers
    from epbench.tulving.judging.verdicts import judge_answers, judge_input, plan_lines
    from epbench.tulving.released.runs import clipped, read_published_run
    from epbench.tulving.scores.judge_agreement import agreement_table, judge_agreement

    out = args.out / run.folder
    names = (args.judge, f"{run.book.generator} (published)")
    published = read_published_run(archive.files, run)
    inputs = [judge_input(row, answer) for row, answer in zip(published.rows, published.answers, strict=True)]
    if not _goes_on(args, judge, [f"{run.label}:", *plan_lines(judge, inputs)]):
        return None
    identity = _identity(args, judge, "judge agreement", released=run.book.folder, run=run.path)
    with open_run(out, identity, {"book": run.book.name}) as folder:
        record_answers(folder, {one.id: one.answer for one in inputs}, run.path)
        ours = judge_answers(folder, published.rows, judge, command.bar)
        theirs = [clipped(row) for row in published.judged()]
        agreement = judge_agreement(ours, theirs, {one.id: (one.question, one.answer) for one in inputs})
        missing = len(inputs) - len(ours)
        write_json(folder / "agreement.json", {"judges": list(names), "n_failed": missing, **agreement})
        write_text(folder / "table.md", agreement_table(agreement, names))
    if missing:
        command.console().say(f"{run.label}: {missing} answers have no verdict; they are left out")
    return agreement


def _judge(args: Arguments) -> Judge:
    from epbench.tulving.judging.load import load_judge
    from epbench.tulving.wording import read_wording

    prompts = args.judge_prompts or read_wording(args.wording).get("judge")
    return load_judge(args.judge, args.backend.options, prompts=prompts, max_tokens=args.judge_max_tokens)


if __name__ == "__main__":
    command.run(main)
