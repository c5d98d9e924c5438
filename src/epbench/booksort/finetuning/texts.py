"""What a checkpoint makes of texts without answering: perplexities, and the states before it answers (Appendix F.1)."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from epbench.booksort.dataset.load import Pair
from epbench.booksort.finetuning.plan import SortPlan
from epbench.finetuning.ranks import Ranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epbench.models.hf.likelihood import SpanLikelihood
    from epbench.models.hf.model import TransformersModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AskedPair:
    """A pair in its prompt without context.

    Attributes:
        id: The id of the pair.
        ids: The token ids of the prompt.
        segments: The positions of the tokens of both segments.
    """

    id: str
    ids: Sequence[int]
    segments: Sequence[int]


def share_of_pairs(model: TransformersModel, plan: SortPlan, ranks: Ranks) -> list[AskedPair]:
    """Return the pairs that this process reads, in their prompts without context.

    Raises:
        BadInput: The chat template has changed a segment, or the tokenizer does not say where its tokens are in a text.
    """
    pairs = {pair.id: pair for pair in plan.pairs}
    asked = []
    for request in ranks.share(plan.prepared("none", model).requests):
        ids, spans = model.prompts.located(request, _segments(pairs[request.id], plan.pack.segments))
        asked.append(AskedPair(request.id, ids, sorted(set().union(*spans))))
    return asked


def segment_likelihoods(
    model: TransformersModel, asked: Sequence[AskedPair], ranks: Ranks
) -> dict[str, SpanLikelihood]:
    """Return how probable the tokens of both segments of each pair are, by the id of the pair; in every process.

    Args:
        model: The model.
        asked: The pairs that this process reads.
        ranks: This process among those that work together.
    """
    rows, spans = [one.ids for one in asked], [{"segments": one.segments} for one in asked]
    found = model.likelihoods.of_spans(rows, spans)
    return _gathered({one.id: likelihood["segments"] for one, likelihood in zip(asked, found, strict=True)}, ranks)


def states_before_answers(
    model: TransformersModel, asked: Sequence[AskedPair], pairs: Sequence[Pair], ranks: Ranks
) -> NDArray[np.float32]:
    """Return the last hidden state of the prompt without context of every pair, from which the answer follows.

    Args:
        model: The model.
        asked: The pairs that this process reads.
        pairs: All pairs.
        ranks: This process among those that work together.

    Returns:
        An array of shape (pairs, hidden size) in the order of `pairs`; in every process.
    """
    import numpy as np

    states = model.likelihoods.last_states([one.ids for one in asked])
    of_pair = _gathered({one.id: state for one, state in zip(asked, states, strict=True)}, ranks)
    return np.stack([of_pair[pair.id] for pair in pairs])


def _gathered(own: Mapping[str, T], ranks: Ranks) -> dict[str, T]:
    """Return what all processes have found."""
    return {id_: found for part in ranks.gather(dict(own)) for id_, found in part.items()}


def _segments(pair: Pair, frame: str) -> list[str]:
    """Return the segments of a pair in the order in which the frame of the prompt pack shows them."""
    shown = dict(zip(("first", "second"), pair.shown, strict=True))
    fields: Iterable[str | None] = (field for _, field, _, _ in string.Formatter().parse(frame))
    return [shown[field] for field in fields if field]
