"""What the tables of the SORT paper are made from: runs of Book-SORT, trainings on its books, and reported numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.scores.run_files import IDENTITY, about_whole_books, read_questions, read_scores
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.typed import typed
from epbench.finetuning.run import MEASURES as JOURNAL
from epbench.finetuning.run import measured_folder
from epbench.journals.journal import read_journal
from epbench.reports.between import memory_of
from epbench.reports.reported import ReportedRow, read_reported
from epbench.runs.folder import read_run
from epbench.runs.several import FINETUNING, MEASURES, names_of, runs_in

if TYPE_CHECKING:
    import pandas as pd

SORT_TRAINING = "sort_lm"
"""What identity.method of a training on the texts of Book-SORT is."""

KINDS = ("sort", "sort-in-context")
"""The runs that measure an epoch of a training: without memory, and with the excerpt in context."""

_SAME = ("weights", "pairs", "prompts", "prompt", "measured_texts")
"""What trainings have in common whose checkpoints are compared: where they begin, and what they are asked."""

_PARTS = ("config", "fingerprint", "held_out")
"""What the runs on several configs of one set differ in."""


@dataclass(frozen=True)
class PaperRun:
    """A run of Book-SORT; runs on several configs in one folder that are alike in all else are one run.

    Attributes:
        label: The name of the run in tables: its folder, or for a measure `<training>, epoch <n>`.
        folder: The run's folder; of several, the folder they lie in.
        dataset: The last part of the name of the dataset, such as `booksort`.
        configs: The configs that were asked, such as `e250_s20`, in rising order.
        memory: `none`, `in-context`, `rag`, `full-book` or a memory system; see `memory_of`.
        model: Who answered.
        fingerprint: The fingerprints of the dataset's pairs, one for each part, joined by `+`. Runs that share it were
            about the same pairs.
        identity: The field identity of run.json; of several, that of the first.
        questions: The questions of all parts; see `epbench.booksort.scores.run_files.read_questions`.
        training: The label of the training that this run measures; None for other runs.
        epoch: The number of epochs after which it measures the model, 0 for the model before training; None for others.
    """

    label: str
    folder: Path
    dataset: str
    configs: Sequence[str]
    memory: str
    model: str
    fingerprint: str
    identity: Mapping[str, Any]
    questions: pd.DataFrame
    training: str | None = None
    epoch: int | None = None


@dataclass(frozen=True)
class Training:
    """A fine-tuning run on the texts of Book-SORT, or on a control.

    Attributes:
        label: The name of the training in tables: its folder.
        model: The model before training, without the folder that it lies in.
        trained: What it was trained on: `books`, or in a control such as `summaries`.
        same: Trainings with the same value begin with the same weights and are asked the same questions.
        epochs: The records of measures.jsonl, by epoch; epoch 0 is the model before training.
        runs: The runs that measure its epochs, in rising order; those of an epoch in the order of `KINDS`. Their memory
            (`none` or `in-context`) tells them apart.
    """

    label: str
    model: str
    trained: str
    same: str
    epochs: Sequence[Mapping[str, Any]]
    runs: Sequence[PaperRun]


@dataclass(frozen=True)
class Inputs:
    """Everything that was given.

    Attributes:
        runs: The runs, in the order in which they were given, without those that measure a training.
        trainings: The trainings, likewise.
        reported: Numbers from papers. Their dataset is `book-sort`, or `book <number>` for one of its books. The scores are
            `accuracy`, `accuracy_s20` and `accuracy_s50` by the length of segments, the same with `accuracy_extend` for
            excerpts of 10,000 and 20,000 words (SORT-extend), and `accuracy_s50.over_25000` for distances of more than
            25,000 words. An interval is what the paper prints after ±, on both sides. The memory of people is
            `read-once`.
    """

    runs: Sequence[PaperRun]
    trainings: Sequence[Training] = ()
    reported: Sequence[ReportedRow] = ()


def read_inputs(folders: Sequence[Path], reported: Sequence[ReportedRow] | None = None) -> Inputs:
    """Read the folders of runs, of runs on several configs, and of trainings.

    Args:
        folders: The folders. Two of one name are told apart by their whole paths.
        reported: Numbers from papers; None for those that the package carries.

    Raises:
        BadInput: A folder holds no finished run of Book-SORT and no training on its texts, or a file in it is damaged.
    """
    runs: list[PaperRun] = []
    trainings: list[Training] = []
    for label, folder in names_of(folders).items():
        found = {part: read_run(part) for part in runs_in(folder)}
        tuned = [part for part, run in found.items() if run["identity"].get("benchmark") == FINETUNING]
        trainings += [
            _training(label if part == folder else f"{label}/{part.name}", part, found[part]) for part in tuned
        ]
        runs += _runs(label, folder, {part: run for part, run in found.items() if part not in tuned})
    return Inputs(runs, trainings, reported_numbers() if reported is None else reported)


def reported_numbers() -> list[ReportedRow]:
    """The numbers of the paper that the package carries."""
    files = sorted(packaged("epbench.booksort").glob("reported*.json"))
    return [row for path in files for row in read_reported(path, "booksort")]


def _runs(label: str, folder: Path, found: Mapping[Path, Mapping[str, Any]]) -> list[PaperRun]:
    """The runs in one folder, joined where they differ in nothing but the config."""
    groups: list[list[Path]] = []
    for part in found:
        for group in groups:
            if _belongs(found[part]["identity"], [found[one]["identity"] for one in group]):
                group.append(part)
                break
        else:
            groups.append([part])
    if len(groups) == 1:
        return [_run(label, folder, groups[0], found)]
    return [_run(f"{label}/{' + '.join(part.name for part in group)}", group[0], group, found) for group in groups]


def _belongs(identity: Mapping[str, Any], group: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a run differs from those of a group in nothing but the config, and none of them asks about the same one."""
    names = (identity.keys() | group[0].keys()) - set(_PARTS)
    taken = {config for one in group for config in one.get("config", ())}
    asked = set(identity.get("config", ()))
    overlap = taken & asked or "all" in taken | asked
    return not overlap and all(identity.get(name) == group[0].get(name) for name in names)


