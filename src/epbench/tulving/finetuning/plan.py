"""What every checkpoint of one training is asked: the same questions each time, and nothing of the book is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from epbench.finetuning.measuring.perplexity import check_texts
from epbench.finetuning.texts.samples import Sample
from epbench.hub.rows import Row
from epbench.models.estimate import check_window
from epbench.models.protocol import Model, Request
from epbench.tulving.context.reading import Reading
from epbench.tulving.dataset.load import Loaded
from epbench.tulving.finetuning.material import MEMORY, TrainingQuestion
from epbench.tulving.judging.protocol import Judge


@dataclass(frozen=True, kw_only=True)
class TulvingPlan:
    """The questions and texts that a checkpoint is measured on.

    Attributes:
        data: The dataset.
        rows: The rows of its config `qa` that are asked.
        limit: The number of questions that the rows were limited to; None if they are all.
        reading: How the model is asked, without memory and each question once.
        judge: Makes the judge of a run, anew each time, so that its weights are gone when training goes on.
        trained: What the model is trained on.
        texts: Texts whose perplexity is measured, by a name such as `held_out`.
    """

    data: Loaded
    rows: Sequence[Row]
    limit: int | None
    reading: Reading
    judge: Callable[[], Judge]
    trained: Sequence[TrainingQuestion]
    texts: Mapping[str, Sequence[Sample]] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        """One request for each row."""
        return self.reading.requests(self.data, self.rows, MEMORY)

    @property
    def trained_ids(self) -> frozenset[str]:
        """The ids of the rows that are trained word for word.

        A published book has questions in its own words and is trained on ours, so that it may have no such row.
        """
        words = {one.question for one in self.trained}
        return frozenset(row["id"] for row in self.rows if row["question"] in words)

    def identity(self, model: Model) -> dict[str, Any]:
        """Return the identity of the run that asks this model, which is the one that any run on the book has."""
        return self.reading.run_identity(self.data, model)

    def check(self, model: Model) -> None:
        """Refuse what could not be measured. No weights are needed, so this can be asked before a model is trained.

        Raises:
            BadInput: A prompt with its answer, or a text, does not fit in the model's window.
        """
        check_window(self.requests, model, {})
        check_texts(self.texts, model)
