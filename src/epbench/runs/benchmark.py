"""What the shared packages know of a benchmark: how a run of it is scored again, compared and shown.

Each benchmark has one such record, `BENCHMARK` in its `benchmark.py`; it is found by the name that run.json gives. With it, the
results of a run are computed again from its journals, as is questions.parquet of a run of an earlier version, which has none.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.typed import fields, typed
from epbench.hub.rows import parquet_errors
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGE, JUDGEMENTS, identity_of, noted_judge
from epbench.runs.checksums import CHECKSUMS
from epbench.runs.folder import dataset_of, read_run
from epbench.runs.results import QUESTIONS, RESULTS, Scored
from epbench.runs.several import benchmark_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from epbench.reports.page import Headline
    from epbench.statistics.paired import Comparison, Progress

NAMES = ("tulving", "booksort", "memfail")
COMPUTED = (*RESULTS, QUESTIONS)  # the files that are computed from the journals of a run
SECONDS = "seconds"  # how long something took; only the first computation knows it
_JUDGED = fields({"judge": JUDGE})


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, or could not be."""

    what: str  # what was checked, such as `scores.json`
    held: bool | None  # whether it holds; None if it could not be checked
    said: str = ""  # what was found and what was expected, or why it was not checked; empty if it holds


def check_fingerprint(what: str, found: str, expected: Any) -> Check:
    """Whether a dataset or weights (`what`) have the fingerprint in run.json."""
    held = found == expected
    return Check(what, held, "" if held else f"found fingerprint {found}, that of the run is {expected}")


@dataclass(frozen=True, kw_only=True)
class Described:
    """What is known of a run that ended, or of one that is put together from shards."""

    folder: Path  # the folder of the run, or of its first shard
    run: Mapping[str, Any]  # the content of run.json there
    dataset: str  # where the dataset is
    limit: int | None = None  # the number of questions that the run was limited to; None for all
    shard: str | None = None  # which part of the questions it asked, as `i/n`; None for all
    prompts: Path | None = None  # the reader's prompt pack, if the run had another one than ours; for MemFail alone
    merged: bool = False  # whether the run is put together from shards


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A run with its dataset: all that its results need beside its journals."""

    checks: Sequence[Check]  # whether the dataset is that of the run, and what else was checked while it was read
    # Given a folder, the judge and the label of the run, computes the results from the journals there, writes them, and
    # returns the content of scores.json.
    finish: Callable[[Path, Any, str], dict[str, Any]]
    ids: Collection[str] | None = None  # those of the questions that the run asked; None if its answers have other ids
    # Has a judge judge the answers in the journals of a folder that it has not judged; its verdicts are journaled.
    judge: Callable[[Path, Any], object] = lambda folder, judge: None
    # Given a folder and a judge, how often the judge gave no verdict, by reason.
    failures: Callable[[Path, Any], dict[str, int]] = lambda folder, judge: {}
    # Given the label and the scores, those that tables take.
    shown: Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]] = lambda label, scores: (label, scores)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark."""

    name: str  # as run.json has it, such as `tulving`
    title: str  # as people read it, such as "Tulving book"
    described: type[Struct]  # what run.json must say, so that the run can be scored again
    # Reads the dataset of a past run, or raises BadInput if it cannot, or if the prompts are not those of the run.
    past: Callable[[Described], PastRun]
    journals: Sequence[str]  # the journals that are joined when shards are
    # Compares any two of several runs, given their folders by name, where the dataset is, and a progress bar.
    compare: Callable[[Mapping[str, Path], str | None, Progress], Comparison]
    # Writes table.md and report.html of several runs into a folder, and returns their scores by label, and what must be
    # said beside them.
    side_by_side: Callable[..., tuple[dict[str, dict[str, Any]], list[str]]]
    # From the content of scores.json to the scores at the top of a page; None for one that was not measured.
    headlines: Callable[[Mapping[str, Any]], Sequence[Headline | None]]
    # The tables of the scores of several runs by their names, for the screen.
    screen_tables: Callable[[Mapping[str, Any]], Group]
    columns: Collection[str]  # columns of which the rows of its datasets have one, and those of no other benchmark
    score: Callable[..., Scored[Any]]  # scores answers that somebody else has to some rows; see `score`
    rules: Callable[[], Any] | None = None  # makes the judge that goes by rules; None for a benchmark without judges
    # The field of the identity by which one command makes several runs, such as `config`; None if it makes one.
    part: str | None = None
    # The JSON files that are joined likewise, with their types; no two shards have a field in common.
    objects: Mapping[str, Any] = field(default_factory=dict)
    # Fields of scores.json that earlier versions did not write, those of one version together.
    later: Sequence[Collection[str]] = ()


