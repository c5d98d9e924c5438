"""The folders of several runs that are compared, or shown side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.runs.checksums import change_note
from epbench.runs.folder import read_run

FINETUNING = "finetuning"  # what run.json of a training names as its benchmark

MEASURES = "measures"
"""The subfolder of a training in which `epoch-<n>/<kind>` is the run that measured the model after n epochs."""


def benchmark_of(folder: Path) -> str | None:
    """The benchmark of the run in a folder, or of those of several configs in its subfolders; None where run.json has none."""
    benchmark: str | None = read_run(runs_in(folder)[0])["identity"].get("benchmark")
    return benchmark


def by_benchmark(runs: Mapping[str, Path]) -> dict[str | None, dict[str, Path]]:
    """The folders of each benchmark by their names; see `benchmark_of`."""
    grouped: dict[str | None, dict[str, Path]] = {}
    for name, folder in runs.items():
        grouped.setdefault(benchmark_of(folder), {})[name] = folder
    return grouped


def runs_in(folder: Path) -> list[Path]:
    """The folder of a run itself, or its subfolders that are runs, such as one for each config, by name; else BadInput."""
    if (folder / "run.json").is_file():
        return [folder]
    if runs := sorted(path.parent for path in folder.glob("*/run.json")):
        return runs
    raise BadInput(f"{folder}: no run.json in it; expected the folder of a run")


def runs_below(folder: Path) -> list[Path]:
    """The runs that a folder stands for: see `runs_in`, and for a training also the runs that measured its model."""
    runs = runs_in(folder)
    if read_run(runs[0])["identity"].get("benchmark") == FINETUNING:
        runs += sorted(path.parent for path in (folder / MEASURES).glob("*/*/run.json"))
    return runs


def change_notes(folders: Iterable[Path]) -> list[str]:
    """Which runs of some folders were changed since they were scored, in texts that name the run and the files."""
    notes = {run: change_note(run) for folder in folders for run in runs_below(folder)}
    return [f"{run}: {note}" for run, note in notes.items() if note]


def folders_of_datasets(out: Path, datasets: Sequence[str]) -> dict[str, Path]:
    """The folder of the run on each dataset: `out` for one dataset, its subfolders, named as the datasets, for several.

    BadInput if two datasets have one name, or `out` holds the run on a single dataset already.
    """
    if len(datasets) == 1:
        return {datasets[0]: out}
    folders: dict[str, Path] = {}
    for dataset in datasets:
        folder = out / Path(dataset).resolve().name
        if folder in folders.values():
            raise BadInput(f"two datasets are called {folder.name!r}; each run has a folder named after its dataset")
        folders[dataset] = folder
    if (out / "run.json").exists():
        raise BadInput(f"{out} holds the run on one dataset; expected another folder for {len(datasets)} of them")
    return folders


def names_of(folders: Sequence[Path]) -> dict[str, Path]:
    """Name each run by its folder, or by the whole path where two have the same name; BadInput if one is given twice."""
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise BadInput("a run is given twice")
    short = {folder.resolve().name: folder for folder in folders}
    return short if len(short) == len(folders) else {str(folder): folder for folder in folders}


def measured_runs(named: Mapping[str, Path], kinds: Sequence[str]) -> dict[str, Path]:
    """The runs that folders stand for: a run stands for itself, a training for the runs that measured its model.

    Of a training, they are those of the first of the `kinds`, such as "sort", that one of its epochs has. They are named
    by it and their epoch, such as "books, epoch 1", in the order of the epochs; epoch 0 is the model before the training.
    BadInput if a training has no such run, two runs would have the same name, or one run is given twice.
    """
    named_runs: list[tuple[str, Path]] = []
    for name, folder in named.items():
        if not (folder / "run.json").is_file() or read_run(folder)["identity"].get("benchmark") != FINETUNING:
            named_runs.append((name, folder))
            continue
        named_runs += [(f"{name}, epoch {epoch}", run) for epoch, run in _runs_by_epoch(folder, kinds).items()]
    runs = dict(named_runs)
    if len(runs) < len(named_runs) or len({folder.resolve() for folder in runs.values()}) < len(named_runs):
        raise BadInput("a run is given twice, by itself and by its training")
    return runs


def _runs_by_epoch(folder: Path, kinds: Sequence[str]) -> dict[int, Path]:
    """The runs of one kind by epoch, in rising order; an epoch that was not measured is left out."""
    numbered = {int(m[1]): of for of in (folder / MEASURES).glob("*") if (m := re.fullmatch(r"epoch-(\d+)", of.name))}
    for kind in kinds:
        runs = {epoch: path / kind for epoch, path in sorted(numbered.items()) if (path / kind / "run.json").is_file()}
        if runs:
            return runs
    expected = " or ".join(f"{MEASURES}/epoch-1/{kind}" for kind in kinds)
    raise BadInput(f"{folder}: no epoch of this training has been measured; expected a run in a folder like {expected}")


def labels_of(folders: Sequence[Path]) -> dict[str, Path]:
    """Name each run by its folder, for tables that have no room for a path; BadInput if two folders have the same name."""
    names = [folder.resolve().name for folder in folders]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"two runs are called {repeated[0]!r}; rename a folder, its name is the label")
    return dict(zip(names, folders, strict=True))


def check_same(
    described: Mapping[Path, Mapping[str, Any]], names: Sequence[str], where_noted: Sequence[str] = ()
) -> None:
    """Refuse runs, by folder, whose run.json differ in these fields of the identity, as they are not about the same questions.

    Fields `where_noted` must agree among the runs that have them.
    """
    for name in (*names, *where_noted):
        noted = [
            (folder, run["identity"].get(name))
            for folder, run in described.items()
            if name in names or name in run["identity"]
        ]
        for folder, value in noted[1:]:
            first, expected = noted[0]
            if value != expected:
                raise BadInput(
                    f"{folder / 'run.json'}: its {name} is {value!r}, that of {first} is {expected!r}; expected runs "
                    "on the same questions"
                )
