"""What the scripts share that `accelerate launch` starts: processes that know of one another, and what a training takes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.finetuning.ranks import Ranks
from epbench.finetuning.recipe import Recipe

if TYPE_CHECKING:
    from epbench.models.hf.model import TransformersModel


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the other processes, if the launcher has started several, and keep libraries and models from printing.

    BadInput if it was asked for several processes, and they do not know of one another.
    """
    import torch
    import transformers
    from accelerate import PartialState

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.getLogger("epbench.models").setLevel(logging.WARNING)  # it would say the same for every epoch
    state = PartialState(cpu=not torch.cuda.is_available())
    started = os.environ.get("WORLD_SIZE")
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ
    if started is None and launched and "MASTER_PORT" in os.environ:
        raise BadInput(
            "accelerate was asked for several processes and has started one, as it does on a CPU. Give it --multi_gpu "
            "--num_processes N, which works without a GPU too, or use torchrun --nproc_per_node N"
        )
    if int(started or 1) != state.num_processes:
        raise BadInput(
            f"{started} processes were started, but accelerate counts {state.num_processes}, so each would train alone on "
            "all texts. Give accelerate --multi_gpu --num_processes N and no configuration with use_cpu, or use torchrun"
        )
    if state.process_index:
        logging.getLogger("epbench").setLevel(logging.WARNING)
    yield Ranks(state.process_index, state.num_processes)
    # A process that ends with its group open may abort, as threads of the group are still at work. After an error the
    # others may wait for this process, and only its end tells the launcher to stop them.
    if state.num_processes > 1:
        state.destroy_process_group()


def check_cost(recipe: Recipe, base: str, ranks: Ranks, out: Path) -> list[str]:
    """Refuse training for which memory or disk do not suffice, before any weights are loaded; return what it takes, in lines.

    Without CUDA, the processes share the memory of the machine.

    Raises:
        BadInput: There is too little memory or disk; the message has the numbers, and what would fit.
    """
    import torch
    from transformers import AutoConfig

    from epbench.finetuning import memory
    from epbench.finetuning.cost import parameters_of
    from epbench.finetuning.memory import MemoryEstimate, estimate_memory

    config = AutoConfig.from_pretrained(base, trust_remote_code=False).get_text_config()
    cuda = torch.cuda.is_available()
    sharded = any(os.environ.get(f"ACCELERATE_USE_{name}") == "true" for name in ("FSDP", "DEEPSPEED"))

    def takes(**other: Any) -> MemoryEstimate:
        as_asked: dict[str, Any] = {"row_tokens": recipe.tokens_of_row, "world": ranks.n, "sharded": sharded}
        as_asked |= {"autocast": cuda, "masked": recipe.attn_implementation == "sdpa"}
        as_asked |= {"checkpointing": recipe.activation_checkpointing, "lora_rank": recipe.lora_r}
        return estimate_memory(config, **as_asked | other)

    parameters = parameters_of(config)
    trained = parameters.lora(recipe.lora_r) if recipe.lora_r else None
    disk = memory.disk_needed(parameters.total, len(recipe.kept_epochs), n_trained=trained)
    there = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())  # of the start before this one
    memory.check_disk(out, disk - there)
    lines = [f"{parameters.total:,} parameters; disk: {disk / 1e9:,.1f} GB for checkpoints and state"]
    try:
        estimate = takes()
    except BadInput as error:  # nothing can be refused whose size is not known
        return [*lines, f"memory: {error}"]
    available = memory.available_memory(device()) // (1 if cuda else ranks.n)
    alternatives = {}
    if not recipe.activation_checkpointing:
        alternatives["--activation_checkpointing true"] = takes(checkpointing=True)
    if cuda and not sharded:
        over = {n: takes(world=n, sharded=True) for n in range(1, 65)}
        if n := next((n for n, split in over.items() if split.total <= available), None):
            alternatives[f"finetune/configs/fsdp2.yaml on {n} GPUs like this"] = over[n]
    if not recipe.lora_r:
        alternatives["--lora_r 16"] = takes(lora_rank=16)
    memory.check_memory(estimate, available, alternatives)
    where = "device" if cuda else "process"
    return [
        *lines,
        f"memory: about {estimate.total / 1e9:,.1f} GB for each {where}, {available / 1e9:,.1f} GB available",
    ]


def device() -> str:
    """Return the name of the device of this process: each has a GPU of its own, or all share the CPU."""
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def model_of(base: str) -> TransformersModel:
    """Return the model in a folder, as the evaluation scripts ask it; its weights are loaded when they are first needed."""
    from epbench.models.hf.model import TransformersModel

    return TransformersModel(base, device=device())
