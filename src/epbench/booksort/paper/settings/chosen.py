"""The prompt, or the reading of passages, that suits each model best on held-out pairs (Tables 7 and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.prompt_selection import CHOICE, CHOSEN
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.files.json_files import read_json
from epbench.reports.tables import Table, cell
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in

_NAMES = {"prompt": ("Table 7", "Table 6"), "reading": ("Table 10", "Table 9")}
"""What is chosen: the table of the choices, and that of the texts."""

_SWEEPS = "all that were tried"


def chosen_table(what: str, runs: Sequence[PaperRun], reported: Sequence[ReportedRow]) -> list[Exhibit | Missing]:
    """The choice of each model, and how well each text did that was tried.

    Args:
        what: `prompt` or `reading`.
        runs: Of these, those that chose it on held-out pairs are shown.
        reported: Rows with a score of that name: the number that was chosen.
    """
    name, texts = _NAMES[what]
    title = f"The {what} that was chosen for each model on held-out pairs"
    found = _choices(what, runs)
    records = [_reported(row, what) for row in reported] + [
        _record(about, what, choice, one)
        for about, choice in found
        for one in choice[f"{what}s"]
        if one["number"] == choice[what]
    ]
    if not records:
        return [Missing(name, title, _needs(what))]
    notes = [
        f"The numbers are those of {texts}. The choice is made on the validation split: of those within one standard error "
        "of the best accuracy, the one whose share of A is nearest to one half. tied: how many were within it.",
        *_sources(reported),
    ]
    rows = [_cells(record) for record in records]
    head = ["model", "memory", "pairs", what, "accuracy", "share of A", "answers", "failed", "tied"]
    shown: list[Exhibit | Missing] = [Exhibit(name, title, records, Table(head, rows, notes=notes, text_columns=3))]
    part, part_title = f"{name}, {_SWEEPS}", f"Accuracy of every {what} that was tried on held-out pairs"
    return [*shown, _sweep(part, part_title, what, found) if found else Missing(part, part_title, _needs(what))]


def _needs(what: str) -> str:
    kind = "runs in which the prompt" if what == "prompt" else "runs with retrieval in which the reading of passages"
    return f"{kind} was chosen on held-out pairs"


def _choices(what: str, runs: Sequence[PaperRun]) -> list[tuple[dict[str, Value], Mapping[str, Any]]]:
    """The choices of the runs, each with what the run is."""
    found: list[tuple[dict[str, Value], Mapping[str, Any]]] = []
    for run in runs:
        for part in runs_in(run.folder):
            if (part / CHOICE).is_file():
                choice = read_json(part / CHOICE, CHOSEN)
                pairs = " ".join(read_run(part)["identity"].get("config") or ())
                about: dict[str, Value] = {"source": "own", "label": run.label, "model": run.model}
                if what in choice:
                    found.append((about | {"memory": run.memory, "pairs": pairs}, choice))
    return found


def _record(about: dict[str, Value], what: str, choice: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Value]:
    """One text that was tried; without an accuracy if questions failed."""
    right = round(one["accuracy"] * one["n"])
    n, failed = one["n"], one["failed"]
    least, most = (right / (n + failed), (right + failed) / (n + failed)) if failed else (None, None)
    return about | {
        what: one["number"], "chosen": int(one["number"] == choice[what]), "tied": int(one["number"] in choice["tied"]),
        "n_tied": len(choice["tied"]), "accuracy": None if failed or not n else one["accuracy"],
        "if_failed_wrong": least, "if_failed_right": most, "share_a": one["share_a"], "n": n, "n_failed": failed,
    }  # fmt: skip


def _reported(row: ReportedRow, what: str) -> dict[str, Value]:
    about: dict[str, Value] = {"source": "reported", "label": row.source, "model": row.model, "memory": row.memory}
    about |= {"pairs": row.dataset, what: int(row.scores[what]), "chosen": 1, "tied": None, "n_tied": None}
    return about | dict.fromkeys(("accuracy", "if_failed_wrong", "if_failed_right", "share_a", "n", "n_failed"))


def _cells(record: dict[str, Value]) -> list[str]:
    source = "reported" if record["source"] == "reported" else "own"
    number = next(record[what] for what in _NAMES if what in record)
    shown = [marked(str(record["model"]), "reported" if source == "reported" else "own"), str(record["memory"])]
    shown += [str(record["pairs"]), str(number), _accuracy(record), cell(record["share_a"])]
    return [*shown, *(cell(record[name]) for name in ("n", "n_failed", "n_tied"))]


def _accuracy(record: Mapping[str, Value]) -> str:
    low, high = record["if_failed_wrong"], record["if_failed_right"]
    if isinstance(low, float) and isinstance(high, float):
        return f"{low:.2f}–{high:.2f} (incomplete)"
    return cell(record["accuracy"])


def _sweep(name: str, title: str, what: str, found: Sequence[tuple[dict[str, Value], Mapping[str, Any]]]) -> Exhibit:
    """A row for each text and a column for each run."""
    records = [_record(about, what, choice, one) for about, choice in found for one in choice[f"{what}s"]]
    numbers = sorted({int(str(record[what])) for record in records})
    columns = list(dict.fromkeys(_column(record) for record in records))
    shown = {
        (record[what], _column(record)): _accuracy(record) + (" ←" if record["chosen"] else "") for record in records
    }
    rows = [[str(number), *(shown.get((number, column), "–") for column in columns)] for number in numbers]
    sizes = {int(str(record["n"])) for record in records}
    notes = [
        f"Each accuracy is over {min(sizes)}{f' to {max(sizes)}' if len(sizes) > 1 else ''} held-out pairs. ← marks the "
        "choice. The numbers are not tested against one another: they chose, and do not show a result.",
    ]
    return Exhibit(name, title, records, Table([what, *columns], rows, notes=notes))


def _column(record: Mapping[str, Value]) -> str:
    return f"{record['label']} ({record['pairs']})"


def _sources(reported: Sequence[ReportedRow]) -> list[str]:
    found = sorted({f"{row.source}, {row.table}" for row in reported})
    return [f"Reported: {'; '.join(found)}."] if found else []
