"""Joining the folders of a run that was split over machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.typed import typed
from epbench.journals.journal import Journal, read_journal
from epbench.judges.protocol import identity_of, noted_judge
from epbench.runs.benchmark import Benchmark, Described
from epbench.runs.folder import LATER, check_judge, dataset_of, note, note_judge, open_run, read_run
from epbench.runs.several import runs_in


@dataclass(frozen=True)
class MergedRun:
    """The whole run that shards were joined to."""

    label: str  # the name of the run in tables
    scores: Mapping[str, Any]  # the content of scores.json
    # How often the judge gave no verdict, by reason; empty without a judge.
    failures: dict[str, int]


def merge(
    benchmark: Benchmark,
    shards: Sequence[Path],
    out: Path,
    dataset: str | None = None,
    limit: int | None = None,
    prompts: Path | None = None,
) -> list[MergedRun]:
    """Join the journals of shards, and score them as one run. A question that no shard has asked has failed.

    A shard is a run, or holds one for each config, and so does `out`. The dataset and the limit are those of the shards
    unless given; `prompts` is the reader's prompt pack, if they had another one than ours. BadInput if a folder is not
    a shard of the same run, the shards have different judges, limits or prompts, or the dataset has other rows.
    RunFailed if no shard has an answer.
    """
    join = partial(_merge, benchmark, dataset=dataset, limit=limit, prompts=prompts)
    if benchmark.part is None:
        return [join(shards, out)]
    by_part: dict[str, list[Path]] = {}
    for shard in shards:
        _check_other(shard, out)
        for folder in runs_in(shard):
            run = read_run(folder)
            typed(str(folder / "run.json"), run, benchmark.described)
            by_part.setdefault(run["identity"][benchmark.part], []).append(folder)
    several = len(by_part) > 1 or any(not (shard / "run.json").is_file() for shard in shards)
    return [join(folders, out / part if several else out) for part, folders in by_part.items()]


def _merge(
    benchmark: Benchmark,
    shards: Sequence[Path],
    out: Path,
    dataset: str | None,
    limit: int | None,
    prompts: Path | None,
) -> MergedRun:
    described = read_shards(shards, out, benchmark.described)
    first, limit = described[0], limit_of(described, limit)
    identity, dataset, label = first["identity"], dataset or dataset_of(first) or "", first.get("label", shards[0].name)
    judge = _judge_of(described, benchmark.rules()) if benchmark.rules else None
    whole = Described(folder=shards[0], run=first, dataset=dataset, limit=limit, prompts=prompts, merged=True)
    past = benchmark.past(whole)
    if any(check.held is False for check in past.checks):
        raise BadInput(f"{dataset}: its rows are not those of the runs; give the dataset of the runs")
    about = {"dataset": dataset, "label": label, "merged": [str(f) for f in shards]}
    about |= {name: first[name] for name in ("book",) if name in first}
    with open_run(out, identity, about) as folder:
        if judge is not None:
            check_judge(folder, judge)
        join_journals(shards, folder, benchmark.journals)
        for name, kind in benchmark.objects.items():
            if files := [shard / name for shard in shards if (shard / name).is_file()]:
                write_json(folder / name, dict(chain.from_iterable(read_json(file, kind).items() for file in files)))
        note(folder, limit=limit)
        past.judge(folder, judge)
        scores = past.finish(folder, judge, label)
        if judge is not None:
            note_judge(folder, judge)
    return MergedRun(*past.shown(label, scores), past.failures(out, judge))


def _judge_of(described: Sequence[Mapping[str, Any]], rules: Any) -> Any:
    """The judge of all shards. One that is a model is not asked again: its verdicts are in the journals."""
    judges = {noted_judge(run["judge"]) for run in described if "judge" in run}
    if len(judges) > 1:
        names = ", ".join(sorted(map(str, judges)))
        raise BadInput(f"the shards have different judges: {names}; have one judge judge them all")
    return judges.pop() if judges - {identity_of(rules)} else rules


def _check_other(shard: Path, out: Path) -> None:
    if shard.resolve() == out.resolve():
        raise BadInput(f"{out}: one of the shards; expected another folder for the whole run")


def read_shards(folders: Sequence[Path], out: Path, kind: type[Struct]) -> list[dict[str, Any]]:
    """Read run.json of every shard, in the order of `folders`; `kind` is what it must hold.

    A field of the identity that only some versions write is left out if a shard lacks it, since nothing is known of that
    shard then. BadInput: a folder holds no run, is `out` itself, or holds another run than the first one does.
    """
    described: list[dict[str, Any]] = []
    for folder in folders:
        _check_other(folder, out)
        run = read_run(folder)
        typed(str(folder / "run.json"), run, kind)
        described.append(run)
        for name in LATER:
            if any(name not in shard["identity"] for shard in described):
                for shard in described:
                    shard["identity"].pop(name, None)
        for name, value in described[0]["identity"].items():
            if run["identity"].get(name) != value:
                raise BadInput(
                    f"{folder / 'run.json'}: its {name} is {run['identity'].get(name)!r}; expected {value!r}, as in "
                    f"{folders[0]}"
                )
    return described


def limit_of(described: Sequence[Mapping[str, Any]], given: int | None) -> int | None:
    """The number of questions of the whole run: that which is given, or else that of the shards; None for all."""
    if given is not None:
        return given
    limits = {run["limit"] for run in described if "limit" in run}  # a shard that was stopped may not say
    if len(limits) > 1:
        raise BadInput(f"the shards have different limits ({', '.join(map(str, limits))}); give the right limit")
    return limits.pop() if limits else None


def join_journals(shards: Sequence[Path], out: Path, names: Sequence[str]) -> None:
    """Copy the records of the shards' journals into those of `out`; a question that any shard answered is answered.

    Each shard is locked while it is read. A journal that no shard has is not made.
    """
    joined = {name: Journal(out / name) for name in names if any((shard / name).exists() for shard in shards)}
    for shard in shards:
        with open_run(shard, {}, {}):
            for name, journal in joined.items():
                for record in read_journal(shard / name).values():
                    if not journal.done(record["key"]):
                        journal.add(**record)
    for journal in joined.values():
        journal.close()
