"""A published run, scored again from its archive, to be compared with the folder of an earlier scoring."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

from epbench.errors import BadInput
from epbench.journals.answers import ANSWERS
from epbench.judges.journal import JUDGEMENTS
from epbench.runs.benchmark import Check
from epbench.runs.folder import read_run
from epbench.runs.verification import check_records
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import (
    book_chapters,
    book_fingerprint,
    published_runs,
    read_published_run,
    score_run,
)


def score_again(archive: Path, folder: Path, scratch: Path) -> list[Check]:
    """Score the published run of a folder again from its archive.

    Args:
        archive: The archive.
        folder: The folder of the earlier scoring.
        scratch: The folder for the journals and the results; it does not exist yet.

    Returns:
        Whether the answers and the verdicts in the folder are those of the archive.

    Raises:
        BadInput: The archive does not have this run, or it cannot be scored.
    """
    opened, identity = open_archive(archive), read_run(folder)["identity"]
    for run in published_runs(opened):
        if (run.book.folder, run.path) == (identity["released"], identity["run"]):
            scratch.mkdir()
            copyfile(folder / "run.json", scratch / "run.json")  # its command is part of the page
            content, of_book = read_published_run(opened.files, run), book_fingerprint(opened, run.book)
            score_run(run, content, scratch, of_book, book_chapters(opened, run.book))
            return [check_records(folder, scratch, name, "the archive") for name in (ANSWERS, JUDGEMENTS)]
    raise BadInput(f"{archive}: expected the published run {identity['run']}, found no such run")