def _run(
    label: str, folder: Path, parts: Sequence[Path], found: Mapping[Path, Mapping[str, Any]], **more: Any
) -> PaperRun:
    import pandas as pd

    for part in parts:
        benchmark = found[part]["identity"].get("benchmark")
        if benchmark != "booksort":
            raise BadInput(f"{part / 'run.json'}: its benchmark is {benchmark!r}; expected a run of Book-SORT")
        typed(f"{part / 'run.json'}, field 'identity'", found[part]["identity"], IDENTITY)
        read_scores(part)  # a run that did not end has none
    first = found[parts[0]]
    questions = pd.concat([read_questions(part) for part in parts], ignore_index=True)
    columns = about_whole_books(questions), questions["excerpt_length"], questions["segment_length"]
    lengths = sorted(
        {(whole, 0 if whole else excerpt, segment) for whole, excerpt, segment in zip(*columns, strict=True)}
    )
    return PaperRun(
        label=label,
        folder=folder,
        dataset=Path(str(first.get("dataset", ""))).name,
        configs=tuple(f"{'book' if whole else f'e{excerpt}'}_s{segment}" for whole, excerpt, segment in lengths),
        memory=memory_of(first["identity"]),
        model=str(first["identity"].get("model", "")),
        fingerprint="+".join(str(found[part]["identity"]["fingerprint"]) for part in parts),
        identity=first["identity"],
        questions=questions,
        **more,
    )


def _training(label: str, folder: Path, run: Mapping[str, Any]) -> Training:
    identity = run["identity"]
    if identity.get("method") != SORT_TRAINING:
        raise BadInput(
            f"{folder / 'run.json'}: its method is {identity.get('method')!r}; expected {SORT_TRAINING!r}, a training on the "
            "texts of Book-SORT"
        )
    epochs = sorted(int(path.name.removeprefix("epoch-")) for path in (folder / MEASURES).glob("epoch-*"))
    runs = []
    for epoch in epochs:
        for kind in KINDS:
            part = measured_folder(folder, epoch) / kind
            if (part / "scores.json").is_file():
                name = f"{label}, epoch {epoch}"
                runs.append(_run(name, part, [part], {part: read_run(part)}, training=label, epoch=epoch))
    records = sorted(read_journal(folder / JOURNAL).values(), key=lambda record: int(record["epoch"]))
    same = [identity.get(name) for name in _SAME] if identity.get("weights") else [str(folder)]
    model = str(identity.get("model", "")).rstrip("/").rsplit("/", 1)[-1]
    return Training(label, model, identity.get("control") or "books", repr(same), records, runs)
