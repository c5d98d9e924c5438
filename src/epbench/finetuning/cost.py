"""What training a causal language model costs, known before its weights are loaded: operations, memory and disk.

Three sorts of tensors take memory. Those that stay: float32 weights, gradients and the two states of AdamW, 16 bytes for each
trained parameter. Those that autograd keeps from the forward pass of a row for its backward pass: the model is run once
with torch's fake tensors, which have shapes and no numbers, and what is kept is summed. And those that live for a moment, of
which the largest are the logits, in float32 and several times over. All are counted at the moment when their sum is highest,
so that a part may be 0 that is large at another moment.

The sums were compared with measured peaks on a CPU, in float32 and under autocast, of one process and of two, but not on CUDA.
They leave out what is no tensor: CUDA's context and the buffers of its libraries, together about a gigabyte, and what an
allocator loses between tensors. On a CPU, glibc's loses much among tensors of less than 32 MB, so that a model of 20 million
parameters may take twice the sum, unless MALLOC_MMAP_THRESHOLD_=131072 is in its environment.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput, reason_of
from epbench.models.hf.memory import available_memory as available_memory

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
    """Count the parameters of a causal language model without its weights; `BadInput` if this is no configuration of one."""
    return _count(config.to_json_string(use_diff=False))


@lru_cache(maxsize=16)
def _count(config: str) -> Parameters:
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
    """Return how many floating-point operations one pass of full-parameter training of a dense model over some samples takes.

    Forward, and twice as much backward: 6 for each token and each weight it is multiplied with, and 12 · layers · heads ·
    head_dim · n for each token of a sample of n tokens, for the scores of attention and their weighted sums. What
    activation checkpointing computes once more is not counted. With `causal`, only half of attention counts, since no token
    attends to those behind it; the usual number, which others report, counts all of it.
    """
    heads: int = config.num_attention_heads
    width: int = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    attention: float = 12 * config.num_hidden_layers * width * sum(n * n for n in lengths)
    return 6.0 * parameters_of(config).multiplied * sum(lengths) + (attention / 2 if causal else attention)


def peak_flops(device_name: str) -> float | None:
    """Return how many bfloat16 operations a GPU makes per second, None if unknown; the name is that of `get_device_name`."""
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


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on each device."""

    weights: int  # the float32 weights, or this device's share of them
    gradients: int  # their float32 gradients
    optimizer: int  # the two float32 states of AdamW for each trained parameter
    # Other copies of weights and gradients at the peak: in bfloat16 for autocast, gathered from all devices, or not yet
    # added to the gradients.
    copies: int
    activations: int  # what the forward pass of one row keeps for its backward pass, and what that needs in passing
    logits: int  # the logits and what the loss makes of them, at the peak
    # The copy of the whole model that is asked questions between epochs, when only weights and optimizer are there as
    # well; it belongs to the total only if that is the peak.
    measuring: int

    @property
    def total(self) -> int:
        """The highest sum at any moment."""
        training = self.gradients + self.copies + self.activations + self.logits
        return self.weights + self.optimizer + max(training, self.measuring)


