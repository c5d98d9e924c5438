"""What a reader must know beside the numbers: floors, ceilings, vacuous passes, judges, rows, and reported numbers."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.memfail.paper.cells import LOST, Cell
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.scores.side_by_side import judge_notes
from epbench.memfail.scores.tables import CEILINGS, FLOOR
from epbench.reports.tables import cell as text

REPORTED = (
    "Rows marked (reported) are those of Garg et al. (MemFail, 2026), from the given files; reader and judge were "
    "gpt-5-mini. Their intervals are computed here from the rate and the number of questions. Their correct questions "
    "include any that the authors' judge could not analyse."
)
SUCCESS = (
    "Success means that every stage passed, which is stricter than a right answer. Intervals are 95 %, by Wilson, and take "
    "questions as independent."
)
_VACUOUS = (
    "A pass is vacuous if a question about somebody unknown is passed because what could mislead was not stored or not "
    "retrieved; an empty memory passes all of these (0.523 of the published persona questions)"
)


def notes_on(inputs: Inputs, cells: Sequence[Cell]) -> list[str]:
    """The notes that stand below the success rates of some cells.

    Args:
        inputs: The runs that the cells come from.
        cells: What is shown; notes about other configs and sources are left out.
    """
    shown = {(cell.config, cell.label) for cell in cells}
    configs = {cell.config for cell in cells}
    runs = [run for run in inputs.runs if run.config in configs]
    own = [run for run in runs if (run.config, run.label) in shown]
    notes = [SUCCESS, *_floors(runs, configs), *_ceilings(cells, runs), *_vacuous(cells)]
    notes += [LOST] if any(cell.failed for cell in cells) else []
    notes += [REPORTED] if any(cell.source == "reported" for cell in cells) else []
    return [*notes, *_never_stored(cells), *_rows(own, cells), *_unnoticed(own), *judges(own)]


def judges(runs: Sequence[PaperRun]) -> list[str]:
    """What is known of the judges of some runs."""
    return judge_notes([run.folder for run in runs])


def _floors(runs: Sequence[PaperRun], configs: set[str]) -> list[str]:
    """Success without memory: computed from the questions, and measured where there is a run without memory."""
    parts = []
    for config in sorted(configs):
        of_config = [run for run in runs if run.config == config]
        computed = next((run.scores["floor"]["success_rate"] for run in of_config if "floor" in run.scores), None)
        measured = [
            rate
            for run in of_config
            if run.system == FLOOR
            for at in _at_each_k(run)
            if (rate := at["success_rate"]) is not None
        ]
        says = [f"{text(float(computed))} computed"] if computed is not None else []
        says += [f"{text(max(measured))} measured"] if measured else []
        parts += [f"{config} {', '.join(says)}"] if says else []
    return [f"Floor, success without memory: {'; '.join(parts)}."] if parts else []


def _ceilings(cells: Sequence[Cell], runs: Sequence[PaperRun]) -> list[str]:
    configs = sorted({cell.config for cell in cells})
    parts = []
    for config in configs:
        best = [
            f"{run.label} {text(max(rates))}"
            for run in runs
            if run.config == config and run.system in CEILINGS
            if (rates := [at["success_rate"] for at in _at_each_k(run) if at["success_rate"] is not None])
        ]
        parts += [f"{config} {', '.join(best)}"] if best else []
    if parts:
        return [f"Ceilings, the best success at any k: {'; '.join(parts)}."]
    if any(cell.source == "own" for cell in cells):
        return ["No ceiling is known: there is no run with the memory oracle or full-context."]
    return []


def _at_each_k(run: PaperRun) -> list[dict[str, float | None]]:
    return list(run.scores["by_k"].values())


def _vacuous(cells: Sequence[Cell]) -> list[str]:
    if not any(cell.config == "persona_retrieval" for cell in cells):
        return []
    counted = [cell for cell in cells if cell.scores.get("vacuous")]
    found = [f"{cell.label} at k = {cell.k}: {cell.scores['vacuous']} of {cell.right}" for cell in counted[:_MOST]]
    more = f" and {len(counted) - _MOST} more" if len(counted) > _MOST else ""
    return [f"{_VACUOUS}. Vacuous passes: {'; '.join(found)}{more}." if found else f"{_VACUOUS}."]


_MOST = 8


def _never_stored(cells: Sequence[Cell]) -> list[str]:
    """Reported cells in which nothing was ever stored."""
    empty = [cell for cell in cells if cell.source == "reported" and cell.scores.get("storage_error") == 1.0]
    places = dict.fromkeys(f"{cell.label} on {cell.config}" for cell in empty)
    if not places:
        return []
    return [
        f"Every question of {'; '.join(places)} is a storage error: a store that stayed empty, perhaps for technical reasons, "
        f"rather than a memory that fails."
    ]


def _rows(runs: Sequence[PaperRun], cells: Sequence[Cell]) -> list[str]:
    other = sorted({run.config for run in runs if not run.on_published_rows})
    if not other or not any(cell.source == "reported" for cell in cells):
        return []
    return [
        f"One's own runs of {', '.join(other)} are on other rows than the published ones, so that they cannot be compared "
        f"with reported rates number by number."
    ]


def _unnoticed(runs: Sequence[PaperRun]) -> list[str]:
    """How many needed facts the judge would not miss, once for each config, judge and count."""
    found: dict[str, None] = {}
    for run in runs:
        counts = run.scores.get("unnoticed")
        if counts and counts["of"] and (counts["n"] or counts["misplaced"]):
            says = f"{counts['n']} of {counts['of']} in {run.config}"
            if counts["misplaced"]:
                says += f" (and {counts['misplaced']} taken for a lost detail)"
            found[says] = None
    return [f"Needed facts that the judge would not miss if they were absent: {'; '.join(found)}."] if found else []
