"""The results of a run on a Tulving book, computed again from its journals, to be compared with those in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from types import NoneType

from epbench.errors import BadInput
from epbench.files.shapes import MAYBE_TEXT, Shape, check
from epbench.hub.rows import Row
from epbench.judges.journal import JUDGEMENTS
from epbench.judges.protocol import JudgeIdentity, identity_of, noted_judge
from epbench.runs.answers import ANSWERS, no_progress
from epbench.runs.folder import dataset_of
from epbench.runs.journal import read_journal
from epbench.runs.subset import subset
from epbench.runs.verification import Check, check_fingerprint, check_records, copy_journals
from epbench.tulving.dataset.load import load_book
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.verdicts import ask_judge
from epbench.tulving.scores.results import finish
from epbench.tulving.scores.run_files import read_run

_RUN = Shape(
    {
        "dataset": (str,), "judge": Shape({"name": (str,), "prompt_hash": (str,)}, {"setup": (str,)}),
        "identity": Shape({"fingerprint": (str,)}, {"repeats": (int,)}),
    },
    {"label": (str,), "limit": (int, NoneType), "shard": MAYBE_TEXT},
)  # fmt: skip
"""What run.json must say, so that the results can be computed again."""


def recompute(folder: Path, scratch: Path, dataset: str | None = None) -> list[Check]:
    """Compute the results of a run again, into an empty folder; on another dataset than the run's, nothing is computed.

    Args:
        folder: The run's folder.
        scratch: The folder for the results.
        dataset: Where the dataset is now; None for where the run found it.

    Returns:
        What was checked on the way: the dataset, that every answer is to one of its questions, and, where the judge goes by
        rules, that it still gives the verdicts in the journal.

    Raises:
        BadInput: The run is a published one, or it or the dataset cannot be read.
        NothingToScore: The journals have no judged answer.
    """
    run = read_run(folder)
    if "released" in run["identity"]:
        raise BadInput(f"{folder}: a published run; give the archive that it was scored from")
    check(str(folder / "run.json"), run, _RUN)
    data = load_book(dataset or dataset_of(run) or "")
    checks = [check_fingerprint("dataset", data.fingerprint, run["identity"].get("fingerprint"))]
    if "chapters" in run["identity"]:
        checks.append(check_fingerprint("chapters", data.chapters, run["identity"]["chapters"]))
    else:
        checks.append(
            Check("chapters", None, "the run has no fingerprint of their texts; a run that begins now writes it")
        )
    if any(check.held is False for check in checks):
        return checks  # other questions: nothing would follow from these journals
    rows = subset(data.rows, itemgetter("id"), run.get("limit"), run.get("shard"))
    checks.append(_check_questions(folder, rows))
    copy_journals(folder, scratch)
    judge = noted_judge(run["judge"])
    checks.append(_judge_again(folder, scratch / "judged", rows, judge))
    label, repeats = run.get("label", folder.name), run["identity"].get("repeats", 1)
    finish(scratch, rows, judge, label, repeats=repeats, chapters=data.book.chapters)
    return checks


def _check_questions(folder: Path, rows: Sequence[Row]) -> Check:
    asked = {row["id"] for row in rows}
    strange = [record["id"] for record in read_journal(folder / ANSWERS).values() if record["id"] not in asked]
    said = f"{len(strange)} answers are to no question of the run, such as {strange[0]!r}" if strange else ""
    return Check(ANSWERS, not strange, said)


def _judge_again(folder: Path, scratch: Path, rows: Sequence[Row], judge: JudgeIdentity) -> Check:
    """Have a judge that goes by rules judge all answers anew, in a scratch folder."""
    rules = LexicalJudge()
    if identity_of(judge) != identity_of(rules):
        return Check(JUDGEMENTS, None, f"{judge.name} is not asked again; the results were computed from its verdicts")
    copy_journals(folder, scratch)
    (scratch / JUDGEMENTS).unlink(missing_ok=True)
    ask_judge(scratch, rows, rules, no_progress)
    return check_records(folder, scratch, JUDGEMENTS, judge.name)
