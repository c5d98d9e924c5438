"""What the tables of the SORT paper are made from: runs of Book-SORT, trainings on its books, and reported numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, convert

from epbench.booksort.context.reader import READ_ONCE
from epbench.booksort.scores.run_files import IDENTITY, about_whole_books, read_questions, read_scores
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import read_csv
from epbench.files.typed import typed
from epbench.finetuning.run import MEASURES as JOURNAL
from epbench.finetuning.run import measured_folder
from epbench.journals.journal import read_journal
from epbench.judges.protocol import PEOPLE
from epbench.reports.comparison import memory_of
from epbench.reports.reported import ReportedRow, read_reported
from epbench.runs.folder import read_run
from epbench.runs.several import FINETUNING, MEASURES, names_of, runs_in

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("sort", "sort-in-context")  # the runs that measure an epoch: without memory, and with the excerpt in context
_SAME = ("weights", "pairs", "prompts", "prompt", "measured_texts")  # alike where checkpoints are compared
_PARTS = ("config", "fingerprint", "held_out")  # different in the runs on several configs of one set


@dataclass(frozen=True)
class PaperRun:
    """A run of Book-SORT; runs on several configs in one folder that are alike in all else are one run."""

    label: str  # in tables: its folder, or for a measure `<training>, epoch <n>`
    folder: Path  # of several that are one run and have the whole folder, that which they lie in; else of the first
    dataset: str  # the last part of the name of the dataset, such as `booksort`
    configs: Sequence[str]  # the configs that were asked, such as `e250_s20`, in rising order
    memory: str  # `none`, `in-context`, `rag`, `full-book` or a memory system; see `memory_of`
    model: str  # who answered
    fingerprint: str  # of the pairs of each part, joined by `+`; runs that share it were about the same pairs
    identity: Mapping[str, Any]  # the field identity of run.json; of several, that of the first
    questions: pd.DataFrame  # of all parts; see `epbench.booksort.scores.run_files.read_questions`
    training: str | None = None  # the label of the training that this run measures; None for other runs
    epoch: int | None = None  # after how many epochs it measures the model, 0 for before training; None for other runs


@dataclass(frozen=True)
class Training:
    """A fine-tuning run on the texts of Book-SORT, or on a control."""

    label: str  # in tables: its folder
    model: str  # the model before training, without the folder that it lies in
    trained: str  # what it was trained on: `books`, or in a control such as `summaries`
    same: str  # trainings with the same value begin with the same weights and are asked the same questions
    epochs: Sequence[Mapping[str, Any]]  # the records of measures.jsonl, by epoch; epoch 0 is the model before training
    runs: Sequence[PaperRun]  # those that measure its epochs, in rising order; first without memory, then in-context


@dataclass(frozen=True)
class Inputs:
    """Everything that was given: runs in the order in which they were given, without those that measure a training; trainings.

    And numbers from papers. Their dataset is `book-sort`, or `book <number>` for one of its books. The scores are `accuracy`,
    `accuracy_s20` and `accuracy_s50` by the length of segments, the same with `accuracy_extend` for excerpts of 10,000 and
    20,000 words (SORT-extend), and `accuracy_s50.over_25000` for distances of more than 25,000 words. An interval is what the
    paper prints after ±, on both sides. The memory of people is `read-once`.
    """

    runs: Sequence[PaperRun]
    trainings: Sequence[Training] = ()
    reported: Sequence[ReportedRow] = ()


def read_inputs(folders: Sequence[Path], reported: Sequence[ReportedRow] | None = None) -> Inputs:
    """Read the folders of runs, of runs on several configs, and of trainings; reported numbers are the package's unless given.

    BadInput if a folder holds no finished run of Book-SORT and no training on its texts, or a file in it is damaged.
    """
    runs, trainings = list[PaperRun](), list[Training]()
    for label, folder in names_of(folders).items():
        found = {part: read_run(part) for part in runs_in(folder)}
        tuned = [part for part, run in found.items() if run["identity"].get("benchmark") == FINETUNING]
        trainings += [_training(label if one == folder else f"{label}/{one.name}", one, found[one]) for one in tuned]
        runs += _runs(label, folder, {part: run for part, run in found.items() if part not in tuned})
    return Inputs(runs, trainings, reported_numbers() if reported is None else reported)


def reported_numbers() -> list[ReportedRow]:
    """The numbers of the paper that the package carries."""
    paths = sorted(packaged("epbench.booksort").glob("reported*.json"))
    return [row for path in paths for row in read_reported(path, "booksort")]


def _runs(label: str, folder: Path, found: Mapping[Path, Mapping[str, Any]]) -> list[PaperRun]:
    """The runs in one folder, joined where they differ in nothing but the config, and none asks about the config of another."""
    groups: list[tuple[dict[str, Any], set[str], dict[Path, Mapping[str, Any]]]] = []
    for part, run in found.items():
        asked = set(run["identity"].get("config", ()))
        rest = {name: value for name, value in run["identity"].items() if name not in _PARTS and value is not None}
        alike = (of for of in groups if of[0] == rest and not (of[1] & asked or "all" in of[1] | asked))
        if group := next(alike, None):
            group[1].update(asked)
            group[2][part] = run
        else:
            groups.append((rest, asked, {part: run}))
    if len(groups) == 1:
        return [_run(label, folder, found)]
    return [_run(f"{label}/{' + '.join(part.name for part in of)}", next(iter(of)), of) for _, _, of in groups]


def _run(label: str, folder: Path, parts: Mapping[Path, Mapping[str, Any]], **more: Any) -> PaperRun:
    import pandas as pd

    runs = list(parts.values())
    identities = [run["identity"] for run in runs]
    for part, identity in zip(parts, identities, strict=True):
        if (name := identity.get("benchmark")) != "booksort":
            raise BadInput(f"{part / 'run.json'}: its benchmark is {name!r}; expected a run of Book-SORT")
        typed(f"{part / 'run.json'}, field 'identity'", identity, IDENTITY)
        read_scores(part)  # a run that did not end has none
    questions = pd.concat([read_questions(part) for part in parts], ignore_index=True)
    columns = about_whole_books(questions), questions["excerpt_length"], questions["segment_length"]
    lengths = sorted({(whole, 0 if whole else excerpt, words) for whole, excerpt, words in zip(*columns, strict=True)})
    configs = tuple(f"{'book' if whole else f'e{excerpt}'}_s{segment}" for whole, excerpt, segment in lengths)
    first, dataset = identities[0], Path(str(runs[0].get("dataset", ""))).name
    asked = "+".join(str(identity["fingerprint"]) for identity in identities)
    about = label, folder, dataset, configs, memory_of(first), str(first.get("model", "")), asked, first
    return PaperRun(*about, questions, **more)


def _training(label: str, folder: Path, run: Mapping[str, Any]) -> Training:
    identity = run["identity"]
    if (method := identity.get("method")) != "sort_lm":
        expected = "expected 'sort_lm', a training on the texts of Book-SORT"
        raise BadInput(f"{folder / 'run.json'}: its method is {method!r}; {expected}")
    epochs = sorted(int(path.name.removeprefix("epoch-")) for path in (folder / MEASURES).glob("epoch-*"))
    parts = [(epoch, measured_folder(folder, epoch) / kind) for epoch in epochs for kind in _KINDS]
    runs = [
        _run(f"{label}, epoch {epoch}", part, {part: read_run(part)}, training=label, epoch=epoch)
        for epoch, part in parts
        if (part / "scores.json").is_file()
    ]
    records = sorted(read_journal(folder / JOURNAL).values(), key=lambda record: int(record["epoch"]))
    same = [identity.get(name) for name in _SAME] if identity.get("weights") else [str(folder)]
    model = str(identity.get("model", "")).rstrip("/").rsplit("/", 1)[-1]
    return Training(label, model, identity.get("control") or "books", repr(same), records, runs)


class _Trial(Struct):
    participant: str
    segment_length: int
    distance: int
    correct: bool


def people_of(path: Path) -> PaperRun:
    """Read trials of people, as others publish them, as the run of one reader.

    The CSV file has a row for each trial: participant (intervals draw them), segment_length and distance in words, and
    correct (1, 0, true or false). BadInput if a column is missing, or a value is of another kind.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for number, row in enumerate(read_csv(path, _Trial.__struct_fields__)):
        try:
            trial = convert(row, _Trial, strict=False)
        except ValidationError as error:
            raise BadInput(f"{path}, row {number}: {error}".replace(" - at `$.", ", field `")) from None
        about = {"segment_length": trial.segment_length, "distance": trial.distance, "excerpt": trial.participant}
        rows.append(about | {"pair": number, "swapped": False, "right": float(trial.correct), "predicted": None})
    if not rows:
        raise BadInput(f"{path}: expected a row for each trial, found none")
    return PaperRun(PEOPLE, path, path.stem, (), READ_ONCE, PEOPLE, "", {}, pd.DataFrame(rows))
