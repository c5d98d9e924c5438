"""How a model is trained: the numbers of the paper, under the names that the trainers of Hugging Face give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epbench.arguments.declaring import argument
from epbench.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The recipe of Appendix F (fine-tuning of Llama3-8b-Instruct), as defaults. The help of each field says what it is.

    BadInput if a number is out of its range, or of another type.
    """

    num_train_epochs: int = argument("how often each text is seen", default=5)
    batch_size: int = argument("samples in each step of the optimizer, on all processes together", default=192)
    max_length: int = argument("longest sample in tokens; a longer text is refused, never cut", default=8192)
    row_tokens: int | None = argument(
        "tokens that a process reads at one time, several samples in a row (max_length)", default=None
    )
    learning_rate: float = argument(
        "learning rate of the first step; it falls to 0 along a cosine, without a warm-up", default=5e-6
    )
    weight_decay: float = argument("weight decay of AdamW", default=1e-4)
    adam_beta1: float = argument("first beta of AdamW", default=0.9)
    adam_beta2: float = argument("second beta of AdamW", default=0.95)
    adam_epsilon: float = argument("epsilon of AdamW", default=1e-5)
    max_grad_norm: float = argument("gradients are clipped to this norm", default=1.0)
    seed: int = argument("seed of the order of samples, of dropout and of everything that is drawn", default=1)
    activation_checkpointing: bool = argument(
        "compute activations twice instead of keeping them in memory", default=True
    )
    attn_implementation: str = argument(
        "how attention is computed: sdpa, or flash_attention_2 if it is installed", default="sdpa"
    )
    lora_r: int = argument("rank of LoRA on all linear layers; 0 trains all weights, as the paper does", default=0)
    lora_alpha: int = argument("alpha of LoRA", default=32)
    save_every: int = argument(
        "epochs between two checkpoints; the first and the last epoch always leave one", default=1
    )

    def __post_init__(self) -> None:
        for name, low in _LEAST.items():
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < low):
                raise BadInput(f"{name}: expected a whole number of at least {low}, got {value!r}")
        for name in ("learning_rate", "weight_decay", "adam_epsilon", "max_grad_norm"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise BadInput(f"{name}: expected a number of at least 0, got {value!r}")
        for name in ("adam_beta1", "adam_beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name}: expected a number from 0 to below 1, got {getattr(self, name)!r}")
        if self.attn_implementation not in _ATTENTION:
            raise BadInput(f"attn_implementation: expected {' or '.join(_ATTENTION)}, got {self.attn_implementation!r}")
        if self.row_tokens is not None and self.row_tokens < self.max_length:
            raise BadInput(
                f"row_tokens: expected at least max_length, because a sample lies in one row, got {self.row_tokens:,} and "
                f"{self.max_length:,}"
            )

    @property
    def tokens_of_row(self) -> int:
        """The largest number of tokens in a row."""
        return self.row_tokens or self.max_length

    @property
    def kept_epochs(self) -> list[int]:
        """The epochs, counted from 1, that leave a checkpoint and are measured."""
        n = self.num_train_epochs
        return sorted({1, n, *range(self.save_every, n + 1, self.save_every)})

    @property
    def method(self) -> str:
        """How the weights are trained, in words for tables: LoRA is reported apart."""
        return f"LoRA, rank {self.lora_r}, alpha {self.lora_alpha}" if self.lora_r else "all weights"

    def identity(self) -> dict[str, Any]:
        """What tells trainings apart: everything that changes the weights, and nothing that changes only speed or memory."""
        names = [name for name in Recipe.__dataclass_fields__ if name not in _NO_EFFECT]
        fields = {name: getattr(self, name) for name in names}
        return fields if self.lora_r else {name: value for name, value in fields.items() if name != "lora_alpha"}


_LEAST = dict.fromkeys(("num_train_epochs", "batch_size", "lora_alpha", "save_every"), 1)
_LEAST |= {"max_length": 2, "row_tokens": 2, "seed": 0, "lora_r": 0}
_ATTENTION = ("sdpa", "flash_attention_2")
_NO_EFFECT = ("activation_checkpointing", "attn_implementation", "row_tokens", "save_every")
