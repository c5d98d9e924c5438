"""Take runs and tasks to where other people's tools read them: inspect_ai, lm-eval, lighteval, and the Hub.

    python eval_scripts/export.py inspect runs/long/in-context runs/memfail/none --out logs && inspect view --log-dir logs
    python eval_scripts/export.py eval-results runs/sort/in-context --repo Qwen/Qwen3-8B --out model_page
    lm_eval run --model dummy --include_path "$(python eval_scripts/export.py lm-eval-path)" --tasks epbench_tulving_short
    lighteval accelerate model_name=Qwen/Qwen3-8B epbench_booksort --custom-tasks "$(python eval_scripts/export.py lighteval-path)"

inspect writes a log of inspect_ai for each run: every question with its prompt, its answer and its score, and a question
that failed as an error. Its metrics are the numbers of scores.json, and a book is in the file once. The prompts are made
again from the run's dataset; where they cannot be, the log has the questions alone and says why. A folder may hold the
runs of several configs. The runs stay as they are.

eval-results writes OUT/.eval_results/NAME.yaml, with which the Hub shows the scores of a run on the page of the model --repo.
It takes complete runs on datasets of the Hub, and prints the command that proposes the file to the model's repository.

lm-eval-path and lighteval-path print where our tasks for these harnesses are: a folder for --include_path of lm-eval, and a
file for --custom-tasks of lighteval. The tasks of inspect_ai need no path: inspect eval epbench/tulving finds them.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from epbench import command


@dataclass(frozen=True)
class Arguments:
    """The command line.

    Attributes:
        what: The subcommand.
        runs: The folders of runs.
        out: The folder for what is written.
        repo: The name of a model's repository on the Hub.
    """

    what: str
    runs: Sequence[Path] = ()
    out: Path = field(default_factory=Path)
    repo: str = ""


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    if args.what == "inspect":
        _write_logs(args)
    elif args.what == "eval-results":
        _write_results(args)
    else:
        _show_path("lm_eval" if args.what == "lm-eval-path" else "lighteval/tasks.py")


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    log = commands.add_parser("inspect", help="write logs of inspect_ai", allow_abbrev=False)
    log.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    log.add_argument("--out", type=Path, required=True, help="folder for the logs")
    results = commands.add_parser("eval-results", help="write scores for a model's page on the Hub", allow_abbrev=False)
    results.add_argument("runs", nargs=1, type=Path, metavar="RUN", help="folder of a run")
    results.add_argument(
        "--repo", required=True, metavar="MODEL", help="repository of the model, such as Qwen/Qwen3-8B"
    )
    results.add_argument("--out", type=Path, required=True, help="folder that becomes the repository, or a clone of it")
    commands.add_parser("lm-eval-path", help="print the folder of our tasks for lm-eval", allow_abbrev=False)
    commands.add_parser("lighteval-path", help="print the file of our tasks for lighteval", allow_abbrev=False)
    return Arguments(**vars(parser.parse_args(argv)))


def _write_logs(args: Arguments) -> None:
    from epbench.interop.inspect_log import write_inspect_log
    from epbench.runs.several import runs_in

    folders = [folder for run in args.runs for folder in runs_in(run)]
    for folder in command.bar(folders, "logs", len(folders)):
        command.console().say(f"log: {write_inspect_log(folder, args.out)}")
    command.console().say(f"to read them: inspect view --log-dir {args.out}")


def _write_results(args: Arguments) -> None:
    from epbench.interop.eval_results import FOLDER, write_eval_results

    console = command.console()
    console.say(f"scores: {write_eval_results(args.runs[0], args.repo, args.out)}")
    console.say("to propose them to the model's repository:")
    console.say(f"hf upload {args.repo} {args.out / FOLDER} {FOLDER} --repo-type model --create-pr")


def _show_path(name: str) -> None:
    import epbench.interop

    print(Path(epbench.interop.__file__).absolute().parent / name)


if __name__ == "__main__":
    command.run(main)
