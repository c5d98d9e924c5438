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
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.reports.tables import Table
    from epbench.runs.benchmark import Check


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The command line."""

    runs: list[Path] = argument("folders of runs", positional=True, metavar="RUN")
    dataset: str | None = argument("where the dataset is now, if not where the run found it", metavar="D")
    released: Path | None = argument("the archive that a published run was scored from", metavar="ZIP")
    prompts: Path | None = argument("MemFail: the reader's prompt pack, if not ours", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.runs.several import runs_below

    found = {folder: _verified(folder, args) for run in args.runs for folder in runs_below(run)}
    console = command.console()
    for folder, checks in found.items():
        console.print(_table(folder, checks))
    every = [(folder, check) for folder, checks in found.items() for check in checks]
    wrong = [f"{folder}: {check.what}: {check.said}" for folder, check in every if check.held is False]
    console.say_all(wrong)
    n, unknown = len(every), sum(check.held is None for _, check in every)
    console.say(f"{n - len(wrong) - unknown} of {n} checks hold, {len(wrong)} do not, {unknown} could not be made")
    if wrong:
        sys.exit(1)


def _verified(folder: Path, args: Arguments) -> list[Check]:
    """All checks of one run."""
    from epbench.runs.benchmark import Check, benchmark_named
    from epbench.runs.several import FINETUNING
    from epbench.runs.verification import check_hashes, check_versions, compare_results, finished_run, recompute

    run = finished_run(folder)
    name = run["identity"].get("benchmark")
    benchmark = None if name == FINETUNING else benchmark_named(name, folder / "run.json")
    checks = [check_versions(run), *_weights(run["identity"], run.get("model_args", {})), *check_hashes(folder)]
    if benchmark is None:
        return [*checks, Check("results", None, "those of a training are not computed again; its measures are runs")]
    with tempfile.TemporaryDirectory(prefix="epbench-verify-") as scratch:
        again = Path(scratch) / "run"
        if "released" in run["identity"] and args.released:
            from epbench.tulving.released.runs import score_again

            checks += _recomputed(partial(score_again, args.released, folder), again)
        else:
            past = partial(recompute, benchmark, folder, dataset=args.dataset, prompts=args.prompts)
            checks += _recomputed(past, again)
        if (again / "scores.json").exists():
            checks += compare_results(folder, again, benchmark.later)
    return checks


def _recomputed(recompute: Callable[[Path], list[Check]], again: Path) -> list[Check]:
    """The checks of computing everything again; journals that give no score are a fault, and no error of the command."""
    from epbench.errors import NothingToScore
    from epbench.runs.benchmark import Check

    try:
        return recompute(again)
    except NothingToScore as error:
        return [Check("scores.json", False, f"the journals give no score: {error}")]


def _weights(identity: dict[str, Any], model_args: dict[str, Any]) -> list[Check]:
    """Whether the weights of a model on this machine are still those of the run."""
    from epbench.errors import EpbenchError
    from epbench.files.typed import fields, typed
    from epbench.models.load import Options, load_model
    from epbench.models.protocol import weights_of
    from epbench.runs.benchmark import Check, check_fingerprint

    if "weights" not in identity:
        return []
    typed("run.json, field 'identity'", identity, fields({"weights": str, "model": str}))
    typed("run.json, field 'model_args'", model_args, fields({}, {"commit": str, "adapter": str}))
    fingerprint, _, dtype = str(identity["weights"]).partition("-")
    options = Options(dtype=dtype or "auto", revision=model_args.get("commit"), adapter=model_args.get("adapter"))
    try:
        found = weights_of(load_model(identity["model"], options)).get("weights")
    except (EpbenchError, ImportError) as error:
        return [Check("weights", None, f"{identity['model']} is not here: {error}")]
    if found in (None, dtype):  # without files there is no fingerprint, and the dtype stands alone
        return [Check("weights", None, f"{identity['model']} is not here")]
    return [check_fingerprint("weights", str(found).partition("-")[0], fingerprint)]


def _table(folder: Path, checks: Sequence[Check]) -> Table:
    from epbench.reports.tables import Table

    words = {True: "holds", False: "does not hold", None: "not checked"}
    return Table(["checked", "", "why"], [[c.what, words[c.held], c.said] for c in checks], str(folder), text_columns=3)


if __name__ == "__main__":
    command.run(main)
