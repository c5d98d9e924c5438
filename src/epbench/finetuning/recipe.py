"""How a model is trained: the numbers of the paper, under the names that the trainers of Hugging Face give them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from epbench.errors import BadInput

Learn = Literal["all", "text"]


def said(default: Any, text: str) -> Any:
    """Return a field of a dataclass with its default and what it means, in words for users."""
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The recipe of Appendix F (fine-tuning of Llama3-8b-Instruct), as defaults. The help of each field says what it is.

    Raises:
        BadInput: A number is out of its range, or of another type.
    """

    num_train_epochs: int = said(5, "how often each text is seen")
    batch_size: int = said(192, "samples in each step of the optimizer, on all processes together")
    max_length: int = said(8192, "longest sample in tokens; a longer text is refused, never cut")
    row_tokens: int | None = said(
        None, "tokens that a process reads at one time, several samples in a row (max_length)"
    )
    learning_rate: float = said(
        5e-6, "learning rate of the first step; it falls to 0 along a cosine, without a warm-up"
    )
    weight_decay: float = said(1e-4, "weight decay of AdamW")
    adam_beta1: float = said(0.9, "first beta of AdamW")
    adam_beta2: float = said(0.95, "second beta of AdamW")
    adam_epsilon: float = said(1e-5, "epsilon of AdamW")
    max_grad_norm: float = said(1.0, "gradients are clipped to this norm")
    seed: int = said(1, "seed of the order of samples, of dropout and of everything that is drawn")
    activation_checkpointing: bool = said(True, "compute activations twice instead of keeping them in memory")
    attn_implementation: str = said("sdpa", "how attention is computed: sdpa, or flash_attention_2 if it is installed")
    lora_r: int = said(0, "rank of LoRA on all linear layers; 0 trains all weights, as the paper does")
    lora_alpha: int = said(32, "alpha of LoRA")
    save_every: int = said(1, "epochs between two checkpoints; the first and the last epoch always leave one")

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
        found = {name: getattr(self, name) for name in names}
        return found if self.lora_r else {name: value for name, value in found.items() if name != "lora_alpha"}


_LEAST = {
    "num_train_epochs": 1,
    "batch_size": 1,
    "max_length": 2,
    "row_tokens": 2,
    "seed": 0,
    "lora_r": 0,
    "lora_alpha": 1,
    "save_every": 1,
}
_ATTENTION = ("sdpa", "flash_attention_2")
_NO_EFFECT = ("activation_checkpointing", "attn_implementation", "row_tokens", "save_every")
