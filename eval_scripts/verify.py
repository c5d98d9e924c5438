"""Check that the files of a run are what its journals give, and that it is about what it says.

    python eval_scripts/verify.py runs/long/rag-chapter
    python eval_scripts/verify.py runs/memfail/verbatim-bm25 --dataset out/memfail
    python eval_scripts/verify.py runs/published/long/gpt-4o --released episodic-memory-benchmark.zip

Everything is computed again from the journals, in a scratch folder: each score, table, page and row of questions.parquet
must be the one in RUN. The dataset must have the fingerprint that the run has noted, and so must the weights of a model on
this machine; every answer must be to a question of the run; a judge that goes by rules must still give the same verdicts;
and no file may have changed since the run ended. Other versions of libraries are told, and are no fault. Nothing is asked
of any model, and RUN stays as it is. A run of several configs, or a training with the runs that measured it, is checked run
by run.

What this cannot show: that answers were really given by the model that the run names. Somebody who makes up answers, has
them judged and scored, and writes new hashes leaves a run that holds.

The exit status is 0 if everything holds that could be checked, and 1 if something does not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.reports.tables import Table
    from epbench.runs.benchmark import Check


@dataclass(frozen=True, kw_only=True)
class Arguments:
    runs: list[Path] = argument("folders of runs", positional=True, metavar="RUN")
    dataset: str | None = argument("where the dataset is now, if not where the run found it", metavar="D")
    released: Path | None = argument("the archive that a published run was scored from", metavar="ZIP")
    prompts: Path | None = argument("MemFail: the reader's prompt pack or file of wording, if not ours", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.runs.several import runs_below
    from epbench.runs.verification import verify
    from epbench.tulving.released.runs import score_again

    again = partial(score_again, args.released) if args.released else None
    every = [folder for run in args.runs for folder in runs_below(run)]
    found = {folder: verify(folder, args.dataset, args.prompts, again) for folder in every}
    console = command.console()
    for folder, checks in found.items():
        console.print(_table(folder, checks))
    wrong = [
        f"{folder}: {check.what}: {check.said}" for folder, of in found.items() for check in of if check.held is False
    ]
    console.say_all(wrong)
    n, unknown = sum(map(len, found.values())), sum(check.held is None for of in found.values() for check in of)
    console.say(f"{n - len(wrong) - unknown} of {n} checks hold, {len(wrong)} do not, {unknown} could not be made")
    if wrong:
        sys.exit(1)


def _table(folder: Path, checks: Sequence[Check]) -> Table:
    from epbench.reports.tables import Table

    words = {True: "holds", False: "does not hold", None: "not checked"}
    return Table(["checked", "", "why"], [[c.what, words[c.held], c.said] for c in checks], str(folder), text_columns=3)


if __name__ == "__main__":
    command.run(main)
