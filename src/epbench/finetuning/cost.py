"""What a causal language model computes for each token it is trained on, and how much of a GPU's speed that uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from epbench.errors import BadInput, reason_of

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

# Tensor cores with bfloat16, in 10^12 operations per second, by the names that drivers give to GPUs. From the makers' data
# sheets, without sparsity: where a sheet shows only the number with sparsity, which is twice as high, half of it. The
# GeForce is from the appendix of its architecture's white paper, with sums in float32, as torch makes them.
_PEAKS = {
    r"A[18]00(-SXM4|-PCIE)?[- ]\d+GB( PCIe)?": 312,
    r"H100 80GB HBM3|GH200 \d+GB|H200": 989,  # of the H100, the module for SXM
    r"H100 PCIe": 756,
    r"H[12]00 NVL": 835,
    r"H20": 148,
    r"B200": 2250,
    r"L4": 121,
    r"L40S": 362,
    r"A10": 125,
    r"A30": 165,
    r"A40": 149.7,
    r"RTX A6000": 154.8,
    r"GeForce RTX 4090": 165.2,
    r"MI300X( OAM)?": 1307.4,
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many parameters a model has, and what they are for. Those that two parts share are counted once."""

    total: int  # all of them
    # Those that every token is multiplied with, the weights of linear layers and of the LM head; if the head is the
    # embedding, they are counted both here and there.
    multiplied: int
    head: int  # those of the LM head, again also if it is the embedding
    layer: int  # all of the largest decoder layer
    adapted: int  # the sum of the input and output widths of all linear layers but the LM head

    def lora(self, rank: int) -> int:
        """Return how many parameters LoRA of a rank trains if it adapts every linear layer but the LM head."""
        return rank * self.adapted


def parameters_of(config: PreTrainedConfig) -> Parameters:
    """Count the parameters of a causal language model, without its weights.

    The model is made on torch's meta device, where tensors have shapes and take no memory.

    Raises:
        BadInput: transformers makes no causal language model of this configuration.
    """
    return _count(config.to_json_string(use_diff=False))


@lru_cache(maxsize=16)
def _count(config: str) -> Parameters:
    import json

    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.pytorch_utils import Conv1D

    described = json.loads(config)
    try:
        with torch.device("meta"):
            model_config = AutoConfig.for_model(**described)
            model = AutoModelForCausalLM.from_config(model_config)  # type: ignore[no-untyped-call]
    except Exception as error:  # a foreign configuration can make transformers raise anything
        raise BadInput(
            f"model of type {described.get('model_type')}: expected a causal language model that transformers knows "
            f"({reason_of(error, 200)})"
        ) from None
    head = model.get_output_embeddings()
    linear = [part.weight for part in model.modules() if isinstance(part, nn.Linear | Conv1D) and part is not head]
    layers = [
        sum(weight.numel() for weight in layer.parameters())
        for stack in model.modules()
        if isinstance(stack, nn.ModuleList)
        for layer in stack
    ]
    return Parameters(
        total=sum(weight.numel() for weight in model.parameters()),
        multiplied=sum(weight.numel() for weight in [*linear, head.weight]),
        head=head.weight.numel(),
        layer=max(layers),
        adapted=sum(sum(weight.shape) for weight in linear),
    )


def training_flops(config: PreTrainedConfig, lengths: Sequence[int], *, causal: bool = False) -> float:
    """Return how many floating-point operations one pass of full-parameter training over some samples takes.

    Forward, and twice as much backward: 6 for each token and each weight it is multiplied with, and 12 · layers · heads ·
    head_dim · n for each token of a sample of n tokens, for the scores of attention and their weighted sums. What
    activation checkpointing computes once more is not counted. The model must be dense: of a mixture of experts, it
    counts none. With `causal`, only half of attention counts, since no token attends to those behind it; the usual
    number, which others report, counts all of it. The lengths are those of samples, also where they are packed into one
    row.
    """
    heads: int = config.num_attention_heads
    width: int = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    attention: float = 12 * config.num_hidden_layers * width * sum(n * n for n in lengths)
    return 6.0 * parameters_of(config).multiplied * sum(lengths) + (attention / 2 if causal else attention)


def peak_flops(device_name: str) -> float | None:
    """Return how many operations per second a GPU's tensor cores make with bfloat16, dense, or None if that is not known.

    `device_name` is as `torch.cuda.get_device_name` returns it. A slice of a GPU is not known either, nor is a variant
    that the data sheet of its namesake does not cover.
    """
    name = re.sub(r"^(NVIDIA|AMD Instinct) ", "", device_name.strip())
    return next((peak * 1e12 for known, peak in _PEAKS.items() if re.fullmatch(known, name)), None)


@dataclass(frozen=True, slots=True)
class Utilization:
    """The part of the hardware's peak that training has used, from 0 to 1."""

    mfu: float  # by the usual count, which takes attention for full
    causal: float  # by the count that takes only the half of attention that a causal model needs


def utilization(
    config: PreTrainedConfig, lengths: Sequence[int], seconds: float, device_name: str, n_devices: int = 1
) -> Utilization | None:
    """Return the model FLOPs utilization of full-parameter training, or None if the peak of the device is not known.

    `lengths` are the tokens of each sample that `n_devices` devices of that name have together taken `seconds` for.
    """
    peak = peak_flops(device_name)
    if peak is None:
        return None
    possible = peak * n_devices * seconds
    return Utilization(*(training_flops(config, lengths, causal=causal) / possible for causal in (False, True)))
