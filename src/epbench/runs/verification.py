"""Whether a run's files are what its journals give: its results are computed again in another folder and compared."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, EpbenchError, NothingToScore
from epbench.files.json_files import read_json
from epbench.files.text import shown
from epbench.files.typed import fields, typed
from epbench.hub.rows import parquet_errors
from epbench.models.load import Options, load_model
from epbench.models.protocol import weights_of
from epbench.runs.benchmark import COMPUTED, SECONDS, Check, benchmark_named, check_fingerprint, recompute
from epbench.runs.checksums import CHECKSUMS, changed_since, is_by_this_code, version_of
from epbench.runs.folder import read_run
from epbench.runs.several import FINETUNING

_HOW = fields({**dict.fromkeys(("command", "python", "platform"), str), "versions": dict[str, str]})
"""What run.json says of how a run was made."""
_CARD = "README.md"  # what the folder of a run has besides, once it is published
_MOST = 5  # the number of differences in one file that are named; the others are counted


def verify(
    folder: Path,
    dataset: str | None = None,
    prompts: Path | None = None,
    score_again: Callable[[Path, Path], list[Check]] | None = None,
) -> list[Check]:
    """Check that a run's files are what its journals give, and that it is about what it says.

    A training is checked for changed files only. The dataset is where the run found it unless given; `prompts` is the
    reader's prompt pack, if the run had another one than ours. `score_again` scores a published run anew, given its
    folder and an empty one; None without its archive. BadInput if the folder holds no finished run, or the dataset, the
    prompts or the archive cannot be read.
    """
    if not (folder / "scores.json").is_file():
        raise BadInput(f"{folder} has no scores.json; only a run that has ended can be verified")
    run = read_run(folder)
    typed(str(folder / "run.json"), run, _HOW)
    name = run["identity"].get("benchmark")
    checks = [check_versions(run), *_weights(run["identity"], run.get("model_args", {})), *check_hashes(folder)]
    if name == FINETUNING:
        return [*checks, Check("results", None, "those of a training are not computed again; its measures are runs")]
    benchmark = benchmark_named(name, folder / "run.json")
    with tempfile.TemporaryDirectory(prefix="epbench-verify-") as scratch:
        again = Path(scratch) / "run"
        try:
            if "released" in run["identity"] and score_again:
                checks += score_again(folder, again)
            else:
                checks += recompute(benchmark, folder, again, dataset, prompts)
        except NothingToScore as error:
            checks.append(Check("scores.json", False, f"the journals give no score: {error}"))
        if (again / "scores.json").exists():
            checks += compare_results(folder, again, benchmark.later)
    return checks


def _weights(identity: Mapping[str, Any], model_args: Mapping[str, Any]) -> list[Check]:
    """Whether the weights of a model on this machine are still those of the run."""
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


def check_hashes(folder: Path) -> list[Check]:
    """Whether the files are those that the run left when it ended."""
    changed = changed_since(folder)
    if changed is None:
        return [Check(CHECKSUMS, None, "the run has no hashes of its files; a run that ends now writes them")]
    explanations = {
        "changed": "its content is not that at the end of the run",
        "missing": "it was there at the end of the run",
        "new": "it was not there at the end of the run",
        "grown": "records were added after the end of the run; those before are as they were",
    }
    changed = {name: how for name, how in changed.items() if (name, how) != (_CARD, "new")}
    checks = [Check(name, None if how == "grown" else False, explanations[how]) for name, how in changed.items()]
    return checks or [Check("hashes of all files", True)]


def check_versions(run: Mapping[str, Any]) -> Check:
    """Whether the libraries here are those of the run; another version is told, and is no fault."""
    here = {name: version_of(name) or "none" for name in run["versions"]}
    others = [f"{name} {found}, here {here[name]}" for name, found in run["versions"].items() if here[name] != found]
    return Check("versions", None if others else True, "; ".join(others))


def compare_results(folder: Path, again: Path, later: Collection[Collection[str]] = ()) -> list[Check]:
    """Compare each result of a run with the same file, computed `again` from the same journals.

    `later` are fields of scores.json that earlier versions did not write, those of one version together. A run without
    any of these is of an earlier version: they, and the tables and pages that show them, are then not compared.
    """
    checks = []
    same_judge = _same_judge(folder, again)
    stored = read_json(folder / "scores.json").keys() if (folder / "scores.json").exists() else set().union(*later)
    older = frozenset[str]().union(*(fields for fields in later if not set(fields) & stored))
    skipped = frozenset(() if same_judge else ("judge", "corrected")) | older
    another = bool(older) or ((folder / CHECKSUMS).is_file() and not is_by_this_code(folder))
    for name in COMPUTED:
        if not (folder / name).exists():
            if (again / name).exists():
                checks.append(Check(name, None, "the run has no such file; an earlier version made it"))
            continue
        differences = list(_differences(folder / name, again / name, skipped))
        more = f", and {len(differences) - _MOST} more differences" if len(differences) > _MOST else ""
        check = Check(name, not differences, "; ".join(differences[:_MOST]) + more)
        if name in ("table.md", "report.html") and not same_judge:
            check = Check(name, None, "what is known of the judge has changed since, and it says so")
        elif name in ("table.md", "report.html") and differences and another:
            check = Check(name, None, "another version made it, and this one shows the scores in another way")
        checks.append(check)
    if not same_judge:
        note = "its passport is not that at the end of the run; the scores of the judge itself were not compared"
        checks.append(Check("the judge's passport", None, note))
    return checks


def _same_judge(folder: Path, again: Path) -> bool:
    """Whether the same is known of the judge; its passport may be made or changed after the run."""
    files = [run / "scores.json" for run in (folder, again)]
    judges = [read_json(file).get("judge") if file.exists() else None for file in files]
    about = [judge if isinstance(judge, dict) else {} for judge in judges]
    identities = [tuple(map(judge.get, ("name", "prompt_hash", "setup"))) for judge in about]
    return about[0] == about[1] or identities[0] != identities[1]


def _differences(actual: Path, expected: Path, skipped: Collection[str]) -> Iterator[str]:
    """How two files of one name differ, each difference in a few words."""
    if not expected.exists():
        yield "the journals give no such file"
    elif actual.suffix == ".json":
        yield from _in_json(read_json(actual), read_json(expected), "", skipped)
    elif actual.suffix == ".parquet":
        yield from _in_tables(actual, expected)
    elif (text := actual.read_text("utf-8", "replace")) != (other := expected.read_text("utf-8", "replace")):
        yield _in_text(text, other)


def _in_json(actual: Any, expected: Any, path: str, skipped: Collection[str] = ()) -> Iterator[str]:
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *actual]):
            if key != SECONDS and key not in skipped:
                values = actual.get(key, "nothing"), expected.get(key, "nothing")
                yield from _in_json(*values, f"{path}.{key}".lstrip("."), skipped)
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        for number, (item, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _in_json(item, other, f"{path}[{number}]", skipped)
    elif not _equal(actual, expected):
        yield f"field {path}: found {shown(actual)}, the journals give {shown(expected)}"


def _equal(actual: Any, expected: Any) -> bool:
    if isinstance(actual, float) and isinstance(expected, float):  # another numpy may round the last digit otherwise
        return math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(actual == expected) and isinstance(actual, bool) == isinstance(expected, bool)


def _in_tables(actual: Path, expected: Path) -> Iterator[str]:
    import pyarrow.parquet as pq

    try:
        pair = [pq.read_table(path) for path in (actual, expected)]
        rows = [table.to_pylist() for table in pair]
    except parquet_errors() as error:
        yield f"it cannot be read ({error})"
        return
    if pair[0].schema.names != pair[1].schema.names or pair[0].num_rows != pair[1].num_rows:
        yield f"found {pair[0].num_rows} rows of {pair[0].num_columns} columns, the journals give {pair[1].num_rows} of \
{pair[1].num_columns}"
        return
    for number, (row, other) in enumerate(zip(*rows, strict=True)):
        yield from (f"row {number}, {text}" for text in _in_json(row, other, ""))


def _in_text(actual: str, expected: str) -> str:
    pair = zip(actual.splitlines(), expected.splitlines(), strict=False)
    for number, (line, other) in enumerate(pair, 1):
        if line != other:
            at = len(list(takewhile(lambda both: both[0] == both[1], zip(line, other, strict=False))))
            near = slice(max(0, at - 20), at + 20)
            return f"line {number}: found …{shown(line[near])}, the journals give …{shown(other[near])}"
    return "one has more lines than the other"
