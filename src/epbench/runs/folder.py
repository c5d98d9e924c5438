"""A run's folder: what was run (`run.json`), what came back (journals), and what it is worth (`scores.json`) by which judge.

Scores by different judges are not comparable, so a run keeps its judge.
"""

from __future__ import annotations

import logging
import platform
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from epbench.command import command_words
from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.secrets import scrubbed, without_secrets
from epbench.files.typed import Whole, fields, typed
from epbench.journals.journal import kept_journals
from epbench.judges.protocol import JUDGE, JudgeIdentity, PastJudge, about_judge, identity_of, noted_judge
from epbench.runs.checksums import change_note, changed_since, edited_files, is_by_this_code, versions, write_checksums

log = logging.getLogger(__name__)

RUN = fields(
    {"identity": fields({}, {"benchmark": str})},
    {
        **dict.fromkeys(("dataset", "dataset_folder", "book", "label", "command", "python", "platform"), str),
        **dict.fromkeys(("fingerprint", "dataset_revision", "shard"), str | None),
        "limit": Whole | None,
        "engine": dict[str, Any],
        "judge": JUDGE,
        "versions": dict[str, str],
    },
)
"""The content of run.json that all benchmarks share."""
_WITH_JUDGE = fields({}, {"judge": JUDGE})

LATER = ("chapters", "held_out")
"""Fields of the identity that earlier versions did not write: a run without one is not compared by it."""
SELDOM = ("between", "memory_tokens")
"""Fields of the identity that only a run has which makes use of them: a run with one is not the same as a run without."""