def benchmark_named(name: str | None, where: Path) -> Benchmark:
    """The benchmark with the name that run.json gives; BadInput if there is none, as where the run is a training."""
    if name not in NAMES:
        raise BadInput(f"{where}: expected a run of {', '.join(NAMES[:-1])} or {NAMES[-1]}, found benchmark {name!r}")
    benchmark: Benchmark = import_module(f"epbench.{name}.benchmark").BENCHMARK
    return benchmark


def find_benchmark(folder: Path) -> Benchmark:
    """The benchmark of the run in a folder, or of the runs of several configs in its subfolders; BadInput without one."""
    return benchmark_named(benchmark_of(folder), folder)


def score(
    rows: Iterable[Mapping[str, Any]], answers: Mapping[str, Any], judge: Any = "lexical", **more: Any
) -> Scored[Any]:
    """Score answers that somebody else's code has to some rows of a dataset, whose columns say of which benchmark they are.

    Args:
        rows: Rows as `datasets.load_dataset` gives them.
        answers: The answers by the id of the question; None stands for a request that failed.
        judge: The name of a judge, `lexical` (rules) by default, or a judge. Book-SORT has none.
        more: What `epbench.memfail.score` needs besides.

    Returns:
        What `epbench.tulving.score`, `epbench.booksort.score` or `epbench.memfail.score` returns, which say more.

    Raises:
        BadInput: The rows are of no benchmark, or the answers do not fit them.
        NothingToScore: All questions have failed.
    """
    rows = list(rows)
    for name in NAMES if rows else ():
        benchmark = benchmark_named(name, Path())
        if not rows[0].keys().isdisjoint(benchmark.columns):
            return benchmark.score(rows, answers, **({"judge": judge} if benchmark.rules else {}), **more)
    columns = ", ".join(rows[0]) if rows else "no rows"
    raise BadInput(f"rows: expected rows of a dataset of {', '.join(NAMES[:-1])} or {NAMES[-1]}, found {columns}")


def check_answers(ids: Sequence[str], answers: Mapping[str, Any], types: tuple[type, ...]) -> None:
    """Refuse answers, by id, that do not fit the questions, or are neither None nor of these types.

    BadInput if a question occurs several times, an answer belongs to no question, or is of another type.
    """
    known = set(ids)
    if len(known) < len(ids):
        repeated = Counter(ids).most_common(1)[0][0]
        raise BadInput(f"rows, field 'id': expected each question once, found {repeated!r} several times")
    for id_, answer in answers.items():
        if id_ not in known:
            raise BadInput(f"answers: no question has the id {id_!r}")
        if answer is not None and not isinstance(answer, types):
            kind = type(answer).__name__
            raise BadInput(f"answers, id {id_!r}: expected a text, or None for a failure, found {kind}")


def copy_journals(folder: Path, scratch: Path) -> None:
    """Copy what results are computed from, run.json and the journals, into an empty folder."""
    scratch.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(".") and path.name not in (*COMPUTED, CHECKSUMS):
            shutil.copyfile(path, scratch / path.name)


