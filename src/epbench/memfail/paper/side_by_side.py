"""Several runs of MemFail side by side: their folders in; tables, one page, and the paper's claims out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import write_json
from epbench.files.writing import write_text
from epbench.judges.protocol import PastJudge, noted_judge
from epbench.memfail.calibration.passport import passport_note
from epbench.memfail.paper.claims import CLAIMS
from epbench.memfail.paper.evidence import LEVEL, MARGIN, Case, Evidence, cells_of
from epbench.memfail.scores.breakdown import breakdown_tables, with_tokens
from epbench.memfail.scores.cost import Prices, Spent, cost_tables, read_prices, spent, usage_of
from epbench.memfail.scores.report import comparison_report
from epbench.memfail.scores.reported_rates import beside, read_reported
from epbench.memfail.scores.run_files import read_run, read_scores, run_folders
from epbench.memfail.scores.tables import markdown_table, with_baseline
from epbench.reports.tables import Runs, Table, markdown_list
from epbench.safe_text import html_text

_DIFFERENT = "The runs have different judges, and scores from different judges are not comparable."


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
    found = run_folders(folders)
    runs: dict[str, dict[str, Any]] = {}
    usage: dict[str, dict[str, Spent]] = {}
    priced = read_prices(prices) if prices else None
    for folder, run in found:
        about, scores = read_run(run), read_scores(run)
        label = folder.resolve().name if run == folder else f"{folder.resolve().name} ({scores['config']})"
        if label in runs:
            raise BadInput(f"two runs are called {label!r}; rename a folder, its name is the label")
        model = about["identity"].get("system_model") or ""
        runs[label] = with_tokens(with_baseline(scores, about), run) | ({"system_model": model} if model else {})
        if (run / "usage.json").is_file():
            usage[label] = spent(about, usage_of(run), priced)
    rates = read_reported(*reported)
    claims = judge_claims(runs, rates)
    joined = beside(runs, rates)
    more = _sections(joined, usage, priced, claims_table(claims))
    notes = judge_notes([run for _, run in found])
    write_text(out / "table.md", "\n".join([markdown_table(joined), *_in_markdown(notes, more)]))
    write_text(out / "report.html", comparison_report(joined, _in_html(notes, more)))
    write_json(out / "claims.json", as_json(claims))
    return joined, notes


def judge_notes(runs: Sequence[Path]) -> list[str]:
    """What is known of the judges of some runs, each once: that they differ, and their passports, or that they have none.

    Args:
        runs: The folders of runs; one that names no judge is passed over.
    """
    named = [read_run(run).get("judge") for run in runs]
    judges = dict.fromkeys(noted_judge(judge) for judge in named if judge)
    notes = [passport_note(judge) or _unchecked(judge) for judge in judges]
    return [_DIFFERENT, *notes] if len(judges) > 1 else notes


def _unchecked(judge: PastJudge) -> str:
    how = f"epbench judge-check --benchmark memfail --judge {judge.name.partition('@')[0]} --out runs/judge"
    return f"judge {judge} has no passport yet; to check it: {how}"


def _sections(
    runs: Mapping[str, Any], usage: Mapping[str, Mapping[str, Spent]], prices: Prices | None, claims: Table
) -> dict[str, list[Table]]:
    """The tables that follow those of success, by their heading."""
    found = {"Questions by stage, and their tokens": breakdown_tables(runs)}
    if usage:
        found["What the runs took"] = cost_tables(usage, prices)
    return found | {"Claims of the paper": [claims]}


def _in_markdown(notes: Sequence[str], sections: Mapping[str, Sequence[Table]]) -> list[str]:
    parts = [f"Judges:\n\n{markdown_list(notes)}"] if notes else []
    for heading, tables in sections.items():
        parts += [f"## {heading}\n", *(table.markdown() for table in tables)]
    return parts


def _in_html(notes: Sequence[str], sections: Mapping[str, Sequence[Table]]) -> list[str]:
    listed = "".join(f"<li>{html_text(note)}</li>" for note in notes)
    parts = [f"<h2>Judges</h2>\n<ul>{listed}</ul>"] if notes else []
    for heading, tables in sections.items():
        parts += [f"<h2>{html_text(heading)}</h2>", *(table.html() for table in tables)]
    return parts


Found = Mapping[str, Evidence]
"""The evidence for each claim, by where it comes from: `your runs`, `reported`."""

RUNS, REPORTED = "your runs", "reported"
_HOW = (
    "A claim about all cases is denied by one case against it and supported by more than half of the cases without one against "
    "it; their intervals are 95 % for all cases together. A claim about most cases takes more than half of them, at 95 % each.",
    "Runs and reported numbers are not mixed, and baselines are left out. All cases with their numbers are in claims.json.",
)


def judge_claims(runs: Runs, reported: Runs) -> dict[str, Found]:
    """What runs and reported numbers say about each claim, by its name.

    Args:
        runs: The scores of runs by label, with `system_model`; baselines may be among them.
        reported: Reported numbers in the same form, with all their k; may be empty.
    """
    sources = {RUNS: cells_of(runs)} | ({REPORTED: cells_of(reported)} if reported else {})
    return {claim.name: {source: claim.of(cells) for source, cells in sources.items()} for claim in CLAIMS}


def as_json(found: Mapping[str, Found]) -> dict[str, Any]:
    """The content of claims.json: for each claim its section and text, and by source the decision and all cases."""
    claims = []
    for claim in CLAIMS:
        sources = {source: _evidence(evidence) for source, evidence in found[claim.name].items()}
        claims.append({"name": claim.name, "section": claim.section, "claim": claim.text, **sources})
    return {"level": LEVEL, "margin": MARGIN, "claims": claims}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    cases = [
        {
            "case": case.name, "value": case.value, "low": case.low, "high": case.high, "side": case.side,
            "counts": [list(count) for count in case.counts],
        }
        for case in evidence.cases
    ]  # fmt: skip
    found: dict[str, Any] = {"decision": evidence.decision, "about": evidence.rule, **evidence.numbers}
    if evidence.missing:
        found["missing"] = evidence.missing
    return found | {"cases": cases}


def claims_table(found: Mapping[str, Found]) -> Table:
    """A row for each claim: what decides it, and by source the decision, the numbers of cases, and the strongest case."""
    sources = list(next(iter(found.values())))
    rows = [[claim.text, claim.section, *(_cell(found[claim.name][source]) for source in sources)] for claim in CLAIMS]
    return Table(["claim of the paper", "section", *sources], rows, notes=_HOW, text_columns=2 + len(sources))


def _cell(evidence: Evidence) -> str:
    if evidence.missing:
        return f"not decided: no {evidence.missing}"
    n = evidence.numbers
    text = f"{evidence.decision}: {n['for']} for, {n['against']} against, {n['neither']} neither"
    strongest = _strongest(evidence)
    return f"{text}; {strongest.name}: {strongest.value:.2f} ({strongest.low:.2f} to {strongest.high:.2f})"


def _strongest(evidence: Evidence) -> Case:
    """The case to show: one on the side of the decision if there is one, with the narrowest interval."""
    side = {"supported": "for", "denied": "against"}.get(evidence.decision, "neither")
    return min(evidence.cases, key=lambda case: (case.side != side, case.high - case.low, case.name))