@contextmanager
def open_run(folder: Path, identity: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Path]:
    """Open a run's folder for this process alone, to begin the run or to continue it; it is made if it does not exist.

    When a run with scores is closed without an error, the hashes of its files are written; see `epbench.runs.checksums`.
    A file that was edited since keeps its hash unless it is computed anew, so that the edit still shows.

    The `identity` is what makes the run this run (dataset and fingerprint, memory, model, …): a folder is continued only if its
    run.json has the same values, where the fields `LATER` may be missing. `about` is what else to note there, such as the name
    or path of the dataset; see `dataset_of`. BadInput if the folder holds another run or other files, another process is at
    work in it, or a line of a journal was changed since the run was scored.
    """
    from filelock import FileLock, Timeout

    described = folder / "run.json"
    identity = scrubbed(dict(identity))  # as run.json has it
    if folder.exists() and not described.exists() and any(not p.name.startswith(".") for p in folder.iterdir()):
        raise BadInput(f"{folder} holds other files and no run.json; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            for scratch in folder.glob(".*.scratch"):  # left by a process that was killed while it wrote a file
                shutil.rmtree(scratch)
            if described.exists():
                check_identity(folder, read_run(folder)["identity"], {**dict.fromkeys(SELDOM), **identity})
            else:
                dataset = about.get(
                    "dataset"
                )  # as an absolute path, so that the run can be verified from any other folder
                where = {"dataset_folder": str(Path(dataset).resolve())} if dataset and Path(dataset).is_dir() else {}
                here = {"python": platform.python_version(), "platform": platform.platform(), "versions": versions()}
                said = {"identity": dict(identity), **about, **where, "command": _command(), **here}
                write_json(described, said)
            with kept_journals(folder):
                edited = edited_files(folder)
                yield folder
                if (folder / "scores.json").is_file():
                    write_checksums(folder, edited)
    except Timeout:
        raise BadInput(
            f"{folder}: another process is at work in this run; wait for it or choose another folder"
        ) from None


def check_identity(folder: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuse a run whose identity differs from the expected one; the message names the first field that does."""
    for name in differing(found, expected):
        raise BadInput(
            f"{folder / 'run.json'}: this folder holds another run: its {name} is {found.get(name)!r}, expected "
            f"{expected[name]!r}; choose another folder"
        )


def differing(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """The fields by which the identity of a run is not the expected one; see `LATER`."""
    return [
        name
        for name, value in expected.items()
        if found.get(name) != value and not (name in LATER and name not in found)
    ]


def is_finished(folder: Path, identity: Mapping[str, Any], **noted: Any) -> bool:
    """Whether a run has results to which the same command of the same version could add nothing.

    That is: it was scored without a failed question, by this code, run.json has the fields `noted`, such as the limit,
    and each file is as it was then; it is read once, for its hash. False also for a damaged run: whoever opens it says
    what is wrong.
    """
    try:
        run, scores = read_run(folder), read_scores(folder)
        expected = {**dict.fromkeys(SELDOM), **scrubbed(dict(identity))}
        same = not (differing(run["identity"], expected) or differing(run, noted))
        return same and scores.get("n_failed") == 0 and is_by_this_code(folder) and changed_since(folder) == {}
    except BadInput:
        return False


def read_run(folder: Path, identity: type[Struct] | None = None) -> dict[str, Any]:
    """Read run.json of a run, whose `identity` must hold these fields; None accepts any object.

    BadInput if the file is missing or damaged, or another tool wrote it; the message names the field.
    """
    path = folder / "run.json"
    if not path.exists():
        raise BadInput(f"{folder}: no run.json in it; expected the folder of a run")
    run = read_json(path, RUN)
    if identity is not None:
        typed(f"{path}, field 'identity'", run["identity"], identity)
    return run


def dataset_of(run: Mapping[str, Any]) -> str | None:
    """Where the dataset of a run is, by its run.json: the absolute path of the folder that it read, if that is still there.

    Else it is the name or path that the user gave, which may be right if run and dataset have moved together; None
    without.
    """
    folder: str | None = run.get("dataset_folder")
    return folder if folder and Path(folder).is_dir() else run.get("dataset")


def read_scores(folder: Path, kind: type[Struct] | None = None) -> dict[str, Any]:
    """Read scores.json of a run, which must hold these fields; None accepts any object. BadInput as in `read_run`."""
    path = folder / "scores.json"
    if not path.is_file():
        raise BadInput(f"{folder} has no scores.json; is it a run's folder, and did the run end?")
    return read_json(path, kind)


def read_scores_to_show(folder: Path, kind: type[Struct]) -> dict[str, Any]:
    """The same for a reader: if files were changed since the run was scored, the field `warnings` says so."""
    scores = read_scores(folder, kind)
    note = change_note(folder)
    return scores | {"warnings": [note, *scores.get("warnings", [])]} if note else scores


def judge_of_scores(folder: Path) -> PastJudge | None:
    """The judge that a run's scores.json names; None if there is no such file, or it names no judge."""
    judge = read_scores(folder, _WITH_JUDGE).get("judge") if (folder / "scores.json").is_file() else None
    return noted_judge(judge) if judge else None


def one_judge(judges: Mapping[Path, PastJudge]) -> PastJudge:
    """The judge of runs by their folders, which must be the same for all."""
    if len(set(judges.values())) > 1:
        named = "; ".join(f"{folder}: {judge}" for folder, judge in judges.items())
        raise BadInput(f"the runs have different judges ({named}); have one judge judge them all")
    return next(iter(judges.values()))


def check_judge(folder: Path, judge: JudgeIdentity) -> None:
    """Refuse to replace the scores of one judge by those of another.

    A process that was killed between the scores of a new judge and its name in run.json has left two names. Either judge
    is accepted then, and scores the run anew, which leaves one. Rules cost nothing, so a later version of them is accepted, too.
    """
    noted: Mapping[str, str] | None = read_run(folder).get("judge")
    judges = [noted_judge(noted) if noted else None, judge_of_scores(folder)]
    previous, current = [other for other in judges if other is not None], identity_of(judge)
    if previous and current not in previous:
        if {other.name for other in (*previous, current)} == {"lexical"}:
            log.info("%s: its scores are by %s; %s judges all answers again", folder, previous[0], current)
            return
        unknown = replace(current, setup="") in previous
        raise BadInput(
            f"{folder / 'run.json'}: this run was judged by {previous[0]}, not by {current}"
            + ("; an earlier version did not note the address and the sampling of its judge" if unknown else "")
            + "; the scores of a run must be by one judge"
        )


def note_judge(folder: Path, judge: JudgeIdentity, **more: Any) -> None:
    """Write into run.json which judge the run's scores are by, and what else must be known of it.

    Call it when the scores are written: a judge that gave none must not pass for the run's judge.
    """
    note(folder, judge=about_judge(judge), **more)


def note_asked(folder: Path, *, limit: int | None, shard: str | None) -> None:
    """Write into run.json which questions were asked, and if these are others than before, the command that asked them."""
    asked = {"limit": limit, "shard": shard}
    if not asked.items() <= read_run(folder).items():
        note(folder, **asked, command=_command())


def _command() -> str:
    return shlex.join(map(without_secrets, command_words()))


def note(folder: Path, **more: Any) -> None:
    """Write into run.json what must be known to judge the run again."""
    write_json(folder / "run.json", read_run(folder) | more)