def recompute(
    benchmark: Benchmark, folder: Path, scratch: Path, dataset: str | None = None, prompts: Path | None = None
) -> list[Check]:
    """Compute the results of a run again, into an empty folder; on another dataset than the run's, nothing is computed.

    The checks on the way: the dataset, that every answer is to one of its questions, and, where the judge goes by
    rules, that it still gives the verdicts in the journal. BadInput if the run is a published one, or it, the dataset
    or the prompts cannot be read. NothingToScore if the journals have no judged answer.
    """
    run = read_run(folder)
    if "released" in run["identity"]:
        raise BadInput(f"{folder}: a published run; give the archive that it was scored from")
    typed(str(folder / "run.json"), run, benchmark.described)
    where, limit, shard = dataset or dataset_of(run) or "", run.get("limit"), run.get("shard")
    past = benchmark.past(Described(folder=folder, run=run, dataset=where, limit=limit, shard=shard, prompts=prompts))
    checks = list(past.checks)
    if any(check.held is False for check in checks):
        return checks  # other questions: nothing would follow from these journals
    if past.ids is not None:
        strange = [record["id"] for record in read_journal(folder / ANSWERS).values() if record["id"] not in past.ids]
        note = f"{len(strange)} answers are to no question of the run, such as {strange[0]!r}" if strange else ""
        checks.append(Check(ANSWERS, not strange, note))
    copy_journals(folder, scratch)
    judge: Any = None
    if benchmark.rules:
        typed(str(folder / "run.json"), run, _JUDGED)
        judge, rules = noted_judge(run["judge"]), benchmark.rules()
        if judge == identity_of(rules):
            judge = rules
            judged = scratch / "judged"  # all answers anew
            copy_journals(folder, judged)
            (judged / JUDGEMENTS).unlink(missing_ok=True)
            past.judge(judged, rules)
            checks.append(check_records(folder, judged, JUDGEMENTS, rules.name))
        else:
            note = f"{judge.name} is not asked again; the results were computed from its verdicts"
            checks.append(Check(JUDGEMENTS, None, note))
    past.finish(scratch, judge, run.get("label", folder.name))
    return checks


def check_records(folder: Path, again: Path, name: str, whose: str) -> Check:
    """Whether a journal has the records that a judge, or whoever made them, made again, apart from how long they took."""
    noted, recomputed = read_journal(folder / name), read_journal(again / name)
    took = {SECONDS: 0}
    wrong = [key for key, record in recomputed.items() if noted.get(key, {}) | took != record | took]
    if not wrong:
        return Check(name, True)
    first = recomputed[wrong[0]]
    how = "is another" if wrong[0] in noted else "is missing"
    about = f"{first['kind']} of {first['id']!r}" if "kind" in first else repr(first["id"])
    return Check(name, False, f"{len(wrong)} records are not those of {whose}, such as that about {about}, which {how}")


def read_questions(folder: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read questions.parquet of a run, or compute it from the journals of a run of an earlier version, which has none.

    BadInput if the file is no Parquet file, or lacks one of the columns; or there is none and the journals do not give
    it.
    """
    questions: pd.DataFrame = read_rows(folder, columns, "to_pandas")
    return questions


def read_rows(folder: Path, columns: Iterable[str], form: str) -> Any:
    """The same in a form to which a table of Arrow can be turned, such as `to_pylist`: records, with None for null."""
    import pyarrow.parquet as pq

    path = folder / QUESTIONS
    if not path.is_file():
        return _computed(folder, columns, form)
    try:
        table = pq.read_table(path)
        rows = getattr(table, form)()
    except parquet_errors() as error:
        raise BadInput(f"{path}: expected a Parquet file ({error})") from None
    if absent := [column for column in columns if column not in table.column_names]:
        raise BadInput(f"{path}: expected a column {absent[0]!r}, found {', '.join(table.column_names)}")
    return rows


def read_records(folder: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    """Read the rows of questions.parquet as records; none for a run of an earlier version, which has no such file."""
    return read_rows(folder, columns, "to_pylist") if (folder / QUESTIONS).is_file() else []


def _computed(folder: Path, columns: Iterable[str], form: str) -> Any:
    with tempfile.TemporaryDirectory(prefix="epbench-questions-") as scratch:
        recomputed = Path(scratch) / "run"
        try:
            checks = recompute(find_benchmark(folder), folder, recomputed)
            why = "; ".join(check.said for check in checks if not check.held)
        except BadInput as error:
            why = str(error)
        if (recomputed / QUESTIONS).is_file():
            return read_rows(recomputed, columns, form)
    raise BadInput(
        f"{folder} has no {QUESTIONS}; start the run again with the same command, which writes it and asks nothing twice "
        f"({why})"
    )
