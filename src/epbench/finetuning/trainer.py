"""Training all weights of a model, or LoRA, with the trainer of transformers.

Weights and the states of the optimizer are in float32, and on CUDA everything is computed under bfloat16 autocast: with
weights in bfloat16 a learning rate of 5e-6 changes few of them, because most updates are smaller than their last digit.
Importing this module imports torch and transformers.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import DistributedType
from transformers import (
    AutoModelForCausalLM,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from transformers.utils.import_utils import is_torch_tf32_available

from epbench.errors import BadInput, RunFailed, reason_of
from epbench.files.writing import replacing
from epbench.finetuning.launching import Ranks, whole_models
from epbench.finetuning.packing import Sample, Schedule
from epbench.finetuning.recipe import Recipe
from epbench.finetuning.steps import StepLoader, accumulate

STATE = "state"
_COMPLETE = "trainer_state.json"
_NUMBERED = re.compile(r"checkpoint-(\d+)")


def epoch_folder(out: Path, epoch: int) -> Path:
    """Return where the weights after an epoch lie; epochs are counted from 1."""
    return out / "checkpoints" / f"epoch-{epoch}"


def last_state(out: Path) -> tuple[int, Path] | None:
    """Return the last complete state, with the number of its last step; None if there is none."""
    complete = {step: path for step, path in _states(out).items() if (path / _COMPLETE).is_file()}
    return max(complete.items(), default=None)


def remove_others(out: Path) -> None:
    """Remove every state but the last complete one, such as those that a killed process has not written to the end."""
    last = last_state(out)
    for path in _states(out).values():
        if last is None or path != last[1]:
            shutil.rmtree(path)


def _states(out: Path) -> dict[int, Path]:
    paths = (out / STATE).glob("checkpoint-*")
    return {int(match[1]): path for path in paths if (match := _NUMBERED.fullmatch(path.name))}


def write_weights(folder: Path, model: Any, state: Mapping[str, torch.Tensor], tokenizer: Any) -> None:
    """Write the folder of a model with the weights of `state` in bfloat16; it appears at once, in place of an older one."""
    # Imported here, so that a benchmark can train where only transformers and what it needs is installed.
    from epbench.files.json_files import read_json, write_json

    half: dict[tuple[int, int], torch.Tensor] = {}  # by address and size, so that tied weights stay one tensor

    def halved(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        return half.setdefault((tensor.data_ptr(), tensor.numel()), tensor.detach().to("cpu", torch.bfloat16))

    with replacing(folder) as draft:
        model.save_pretrained(draft, state_dict={name: halved(tensor) for name, tensor in state.items()})
        tokenizer.save_pretrained(draft)
        # transformers writes the type of the weights that are trained, not of those that are stored.
        write_json(draft / "config.json", read_json(draft / "config.json") | {"dtype": "bfloat16"})


def merged(base: str, model: Any, state: Mapping[str, torch.Tensor]) -> Any:
    """Return the base model with the weights of a LoRA adapter added to its own, on the CPU."""
    from peft import get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

    with whole_models():
        fresh = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, trust_remote_code=False)
    adapter = get_peft_model_state_dict(model, state_dict=dict(state))
    fresh = get_peft_model(fresh, model.peft_config["default"])
    set_peft_model_state_dict(fresh, adapter)
    return fresh.merge_and_unload()


log = logging.getLogger(__name__)

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained, on what, and where it goes."""

    base: str  # the folder of the model, or its name on the Hub
    tokenizer: Any  # the model's tokenizer, which goes into every checkpoint
    samples: Sequence[Sample]  # all samples; each fits in a row
    schedule: Schedule  # which of them each epoch sees
    recipe: Recipe
    out: Path  # the run's folder
    ranks: Ranks
    # Called on the main process with the record of each step: step, epoch, loss in nats a token, rate, gradient norm,
    # tokens, seconds, and lengths of the samples in tokens.
    after_step: Callable[[Record], None]
    # Called on every process when an epoch has left a checkpoint, with the epoch, counted from 1, and the folder. After
    # a restart it is called again for the epoch that training goes on from.
    after_epoch: Callable[[int, Path], None]


