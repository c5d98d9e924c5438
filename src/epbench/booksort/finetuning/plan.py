"""What is measured of every checkpoint of one training: the same questions and texts each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from epbench.booksort.context.prompts import Pack, load_prompts
from epbench.booksort.context.requests import prompt_of
from epbench.booksort.dataset.load import Pair, asked_pairs, load_pairs
from epbench.booksort.evaluate import Evaluation, Prepared
from epbench.errors import BadInput
from epbench.finetuning.measuring.perplexity import check_texts
from epbench.finetuning.texts.samples import Sample
from epbench.models.estimate import check_window
from epbench.models.protocol import Model

SEGMENTS = "segments"
"""The name of the perplexity of the segments; no text may have it."""


@dataclass(frozen=True, kw_only=True)
class SortPlan:
    """The questions and texts that a checkpoint is measured on; `load_plan` makes it.

    Attributes:
        dataset: Where the Book-SORT set is.
        configs: Its configs as the user names them. They decide how long the excerpts are in context.
        split: `test` or `validation`.
        books: Numbers of the books that are asked about; None for all.
        limit: The number of pairs; None for all.
        everything: All pairs of the configs and the split.
        pairs: Those that are asked.
        pack: The prompt pack.
        prompt: Number of the prompt in the pack.
        in_context: Whether SORT is also asked with the excerpt in context.
        texts: Texts whose perplexity is measured, by a name such as `books`, `instructions` or `held_out`.
    """

    dataset: str
    configs: Sequence[str]
    split: str
    books: Sequence[int] | None
    limit: int | None
    everything: Sequence[Pair]
    pairs: Sequence[Pair]
    pack: Pack
    prompt: int
    in_context: bool = True
    texts: Mapping[str, Sequence[Sample]] = field(default_factory=dict)

    @property
    def memories(self) -> dict[str, str]:
        """The runs of SORT: the name of each and of its folder, and the memory that it gives the model."""
        return {"sort": "none"} | ({"sort-in-context": "in-context"} if self.in_context else {})

    def prepared(self, memory: str, model: Model) -> Prepared:
        """Return the run that asks this model with a memory; its requests and its identity are those of any run of SORT."""
        evaluation = Evaluation(
            dataset=self.dataset, model=model, memory=memory, pack=self.pack, configs=self.configs, split=self.split,
            prompt=self.prompt, books=self.books, limit=self.limit,
        )  # fmt: skip
        return Prepared(evaluation=evaluation, everything=self.everything, pairs=self.pairs)

    def check(self, model: Model) -> None:
        """Refuse what could not be measured. No weights are needed, so this can be asked before a model is trained.

        Raises:
            BadInput: A prompt or a text does not fit in the model's window, or the set has no texts of excerpts.
        """
        for memory in self.memories.values():
            check_window(self.prepared(memory, model).requests, model, {})
        if SEGMENTS in self.texts:
            raise BadInput(f"text {SEGMENTS!r}: expected another name, as this is the one of the pairs' segments")
        check_texts(self.texts, model)


def load_plan(
    dataset: str,
    configs: Sequence[str] = ("e250_s20",),
    split: str = "test",
    *,
    books: Sequence[int] | None = None,
    limit: int | None = None,
    prompts: Path | None = None,
    prompt: int | None = None,
    in_context: bool = True,
    texts: Mapping[str, Sequence[Sample]] | None = None,
) -> SortPlan:
    """Load the questions, and put a plan together.

    Args:
        dataset: The set, as `load_pairs` takes it.
        configs: Its configs, such as `e250_s20`, or only `all`.
        split: `test` or `validation`.
        books: Numbers of the books that are asked about; None for all.
        limit: The number of pairs, those of an excerpt together, chosen at random; None for all.
        prompts: Another prompt pack, as `load_prompts` takes it; None for ours.
        prompt: Number of the prompt in the pack; None for its usual one.
        in_context: Whether SORT is also asked with the excerpt in context.
        texts: Texts whose perplexity is measured, by their names.

    Raises:
        BadInput: The set, a config, the split, a book, the pack or the prompt does not exist, or the limit is below 1.
    """
    pack = load_prompts(prompts)
    number = pack.usual if prompt is None else prompt
    prompt_of(pack, number)
    everything = load_pairs(dataset, configs, split)
    return SortPlan(
        dataset=dataset, configs=configs, split=split, books=books, limit=limit, everything=everything,
        pairs=asked_pairs(everything, books, limit), pack=pack, prompt=number, in_context=in_context,
        texts=texts or {},
    )  # fmt: skip
