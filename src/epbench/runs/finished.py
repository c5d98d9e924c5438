"""Whether a run has ended and nothing has changed since, so that its results need not be computed again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import scrubbed
from epbench.runs.checksums import changed_since, is_by_this_code
from epbench.runs.folder import differing, read_run, read_scores


def is_finished(folder: Path, identity: Mapping[str, Any], **noted: Any) -> bool:
    """Whether a run has results to which the same command of the same version could add nothing.

    Every file of the run is read once, for its hash, and no record is looked at.

    Args:
        folder: The run's folder, which need not exist.
        identity: What makes the run this run; see `epbench.runs.folder.open_run`.
        noted: Further fields that run.json must have, such as the limit.

    Returns:
        True if the run was scored without a failed question, by this code, and each of its files is as it was then. False
        also for a damaged run: whoever opens it says what is wrong.
    """
    try:
        run, scores = read_run(folder), read_scores(folder)
        same = not differing(run["identity"], scrubbed(dict(identity))) and not differing(run, noted)
        return same and scores.get("n_failed") == 0 and is_by_this_code(folder) and changed_since(folder) == {}
    except BadInput:
        return False
