"""What the scripts share that `accelerate launch` starts: arguments from a file or the command line, and processes that
know of one another.
"""

from __future__ import annotations

import logging
import os
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from epbench.errors import BadInput
from epbench.files.text import check_size
from epbench.finetuning.ranks import Ranks
from epbench.finetuning.recipe import Recipe
from epbench.starting.scripts import translated

Arguments = TypeVar("Arguments")

CONFIG = "--config"


def parse(kind: type[Arguments], doc: str | None, argv: Sequence[str] | None, toy: Path | None = None) -> Arguments:
    """Fill a dataclass from the command line, and from the YAML file that `--config` names.

    The command line overrules the file, and the file the defaults of the dataclass.

    Args:
        kind: The dataclass; the metadata `help` of its fields are the lines of `--help`.
        doc: The docstring of the script, which `--help` shows.
        argv: The words of the command line; None for those of this process.
        toy: The file that is read if the command line names neither a file nor a model, which is then made on the spot.

    Raises:
        BadInput: The file is missing, is not YAML, or has an unknown key, or a value is out of its range.
    """
    import yaml  # type: ignore[import-untyped]
    from trl import TrlParser

    class Parser(TrlParser):  # type: ignore[misc]
        def error(self, message: str) -> NoReturn:
            raise BadInput(f"{message}; see --help")

        def format_help(self) -> str:
            return translated(str(super().format_help()))

    words = [word for each in (sys.argv[1:] if argv is None else argv) for word in _apart(each)]
    if words[-1:] == [CONFIG]:
        raise BadInput(f"{CONFIG}: expected the name of a YAML file behind it; see --help")
    if toy is not None and not any(word == CONFIG or word.split("=")[0] == "--model" for word in words):
        words = [CONFIG, str(toy), *words]
    where = words[words.index(CONFIG) + 1] if CONFIG in words[:-1] else "the command line"
    parser = Parser(kind, description=doc, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument(CONFIG, metavar="FILE", help="YAML file with values for these arguments")
    try:
        if where != "the command line":
            check_size(Path(where))
        found, *_, unknown = parser.parse_args_and_config(words, return_remaining_strings=True)
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{where}: expected a YAML file that can be read ({error.strerror})") from None
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise BadInput(f"{where}: {' '.join(str(error).split())}") from None
    if unknown:
        raise BadInput(f"unknown arguments: {' '.join(unknown)}; see --help")
    return found  # type: ignore[no-any-return]


def _apart(word: str) -> list[str]:
    """Return `--config=FILE` as two words, the only form that is read as a file."""
    return word.split("=", 1) if word.startswith(f"{CONFIG}=") else [word]


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the other processes, if the launcher has started several, and keep the libraries from printing.

    Raises:
        BadInput: The launcher was asked for several processes, and they do not know of one another.
    """
    import torch
    import transformers
    from accelerate import PartialState

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
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
    """Refuse training for which memory or disk do not suffice, before any weights are loaded.

    Args:
        recipe: How the model is trained.
        base: The folder of the model, or its name on the Hub.
        ranks: The processes; without CUDA they share the memory of the machine.
        out: The run's folder.

    Returns:
        What it takes, in lines for the user.

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
        as_asked = {
            "row_tokens": recipe.tokens_of_row, "world": ranks.n, "sharded": sharded, "autocast": cuda,
            "checkpointing": recipe.activation_checkpointing, "lora_rank": recipe.lora_r,
            "masked": recipe.attn_implementation == "sdpa",
        }  # fmt: skip
        return estimate_memory(config, **{**as_asked, **other})

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
    if cuda and (n := memory.fewest_devices(available, lambda n: takes(world=n, sharded=True))) and not sharded:
        alternatives[f"finetune/configs/fsdp2.yaml on {n} GPUs like this"] = takes(world=n, sharded=True)
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
