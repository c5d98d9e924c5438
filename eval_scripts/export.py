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
from dataclasses import dataclass
from pathlib import Path

from epbench import command
from epbench.arguments.declaring import argument, parse_subcommand


@dataclass(frozen=True, kw_only=True)
class InspectLogs:
    """write logs of inspect_ai"""

    runs: list[Path] = argument("folders of runs", positional=True, metavar="RUN")
    out: Path = argument("folder for the logs")


@dataclass(frozen=True, kw_only=True)
class EvalResults:
    """write scores for a model's page on the Hub"""

    runs: Path = argument("folder of a run", positional=True, metavar="RUN")
    repo: str = argument("repository of the model, such as Qwen/Qwen3-8B", metavar="MODEL")
    out: Path = argument("folder that becomes the repository, or a clone of it")
    source: str | None = argument("address of the published run, which the page then links to", metavar="URL")


@dataclass(frozen=True, kw_only=True)
class LmEvalPath:
    """print the folder of our tasks for lm-eval"""


@dataclass(frozen=True, kw_only=True)
class LightevalPath:
    """print the file of our tasks for lighteval"""


WHAT = {
    "inspect": InspectLogs,
    "eval-results": EvalResults,
    "lm-eval-path": LmEvalPath,
    "lighteval-path": LightevalPath,
}


def main(argv: Sequence[str] | None = None) -> None:
    args = parse_subcommand(WHAT, __doc__, argv)
    if isinstance(args, InspectLogs):
        _write_logs(args)
    elif isinstance(args, EvalResults):
        _write_results(args)
    else:
        _show_path("lm_eval" if isinstance(args, LmEvalPath) else "lighteval/tasks.py")


def _write_logs(asked: InspectLogs) -> None:
    from epbench.interop.inspect_log import write_inspect_log
    from epbench.runs.several import runs_in

    folders = [folder for run in asked.runs for folder in runs_in(run)]
    for folder in command.bar(folders, "logs", len(folders)):
        command.console().say(f"log: {write_inspect_log(folder, asked.out)}")
    command.console().say(f"to read them: inspect view --log-dir {asked.out}")


def _write_results(asked: EvalResults) -> None:
    from epbench.interop.eval_results import FOLDER, write_eval_results

    console = command.console()
    console.say(f"scores: {write_eval_results(asked.runs, asked.repo, asked.out, asked.source)}")
    console.say("to propose them to the model's repository:")
    console.say(f"hf upload {asked.repo} {asked.out / FOLDER} {FOLDER} --repo-type model --create-pr")


def _show_path(name: str) -> None:
    import epbench.interop

    print(Path(epbench.interop.__file__).absolute().parent / name)


if __name__ == "__main__":
    command.run(main)