def train(training: Training) -> None:
    """Train, or go on from the last epoch whose state is complete.

    After a restart on a CPU the weights are the same, bit by bit, as if training had never stopped, if the machine, the
    libraries and the number of processes are the same. On CUDA they are the same up to rounding, as for any two trainings
    there. BadInput if the model cannot be loaded, RunFailed if the loss is not a number.
    """
    ranks, out = training.ranks, training.out
    if ranks.main:
        remove_others(out)
    ranks.wait()
    resumed = last_state(out)
    loader = StepLoader(
        training.samples,
        training.schedule,
        batch_size=training.recipe.batch_size,
        row_tokens=training.recipe.tokens_of_row,
        rank=ranks.index,
        n_ranks=ranks.n,
    )
    if resumed:
        epoch = resumed[0] // len(loader)
        training.after_epoch(epoch, epoch_folder(out, epoch))
        if epoch == training.recipe.num_train_epochs:
            return
    set_seed(training.recipe.seed)
    arguments = training_arguments(training.recipe, out)
    trainer = _StepTrainer(training, loader, load_for_training(training.base, training.recipe), arguments)
    trainer.train(resume_from_checkpoint=str(resumed[1]) if resumed else None)


def training_arguments(recipe: Recipe, out: Path) -> TrainingArguments:
    """Say the same as the recipe in the words of transformers."""
    sharded = os.environ.get("ACCELERATE_USE_FSDP") == "true"
    if sharded and recipe.activation_checkpointing:
        log.info(
            "activation checkpointing: as the configuration of FSDP says, which does it without another all-gather"
        )
    cuda = torch.cuda.is_available()
    same = ("num_train_epochs", "learning_rate", "weight_decay", "max_grad_norm", "seed")
    more = {name: getattr(recipe, name) for name in (*same, "adam_beta1", "adam_beta2", "adam_epsilon")}
    if recipe.activation_checkpointing and not sharded:
        more["activation_checkpointing"] = True  # transformers before 5.23 has no argument of this name
    return TrainingArguments(
        output_dir=str(out / STATE),
        per_device_train_batch_size=1,  # a step of ours is one batch of the trainer, with all its rows
        gradient_accumulation_steps=1,
        lr_scheduler_type="cosine",
        warmup_steps=0,
        bf16=cuda,
        tf32=is_torch_tf32_available() or None,  # asking for it raises an error on GPUs that do not have it
        use_cpu=not cuda,
        **more,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        ddp_timeout=6 * 3600,  # processes wait for one another while checkpoints are written and measured
    )


def load_for_training(base: str, recipe: Recipe) -> Any:
    """Load a model in float32, with LoRA if the recipe says so; BadInput if there are no weights at this path or name."""
    try:
        model = AutoModelForCausalLM.from_pretrained(
            base, dtype=torch.float32, attn_implementation=recipe.attn_implementation, trust_remote_code=False
        )
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # foreign files can make transformers, safetensors and JSON raise anything
        raise BadInput(f"model {base}: cannot be loaded for training ({reason_of(error)})") from error
    if not recipe.lora_r:
        return model
    from peft import LoraConfig, get_peft_model

    where = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    adapter = LoraConfig(r=recipe.lora_r, lora_alpha=recipe.lora_alpha, **where)
    model.enable_input_require_grads()  # type: ignore[no-untyped-call]  # or nothing has a gradient under activation checkpointing
    return get_peft_model(model, adapter)


