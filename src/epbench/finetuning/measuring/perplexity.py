"""How well a checkpoint predicts given texts; several processes share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.finetuning.ranks import Ranks
from epbench.finetuning.texts.samples import Sample
from epbench.models.protocol import Model

if TYPE_CHECKING:
    from epbench.models.hf.model import TransformersModel


def check_texts(texts: Mapping[str, Sequence[Sample]], model: Model) -> None:
    """Refuse texts that a model cannot read as a whole. No weights are needed.

    Args:
        texts: The samples of each text, by its name.
        model: The model.

    Raises:
        BadInput: A sample is longer than the model's window.
    """
    window = model.window()
    for name, samples in texts.items():
        for sample in samples:
            if window is not None and len(sample.ids) > window:
                raise BadInput(
                    f"text {name!r}, sample {sample.id}: expected at most the {window:,} tokens of the window of "
                    f"{model.name}, got {len(sample.ids):,}"
                )


def text_perplexity(model: TransformersModel, samples: Sequence[Sample], ranks: Ranks) -> float | None:
    """Return the perplexity of the tokens of some samples that are learned; called in every process, and the same in all.

    Args:
        model: The model.
        samples: The samples, the same in all processes.
        ranks: This process among those that work together.

    Returns:
        At least 1; None if no token is learned, or if a model finds them so improbable that no number is large enough.

    Raises:
        BadInput: A sample is longer than the model's window.
        RunFailed: There is no memory even for one sample.
    """
    from epbench.models.hf.likelihood import perplexity

    share = ranks.share(samples)
    learned = [[i for i, yes in enumerate(sample.learned) if yes] for sample in share]
    found = model.likelihoods.of_spans([sample.ids for sample in share], [{"learned": own} for own in learned])
    spans = [one for part in ranks.gather([of["learned"] for of in found]) for one in part]
    try:
        return perplexity(spans) if any(span.n_tokens for span in spans) else None
    except OverflowError:
        return None
