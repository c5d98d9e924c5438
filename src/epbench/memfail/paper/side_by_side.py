"""Several runs of MemFail side by side: their folders in; tables, one page, and the paper's claims out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import write_json
from epbench.files.safe_text import html_text
from epbench.files.writing import write_text
from epbench.memfail.paper.claims import as_json, claims_table, judge_claims
from epbench.memfail.paper.inputs import Inputs, PaperRun, judge_notes, read_folders
from epbench.memfail.scores.cost import cost_tables, read_prices
from epbench.memfail.scores.report import section_of
from epbench.memfail.scores.reported_rates import beside, read_reported
from epbench.memfail.scores.tables import breakdown_tables, by_config, markdown_table
from epbench.reports.page import page, warning_paragraphs
from epbench.reports.tables import Runs, Table, markdown_list, warnings_of


def write_side_by_side(
    folders: Sequence[Path], out: Path, reported: Sequence[Path] = (), prices: Path | None = None
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md, OUT/report.html and OUT/claims.json.

    Args:
        folders: The folders of runs, or of runs of several configs; the name of a folder is the label of its runs.
        out: The folder of the files; it is made if it does not exist.
        reported: JSON files of reported numbers, which are shown where they fit; see `read_reported`.
        prices: A file of prices, see `cost`; None shows tokens and seconds alone.

    Returns:
        The scores of each run by its label, with `baseline` and `system_model` where its run.json says so; reported rates
        are among them. And what is known of the judges.

    Raises:
        BadInput: A folder holds no run of MemFail, a run did not end, two runs have one label, runs of one config are on
            different rows, or a file cannot be used.
    """
    priced = read_prices(prices) if prices else None
    runs: dict[str, PaperRun] = {}
    for folder, run in read_folders(folders, priced):
        label = folder.resolve().name + ("" if run.folder == folder else f" ({run.config})")
        if label in runs:
            raise BadInput(f"two runs are called {label!r}; rename a folder, its name is the label")
        runs[label] = run
    rates = read_reported(*reported)
    found = judge_claims(Inputs([*runs.values()], rates))
    joined = beside({label: run.scores for label, run in runs.items()}, rates)
    usage = {label: run.spent for label, run in runs.items() if (run.folder / "usage.json").is_file()}
    sections = {
        "Questions by stage, and their tokens": breakdown_tables(joined),
        **({"What the runs took": cost_tables(usage, priced)} if usage else {}),
        "Claims of the paper": [claims_table(found)],
    }
    notes = judge_notes(runs.values())
    parts = [f"Judges:\n\n{markdown_list(notes)}"] if notes else []
    for heading, tables in sections.items():
        parts += [f"## {heading}\n", *(table.markdown() for table in tables)]
    write_text(out / "table.md", "\n".join([markdown_table(joined), *parts]))
    write_text(out / "report.html", comparison_report(joined, notes, sections))
    write_json(out / "claims.json", as_json(found))
    return joined, notes


def comparison_report(
    runs: Runs, notes: Sequence[str] = (), sections: Mapping[str, Sequence[Table]] | None = None
) -> str:
    """The page of several runs.

    Args:
        runs: The scores by the run's label; reported rates may be among them, see `reported_rates.beside`.
        notes: What is known of the judges.
        sections: The tables that follow those of the configs, by their heading.
    """
    listed = "".join(f"<li>{html_text(note)}</li>" for note in notes)
    parts = [
        warning_paragraphs(warnings_of(runs)),
        *(f"<h2>{html_text(config)}</h2>\n{section_of(of_config)}" for config, of_config in by_config(runs).items()),
        *([f"<h2>Judges</h2>\n<ul>{listed}</ul>"] if notes else []),
    ]
    for heading, tables in (sections or {}).items():
        parts += [f"<h2>{html_text(heading)}</h2>", *(table.html() for table in tables)]
    n_own = sum(not scores.get("reported") for scores in runs.values())
    return page(f"MemFail: {n_own} runs", "\n".join(parts))