class _StepTrainer(Trainer):  # type: ignore[misc]
    """The trainer of transformers with steps of ours: a batch is a whole step, read row by row."""

    def __init__(self, training: Training, loader: StepLoader, model: Any, arguments: TrainingArguments) -> None:
        if arguments.n_gpu > 1:  # with DataParallel, the whole model would be copied for every row
            log.warning("training on one of %d GPUs, because there is one process; start one for each", arguments.n_gpu)
            arguments._n_gpu = 1
        super().__init__(model, arguments, callbacks=[_Epochs(self, training, len(loader))])
        self.remove_callback(PrinterCallback)  # the caller shows progress
        self._loader = loader
        self.step_record: Record = {}  # what the last step was, for the journal

    def get_train_dataloader(self) -> Any:
        """Every process makes its own rows, so the loader is not sharded by accelerate."""
        return self._loader

    def training_step(self, model: Any, inputs: Mapping[str, Any], num_items_in_batch: Any = None) -> torch.Tensor:
        """Compute the gradients of a step; the loss that is returned is that of all processes."""
        started = time.perf_counter()
        model.train()
        rows: Any = self._prepare_inputs(inputs["rows"])
        # Where weights are sharded, waiting would keep gradients of the whole model on every device.
        plain = self.accelerator.distributed_type in (DistributedType.MULTI_GPU, DistributedType.MULTI_CPU)
        waiting = partial(self.accelerator.no_sync, model) if plain else nullcontext
        loss = accumulate(model, rows, inputs["n_learned"], self._backward, waiting)
        loss = torch.as_tensor(self.accelerator.reduce(loss, "sum"))
        if not math.isfinite(value := float(loss)):
            step = self.state.global_step + 1
            raise RunFailed(
                f"step {step}: the loss is {value}; the weights after the last whole epoch are kept. Try a lower learning rate"
            )
        assert self.optimizer is not None
        self.step_record = {"loss": value, "rate": self.optimizer.param_groups[0]["lr"]}
        self.step_record |= {"tokens": inputs["n_tokens"], "learned": inputs["n_learned"]}
        self.step_record |= {"samples": len(inputs["lengths"]), "lengths": inputs["lengths"], "started": started}
        return loss

    def _backward(self, loss: torch.Tensor, last: bool) -> None:
        """Processes average their gradients, and each has only its part of the loss, so that part counts n-fold."""
        more = {}
        if self.accelerator.distributed_type == DistributedType.DEEPSPEED:
            more = {"scale_wrt_gas": False}
            self.accelerator.gradient_state._set_sync_gradients(last)  # DeepSpeed steps with the last row only
        self.accelerator.backward(loss * self.accelerator.num_processes, **more)

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """Note the norm of the gradients before they were clipped."""
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)  # type: ignore[no-untyped-call]
        self.step_record["gradient_norm"] = None if norm is None else float(norm)
        return norm

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> None:
        """A step brings its number of learned tokens along."""


class _Epochs(TrainerCallback):  # type: ignore[misc]
    """Journals every step, and leaves a checkpoint after an epoch."""

    def __init__(self, trainer: _StepTrainer, training: Training, steps_per_epoch: int) -> None:
        self._trainer, self._training, self._steps_per_epoch = trainer, training, steps_per_epoch

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        """Seed the epoch, so that what was drawn before it, or by a killed process, has no effect on it."""
        epoch = state.global_step // self._steps_per_epoch
        set_seed(self._training.recipe.seed + epoch * self._training.ranks.n + self._training.ranks.index)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        """Pass on the record of the step."""
        if not self._training.ranks.main:
            return
        record = dict(self._trainer.step_record)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds = time.perf_counter() - record.pop("started")
        epoch = (state.global_step - 1) // self._steps_per_epoch + 1
        self._training.after_step({"step": state.global_step, "epoch": epoch, **record, "seconds": seconds})

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        """Write the weights after this epoch, and have the trainer save its state."""
        epoch = state.global_step // self._steps_per_epoch
        if epoch not in self._training.recipe.kept_epochs:
            return
        trainer, training = self._trainer, self._training
        weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
        if training.ranks.main:
            model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
            if training.recipe.lora_r:
                model = merged(training.base, model, weights)
                weights = model.state_dict()
            write_weights(epoch_folder(training.out, epoch), model, weights, training.tokenizer)
        training.ranks.wait()
        control.should_save = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        """Have the checkpoint measured, once all that is needed to go on from it is on the disk."""
        ranks = self._training.ranks
        ranks.wait()
        if ranks.main:
            remove_others(self._training.out)
        epoch = state.global_step // self._steps_per_epoch
        self._training.after_epoch(epoch, epoch_folder(self._training.out, epoch))
        ranks.wait()
