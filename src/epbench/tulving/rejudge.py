"""Another judge for the answers of an earlier run: the reader is asked nothing.

`prepare` checks that the run is the expected one, and `run` has the judge read its answers. The scores of the run are those
of the last judge that has judged every answer; the verdicts of all judges are kept. A judge that is given only a part of the
answers makes a trial, which leaves the scores as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import scrubbed, without_login
from epbench.hub.rows import Row, subset
from epbench.journals.answers import ANSWERS, fingerprint_of
from epbench.judges.protocol import is_free
from epbench.progress import Progress, no_progress
from epbench.runs.folder import check_identity, judge_of_scores, note_judge, open_run
from epbench.tulving.context.requests import load_prompts
from epbench.tulving.dataset.load import Loaded, load_book
from epbench.tulving.evaluate import Evaluated, judging_notes, notes_on, telling_failures
from epbench.tulving.judging.own_answers import read_answers
from epbench.tulving.judging.verdicts import Judge, check_all_judged, judge_answers, lost_questions, plan_open
from epbench.tulving.scores.results import finish, scores_of
from epbench.tulving.scores.run_files import read_run

READER = ("memory", "model", "top_k", "keep_order", "retriever", "temperature", "max_tokens", "seed", "repeats")
"""Fields of the identity of a run that say what its reader was shown, and how it answered."""


@dataclass(frozen=True, kw_only=True)
class Rejudging:
    """Which answers are judged again, and by whom."""

    folder: Path  # the folder of the run
    dataset: str  # the dataset of the run: a name on the Hub, or its folder
    judge: Judge  # the other judge
    # What the run must be, by any of the names in `READER`, and: prompts, the file of the reader's prompt pack;
    # answers, the file whose answers the run scored; and, beside the model, base_url, the address of its endpoint. A
    # published run is asked for none of this.
    said: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None  # the number of questions of a trial; None for all of the run
    # Which part of the questions is a trial, as `i/n`; that of the run is all of it, and so is None
    shard: str | None = None


@dataclass(frozen=True)
class Prepared:
    """A run whose answers can be judged again."""

    rejudging: Rejudging  # what was asked for
    described: Mapping[str, Any]  # the content of run.json
    identity: Mapping[str, Any]  # what the identity in run.json must be
    data: Loaded
    asked: Sequence[Row]  # the questions of the run
    rows: Sequence[Row]  # those whose answers are judged
    warnings: Sequence[str] = ()  # there is nothing to know before the judge begins

    @property
    def plan(self) -> list[str]:
        """What judging costs at most, one line for each number."""
        return plan_open(self.rejudging.folder, self.rows, self.rejudging.judge)

    @property
    def is_free(self) -> bool:
        """Whether the judge costs nothing."""
        return is_free(self.rejudging.judge)


def prepare(rejudging: Rejudging) -> Prepared:
    """Read which run is judged again, and check that it is the expected one, else BadInput; nothing is written."""
    folder = rejudging.folder
    answers = folder / ANSWERS
    if not (folder / "run.json").is_file() or not answers.is_file() or not answers.stat().st_size:
        raise BadInput(f"{folder}: no answers here; --rejudge judges those of an earlier run")
    data, run = load_book(rejudging.dataset), read_run(folder)
    asked = subset(data.rows, itemgetter("id"), run.get("limit"), run.get("shard"))
    shard = None if rejudging.shard == run.get("shard") else rejudging.shard
    identity = scrubbed(_identity(rejudging, run, data))
    check_identity(folder, run["identity"], identity)
    return Prepared(rejudging, run, identity, data, asked, subset(asked, itemgetter("id"), rejudging.limit, shard))


def _identity(rejudging: Rejudging, run: Mapping[str, Any], data: Loaded) -> dict[str, Any]:
    if "released" in run["identity"]:
        if run.get("fingerprint") != data.fingerprint:
            raise BadInput(
                f"{rejudging.folder / 'run.json'}: a published run on {run['book']!r} with fingerprint "
                f"{run.get('fingerprint')}, but {rejudging.dataset} has {data.fingerprint}. Give the book that "
                "builders/tulving.py --released makes of the archive; if the run has no fingerprint, score it again with "
                "--released"
            )
        return {"benchmark": "tulving"}
    expected = rejudging.said
    identity: dict[str, Any] = {"benchmark": "tulving", **data.identity}
    identity |= {name: expected[name] for name in READER if name in expected}
    if "prompts" in expected:
        identity["prompts"] = fingerprint_of(load_prompts(expected["prompts"]))
    if "model" in expected and expected.get("base_url"):  # without a model it is the address of the judge
        identity["base_url"] = without_login(expected["base_url"])
    if expected.get("answers"):
        identity["answers"] = read_answers(expected["answers"], [row["id"] for row in data.rows]).fingerprint
    return identity


def run(
    prepared: Prepared, *, progress: Progress = no_progress, say: Callable[[str], None] = lambda line: None
) -> Evaluated:
    """Have the judge read the answers; the scores of the run change once it has judged all of them.

    A trial returns scores that no file has. `say` is told why the judge gave no verdict, also if there is nothing to score.
    BadInput if another process is at work in the run, or its journals were changed since it was scored; RunFailed if a verdict
    is missing and the run has scores by another judge, or if there is no judged answer.
    """
    rows, judge, described = prepared.rows, prepared.rejudging.judge, prepared.described
    label, repeats = described.get("label", prepared.rejudging.folder.name), described["identity"].get("repeats", 1)
    out = prepared.rejudging.folder
    with open_run(out, prepared.identity, {}) as folder, telling_failures(folder, judge, say):
        verdicts = judge_answers(folder, rows, judge, progress)
        if rows != prepared.asked:
            scores = scores_of(verdicts, lost_questions(rows, verdicts, repeats), judge=judge)
            current = judge_of_scores(folder)
            remain = f"still those of judge {current.name}" if current else "not made yet"
            trial = (
                f"this was a trial on {len(rows)} questions; its verdicts are kept, the scores in {folder} are {remain}"
            )
            return Evaluated(scores, label, [*judging_notes(folder), trial])
        check_all_judged(folder, rows, verdicts, judge)
        scores = finish(folder, rows, judge, label, repeats=repeats, chapters=prepared.data.book.chapters)
        note_judge(folder, judge, dataset=prepared.rejudging.dataset)
        return Evaluated(scores, label, notes_on(folder))
