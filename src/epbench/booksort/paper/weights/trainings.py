"""The folders of trainings on the books, and which of their checkpoints are compared with one another (Appendix F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.booksort.scores.run_files import read_scores
from epbench.errors import BadInput
from epbench.exhibits.exhibit import slug
from epbench.finetuning.run import MEASURES, measured_folder
from epbench.journals.journal import read_journal
from epbench.runs.folder import read_run

_SAME = ("weights", "pairs", "prompts", "prompt", "measured_texts")
"""What trainings have in common whose checkpoints are compared: where they begin, and what they are asked."""


@dataclass(frozen=True)
class Training:
    """A training of one model, with what was measured at its epochs.

    Attributes:
        folder: The folder of the training.
        label: Its name in tables.
        model: The model before training, without the folder that it lies in.
        trained: What it was trained on: `books`, or in a control `instructions` or `summaries`.
        same: Trainings with the same value begin with the same weights and are asked the same questions.
        epochs: The records of measures.jsonl, by epoch; epoch 0 is the model before training.
    """

    folder: Path
    label: str
    model: str
    trained: str
    same: str
    epochs: Sequence[Mapping[str, Any]]

    def run_of(self, epoch: int, kind: str = "sort") -> Path:
        """The folder of the run that asked SORT after an epoch: `sort` without context, `sort-in-context` with it."""
        return measured_folder(self.folder, epoch) / kind

    def scores_of(self, epoch: int, kind: str = "sort") -> dict[str, Any]:
        """The scores of that run; see `epbench.booksort.scores.scoring.score_run`."""
        return read_scores(self.run_of(epoch, kind))


def is_measured(folder: Path) -> bool:
    """Whether any epoch of a training has been measured."""
    return bool(read_journal(folder / MEASURES))


def read_training(folder: Path, label: str) -> Training:
    """Read a training; one that is still going on shows the epochs that it has.

    Raises:
        BadInput: No epoch was measured.
    """
    identity = read_run(folder)["identity"]
    records = sorted(read_journal(folder / MEASURES).values(), key=lambda record: int(record["epoch"]))
    if not records:
        raise BadInput(f"{folder / MEASURES}: expected the measures of at least one epoch, found none")
    model = str(identity.get("model", "")).rstrip("/").rsplit("/", 1)[-1]
    same = repr([identity.get(name) for name in _SAME] if identity.get("weights") else [str(folder)])
    return Training(folder, label, model, identity.get("control") or "books", same, records)


def by_base(trainings: Sequence[Training]) -> dict[str, list[Training]]:
    """The trainings whose checkpoints can be compared, by the name of the model that they begin with.

    Where one model was trained and asked in two ways, the name of the second has a number.
    """
    found: dict[str, list[Training]] = {}
    for one in trainings:
        found.setdefault(one.same, []).append(one)
    named: dict[str, list[Training]] = {}
    for group in found.values():
        name, number = group[0].model, 2
        while slug(name) in map(slug, named):  # the names of files have no capitals
            name, number = f"{group[0].model} ({number})", number + 1
        named[name] = group
    return named


def checkpoints(group: Sequence[Training], kind: str = "sort") -> dict[str, Path]:
    """The runs that asked the checkpoints of trainings from one model, by a name such as `books, epoch 1`.

    All trainings begin with the same weights, so that the model before training is there once.

    Args:
        group: Trainings of one value of `by_base`.
        kind: `sort` for those without context, or `sort-in-context`.
    """
    found: dict[str, Path] = {}
    for training in group:
        for record in training.epochs:
            epoch = record["epoch"]
            name = f"{training.label}, epoch {epoch}" if epoch else "before training"
            if name not in found and training.run_of(epoch, kind).is_dir():
                found[name] = training.run_of(epoch, kind)
    return found


def part(name: str, base: str, groups: Mapping[str, Sequence[Training]]) -> str:
    """The name of an exhibit about one model: that of the paper if there is one model, else a part of it."""
    return name if len(groups) == 1 else f"{name}, {base}"
