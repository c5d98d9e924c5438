"""The processes that work together on one run; usually one for each GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that work together."""

    index: int = 0  # the number of this process, from 0
    n: int = 1  # the number of processes

    @property
    def main(self) -> bool:
        """Whether this process writes what all of them have made."""
        return self.index == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return the part of some items that this process works on; the parts of all processes make up the whole."""
        return items[self.index :: self.n]

    def wait(self) -> None:
        """Wait until every process has come this far."""
        if self.n > 1:
            import torch.distributed

            torch.distributed.barrier()

    def gather(self, item: T) -> list[T]:
        """Return the item of each process, in their order, to all processes."""
        if self.n == 1:
            return [item]
        import torch.distributed

        items: list[Any] = [None] * self.n
        torch.distributed.all_gather_object(items, item)
        return items


_LOAD_ONCE = "FSDP_CPU_RAM_EFFICIENT_LOADING"


@contextmanager
def whole_models() -> Iterator[None]:
    """Have transformers load whole models in every process, whatever the launcher says of the model that is trained.

    To save memory, FSDP may have only the first process load that model, and DeepSpeed's stage 3 gives each process a part of
    it as it is loaded. A model that is loaded beside it, to be measured, needs all weights in every process.
    """
    from transformers.integrations import deepspeed

    once, config = os.environ.get(_LOAD_ONCE), deepspeed._hf_deepspeed_config_weak_ref
    os.environ[_LOAD_ONCE] = "false"
    deepspeed.unset_hf_deepspeed_config()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = config
        if once is None:
            del os.environ[_LOAD_ONCE]
        else:
            os.environ[_LOAD_ONCE] = once