def estimate_memory(
    config: PreTrainedConfig,
    *,
    row_tokens: int,
    world: int = 1,
    sharded: bool = False,
    checkpointing: bool = False,
    autocast: bool = True,
    lora_rank: int = 0,
    measuring: bool = True,
    masked: bool = True,
) -> MemoryEstimate:
    """Estimate what training takes on each device, if rows are trained on one at a time and a step has at least two.

    The optimizer is a fused AdamW, the default of transformers' trainer with torch 2.8 or newer; it and the clipping of
    gradients work in place. The loss is made of float32 logits, which are not kept until the backward pass.

    Args:
        row_tokens: The number of tokens of the longest row.
        sharded: Whether weights, gradients and optimizer are split over the `world` devices, layer by layer, as FSDP2 does
            it (ZeRO-3 of DeepSpeed was not measured). Else each device has all of them, and if there are several,
            `DistributedDataParallel` has each gradient once more in its buckets.
        checkpointing: Whether a layer keeps only its input, and is computed again in the backward pass.
        autocast: Whether the passes are made in bfloat16, as on CUDA, and not in float32, as on a CPU.
        lora_rank: The rank of LoRA adapters of every linear layer but the LM head, or 0 to train all parameters. The
            activations are then those of training all parameters, which are up to a tenth more.
        measuring: Whether the model is asked questions between epochs, as a copy in bfloat16, or in float32 without
            `autocast`.
        masked: Whether attention gets a mask that tells the samples of a row apart, as SDPA does if a row has several
            samples; flash attention takes their lengths instead.

    Raises:
        BadInput: it is not known for this model, such as a mixture of experts.
    """
    if getattr(config, "num_experts_per_tok", None):
        raise _unknown(config.model_type, "a mixture of experts keeps what its numbers demand")
    parameters = parameters_of(config)
    trained = parameters.lora(lora_rank) if lora_rank else parameters.total
    present = parameters.total + (trained if lora_rank else 0)
    how = {"checkpointing": checkpointing, "autocast": autocast, "sharded": sharded, "masked": masked}
    moments = _moments(config, parameters, row_tokens, world=world, adapters=lora_rank > 0, **how)
    share = world if sharded else 1
    weights, gradients, optimizer = (-(-n // share) for n in (4 * present, 4 * trained, 8 * trained))
    gradients *= 2 if world > 1 and not sharded else 1
    measured = (2 if autocast else 4) * parameters.total if measuring else 0
    return MemoryEstimate(weights, gradients, optimizer, *max(moments, key=sum), measured)


def _moments(
    config: PreTrainedConfig,
    parameters: Parameters,
    n_tokens: int,
    *,
    checkpointing: bool,
    autocast: bool,
    sharded: bool,
    masked: bool,
    world: int,
    adapters: bool,
) -> list[tuple[int, int, int]]:
    """Bytes of copies, activations and logits at the moments that may be the peak of training on one row."""
    described = config.to_json_string(use_diff=False)
    layers, hidden = config.num_hidden_layers, config.hidden_size
    number = 2 if autocast else 4  # bytes of a number in the products of matrices
    stream = 2 if autocast and sharded else 4  # autocast leaves sums, and so what goes from layer to layer, in float32
    # Autocast's copies of the weights that tokens are multiplied with, and of the LM head alone.
    cast, cast_head = (2 * n if autocast and not sharded else 0 for n in (parameters.multiplied, parameters.head))
    checkpointed = _kept(described, n_tokens, autocast, sharded, True) - cast_head
    full = _kept(described, n_tokens, autocast, sharded, False) - cast
    if not masked:  # no mask in each layer, and keys and values once for all query heads that share them
        heads, shared = config.num_attention_heads, getattr(config, "num_key_value_heads", None)
        width = getattr(config, "head_dim", None) or hidden // heads
        full -= layers * number * n_tokens * (n_tokens + 2 * width * (heads - (shared or heads)))
    logits = n_tokens * config.vocab_size
    # At the end of the forward pass, without what the loss makes of logits.
    kept = (checkpointed if checkpointing else full) - 4 * logits + (n_tokens * n_tokens if masked else 0)
    # What the backward pass of a layer needs in passing: the gradients of the two halves of the feed-forward layer, and of
    # what goes into it and past it; and first what the layer keeps, if it is computed again.
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    passing = n_tokens * (2 * number * inner + 2 * stream * hidden)
    if checkpointing:
        passing += (full - checkpointed) // layers + n_tokens * stream * hidden
    if sharded:  # what is in no layer (embedding, last norm, head) is gathered all along
        layer, rest = parameters.layer, parameters.total - layers * parameters.layer
        return [
            (number * (rest + layer), kept, 12 * logits),
            (number * (rest + parameters.head + 3 * layer) + 4 * layer, kept + passing, 0),
            ((2 * number + 4) * rest + 4 * rest // world, 0, 0),
        ]
    backward = cast_head if checkpointing else cast
    cast_layer = (cast - cast_head) // layers if checkpointing else cast
    # A new gradient, of the head or of a layer's largest matrix (by and large a third of it), before it is added to the sum;
    # under autocast it is first in bfloat16.
    new = 0 if adapters else 6 if cast else 4
    return [
        # the logits as they are computed
        (cast_head if checkpointing and adapters else cast, kept, number * logits),
        # their logarithms, the gradients of these, and the gradients of the logits, all in float32
        (backward, kept, 12 * logits),
        (backward + new * parameters.head, kept, number * logits),
        (cast_layer + new * parameters.layer // 3, kept + passing, 0),
    ]


@lru_cache(maxsize=64)
def _kept(config: str, n_tokens: int, autocast: bool, gathered: bool, checkpointing: bool) -> int:
    """The bytes that autograd keeps of a row's forward pass and loss; `gathered` parameters are bfloat16 under autocast."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import AutoConfig, AutoModelForCausalLM

    kept: dict[int, torch.Tensor] = {}  # by storage, since several tensors may share one

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.setdefault(tensor.untyped_storage()._cdata, tensor)
        return tensor

    try:
        with FakeTensorMode():
            dtype = torch.bfloat16 if autocast and gathered else torch.float32
            model_config = AutoConfig.for_model(**json.loads(config))
            model = AutoModelForCausalLM.from_config(model_config, dtype=dtype).train()  # type: ignore[no-untyped-call]
            if checkpointing:
                older = not hasattr(model, "activation_checkpointing_enable")  # before transformers 5.23
                (model.gradient_checkpointing_enable if older else model.activation_checkpointing_enable)()
            ids = torch.zeros((1, n_tokens), dtype=torch.long)
            mask = torch.ones((1, 1, n_tokens, n_tokens), dtype=torch.bool)
            hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
            # Autocast for a CPU and for CUDA keep the same tensors, and SDPA does as well.
            with hooks, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False)
            storages = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
            return sum(tensor.untyped_storage().nbytes() for key, tensor in kept.items() if key not in storages)
    except Exception as error:  # a model's own code can raise anything
        raise _unknown(json.loads(config).get("model_type"), reason_of(error, 200)) from None


def _unknown(model_type: str | None, reason: str) -> BadInput:
    return BadInput(f"model of type {model_type}: how much memory training takes is not known before ({reason})")


def check_memory(estimate: MemoryEstimate, available: int, alternatives: Mapping[str, MemoryEstimate]) -> None:
    """Refuse training that does not fit in memory (`BadInput`), and say what would of `alternatives`, by the user's words."""
    if estimate.total <= available:
        return
    fit = {words: other for words, other in alternatives.items() if other.total <= available}
    listed = ", or with ".join(f"{words} ({_gb(other.total)})" for words, other in (fit or alternatives).items())
    advice = f"; it would {'fit' if fit else 'not fit either'} with {listed}" if listed else ""
    raise BadInput(
        f"memory: training takes about {_gb(estimate.total)} on each device ({_sum_of(estimate)}), "
        f"but {_gb(available)} are available{advice}"
    )


def disk_needed(n_parameters: int, epochs: int, *, n_trained: int | None = None) -> int:
    """Return how many bytes the checkpoints of a run take: a model in bfloat16 for each epoch, and the state of training.

    The state is float32 weights and both states of AdamW of the trained parameters; while it is replaced there are two.
    """
    return 2 * n_parameters * epochs + 2 * 12 * (n_parameters if n_trained is None else n_trained)


def check_disk(folder: Path, needed: int) -> None:
    """Refuse a folder, which need not exist, whose disk has fewer bytes free than are needed."""
    folder = folder.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise BadInput(f"{folder}: the checkpoints take {_gb(needed)}, but {_gb(free)} are free on this disk")


def _sum_of(estimate: MemoryEstimate) -> str:
    """The parts of the total, as a sum."""
    names = ("weights", "gradients", "optimizer", "copies", "activations", "logits")
    parts = {"copies of weights" if name == "copies" else name: getattr(estimate, name) for name in names}
    if estimate.measuring > sum(parts.values()) - estimate.weights - estimate.optimizer:
        parts = {"weights": estimate.weights, "optimizer": estimate.optimizer, "model copied": estimate.measuring}
    return " + ".join(f"{name} {_gb(part)}" for name, part in parts.items() if part)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"
