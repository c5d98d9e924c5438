"""Which judge a run's scores are by: scores by different judges are not comparable, so a run keeps its judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import write_json
from epbench.files.typed import fields
from epbench.judges.protocol import JUDGE, JudgeIdentity, PastJudge, about_judge, identity_of, noted_judge
from epbench.runs.folder import read_run, read_scores

_WITH_JUDGE = fields({}, {"judge": JUDGE})


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
    is accepted then, and scores the run anew, which leaves one.
    """
    noted: Mapping[str, str] | None = read_run(folder).get("judge")
    judges = [noted_judge(noted) if noted else None, judge_of_scores(folder)]
    previous, current = [other for other in judges if other is not None], identity_of(judge)
    if previous and current not in previous:
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


def note(folder: Path, **more: Any) -> None:
    """Write into run.json what must be known to judge the run again."""
    write_json(folder / "run.json", read_run(folder) | more)
