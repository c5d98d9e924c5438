"""What the scripts share that `accelerate launch` starts.

These are the processes that work together on one run, usually one for each GPU; what a training takes; the model in a folder;
and a tiny Llama, so that fine-tuning can be tried without a network, a GPU or a real model.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import BadInput
from epbench.files.writing import replacing
from epbench.finetuning.recipe import Recipe

if TYPE_CHECKING:
    from epbench.models.hf.model import TransformersModel

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
    """Have transformers load whole models in every process, as those that are measured need it.

    Of the model that is trained, FSDP may load the weights in the first process only, and DeepSpeed's stage 3 in parts.
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
    """Return what training takes, in lines, before any weights are loaded; `BadInput` if memory or disk do not suffice.

    Without CUDA, the processes share the memory of the machine.
    """
    import torch
    from transformers import AutoConfig

    from epbench.finetuning import cost

    config = AutoConfig.from_pretrained(base, trust_remote_code=False).get_text_config()
    cuda = torch.cuda.is_available()
    sharded = any(os.environ.get(f"ACCELERATE_USE_{name}") == "true" for name in ("FSDP", "DEEPSPEED"))

    def takes(**other: Any) -> cost.MemoryEstimate:
        as_asked: dict[str, Any] = {"row_tokens": recipe.tokens_of_row, "world": ranks.n, "sharded": sharded}
        as_asked |= {"autocast": cuda, "masked": recipe.attn_implementation == "sdpa"}
        as_asked |= {"checkpointing": recipe.activation_checkpointing, "lora_rank": recipe.lora_r}
        return cost.estimate_memory(config, **as_asked | other)

    parameters = cost.parameters_of(config)
    trained = parameters.lora(recipe.lora_r) if recipe.lora_r else None
    disk = cost.disk_needed(parameters.total, len(recipe.kept_epochs), n_trained=trained)
    there = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())  # of the start before this one
    cost.check_disk(out, disk - there)
    lines = [f"{parameters.total:,} parameters; disk: {disk / 1e9:,.1f} GB for checkpoints and state"]
    try:
        estimate = takes()
    except BadInput as error:  # nothing can be refused whose size is not known
        return [*lines, f"memory: {error}"]
    available = cost.available_memory(device()) // (1 if cuda else ranks.n)
    alternatives = {}
    if not recipe.activation_checkpointing:
        alternatives["--activation_checkpointing true"] = takes(checkpointing=True)
    if cuda and not sharded:
        over = {n: takes(world=n, sharded=True) for n in range(1, 65)}
        if n := next((n for n, split in over.items() if split.total <= available), None):
            alternatives[f"finetune/configs/fsdp2.yaml on {n} GPUs like this"] = over[n]
    if not recipe.lora_r:
        alternatives["--lora_r 16"] = takes(lora_rank=16)
    cost.check_memory(estimate, available, alternatives)
    memory = f"about {estimate.total / 1e9:,.1f} GB for each {'device' if cuda else 'process'}"
    return [*lines, f"memory: {memory}, {available / 1e9:,.1f} GB available"]


def device() -> str:
    """Return the name of the device of this process: each has a GPU of its own, or all share the CPU."""
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def model_of(base: str) -> TransformersModel:
    """Return the model in a folder, as the evaluation scripts ask it; its weights are loaded when they are first needed."""
    from epbench.models.hf.model import TransformersModel

    return TransformersModel(base, device=device())


_WINDOW = 8192  # tokens of the longest text
_SPECIALS = ("<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
_CHAT = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_toy_model(folder: Path, texts: Iterable[str]) -> None:
    """Write a Llama of about a million parameters with random weights, and a tokenizer that has learned these texts.

    A folder that is there already stays as it is.
    """
    if (folder / "config.json").is_file():
        return
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=2048, special_tokens=list(_SPECIALS), initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw, bos_token="<s>", eos_token="<|end|>", pad_token="<pad>", model_max_length=_WINDOW
    )
    tokenizer.chat_template = _CHAT
    sizes: dict[str, Any] = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 2, "head_dim": 32}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": _WINDOW}
    ids = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    config = LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=True, **sizes, **ids)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = LlamaForCausalLM(config)
    with replacing(folder) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
