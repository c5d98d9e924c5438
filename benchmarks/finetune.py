"""What fine-tuning costs beside a loop that does nothing else, how well it uses a GPU, and whether its memory is known before.

    python benchmarks/finetune.py
    python benchmarks/finetune.py --quick

Trains a Llama with random weights on random tokens, with the trainer and with a bare PyTorch loop: the same rows, AdamW,
clipping and cosine. Each runs in a process of its own, by turns; the first step is not counted. On CUDA the model has 1.2
billion parameters and a row is one sample of 4,096 tokens; on a CPU it has 22 million and a row has several samples.

Prints what was run on what, a table, and as its last line one JSON object: tokens_per_second (of the trainer), of_bare_loop
(the trainer's time for a token over that of the loop; on a CPU it is CPU time, of one thread), mfu (the part of the GPU's
dense bfloat16 peak that the trainer uses, null where the peak is not known; mfu_causal counts half of attention), peak_bytes
and of_estimate (the estimate over that peak). Each time is the least of three. The peak is what tensors take on CUDA; on a
CPU it is by how much training raises the memory of a process in which glibc is told, by MALLOC_MMAP_THRESHOLD_, to give back
what is freed. The table has what a process takes otherwise.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine

if TYPE_CHECKING:
    from transformers import LlamaConfig

    from epbench.finetuning.packing import Sample, Schedule
    from epbench.finetuning.recipe import Recipe

UNCOUNTED = 1  # steps


@dataclass(frozen=True)
class Job:
    """What both ways train: rows of several samples on a CPU, and of one on CUDA."""

    base: str
    samples: list[Sample]
    schedule: Schedule
    recipe: Recipe
    steps: int


@dataclass(frozen=True)
class Cost:
    """What a way took for the counted steps, and its last loss."""

    cpu_seconds: float
    seconds: float
    tokens: int
    peak_bytes: int
    loss: float


class Meter:
    """Reads clocks after every step, and memory from its own beginning on."""

    def __init__(self) -> None:
        self._before, self._ticks = peak_bytes(), [(0.0, 0.0)]
        self._tokens: list[int] = []

    def step(self, tokens: int) -> None:
        self._ticks.append((time.process_time(), time.perf_counter()))
        self._tokens.append(tokens)

    def cost(self, loss: float) -> Cost:
        (cpu, wall), (cpu_end, wall_end) = self._ticks[UNCOUNTED], self._ticks[-1]
        return Cost(cpu_end - cpu, wall_end - wall, sum(self._tokens[UNCOUNTED:]), peak_bytes() - self._before, loss)


class Enough(Exception):
    """The last step is over; what the trainer would write then is not part of the comparison."""


def ours(job: Job) -> Cost:
    """The trainer."""
    from transformers import AutoTokenizer, LlamaForCausalLM  # noqa: F401  # imported before memory is read

    from epbench.finetuning.launching import Ranks
    from epbench.finetuning.trainer import Training, train

    settle()
    meter, losses = Meter(), []

    def after_step(record: dict[str, Any]) -> None:
        meter.step(record["tokens"])
        losses.append(record["loss"])
        if record["step"] == job.steps:
            raise Enough

    def after_epoch(epoch: int, folder: Path) -> None:
        raise AssertionError("there is nothing to measure")

    with tempfile.TemporaryDirectory() as out:
        try:
            train(
                Training(
                    base=job.base, tokenizer=AutoTokenizer.from_pretrained(job.base), samples=job.samples,
                    schedule=job.schedule, recipe=job.recipe, out=Path(out), ranks=Ranks(),
                    after_step=after_step, after_epoch=after_epoch,
                )
            )  # fmt: skip
        except Enough:
            return meter.cost(losses[-1])
    raise AssertionError("the trainer has made fewer steps")


def bare(job: Job) -> Cost:
    """A loop of PyTorch and nothing else; the rows lie ready."""
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import LlamaForCausalLM

    from epbench.finetuning.steps import StepLoader

    settle()
    recipe, device = job.recipe, "cuda" if torch.cuda.is_available() else "cpu"
    loader = StepLoader(
        job.samples, job.schedule, batch_size=recipe.batch_size, row_tokens=recipe.tokens_of_row
    )  # fmt: skip
    steps = list(loader)
    meter = Meter()
    model = LlamaForCausalLM.from_pretrained(job.base, dtype=torch.float32).to(device).train()
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=recipe.learning_rate, betas=(recipe.adam_beta1, recipe.adam_beta2), eps=recipe.adam_epsilon, fused=True,
    )  # fmt: skip
    cosine = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 * (1 + math.cos(math.pi * step / job.steps)))
    for step in steps:
        total = torch.zeros((), device=device)
        for row in step["rows"]:
            row = {name: tensor.to(device) for name, tensor in row.items()}
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                logits = model(input_ids=row["input_ids"], position_ids=row["position_ids"], use_cache=False).logits
            loss = cross_entropy(logits[0, :-1].float(), row["labels"][0, 1:], reduction="sum") / step["n_learned"]
            del logits
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.max_grad_norm)
        optimizer.step()
        cosine.step()
        optimizer.zero_grad()
        last = float(total)
        meter.step(step["n_tokens"])
    return meter.cost(last)


def settle() -> None:
    """Let what the clock reads depend on as little as possible beside the training."""
    import torch
    import transformers

    torch.set_num_threads(1)  # several would spend CPU time on waiting for one another
    torch.backends.cuda.matmul.allow_tf32 = True  # as the trainer does
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def peak_bytes() -> int:
    """The most memory so far: on CUDA of tensors, else of this process."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated())
    lines = Path("/proc/self/status").read_text("ascii").splitlines()  # `getrusage` would count the parent's as well
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def in_fresh_process(way: Callable[[Job], Cost], job: Job, *, returning: bool = False) -> Cost:
    """Run a way; with `returning`, glibc gives memory back as soon as it is freed, which takes time."""
    os.environ.pop("MALLOC_MMAP_THRESHOLD_", None)
    if returning:
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "131072"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(way, job).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter steps, each way once")
    quick = parser.parse_args().quick

    import torch
    import transformers
    from rich.console import Console
    from rich.table import Table

    from epbench.finetuning.cost import estimate_memory, parameters_of, utilization

    transformers.logging.disable_progress_bar()
    cuda = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if cuda else f"{machine()}, 1 thread"
    config = llama(cuda, quick)
    console = Console()
    console.print(
        f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, Llama of "
        f"{parameters_of(config).total:,} parameters in {'bfloat16 autocast' if cuda else 'float32'} on {device}"
    )
    with tempfile.TemporaryDirectory() as folder:
        job = make_job(Path(folder), config, cuda, quick)
        costs: dict[str, list[Cost]] = {"trainer": [], "bare loop": []}
        for _ in range(1 if quick else 3):
            costs["trainer"].append(in_fresh_process(ours, job))
            costs["bare loop"].append(in_fresh_process(bare, job))
        measured = in_fresh_process(ours, job, returning=True)

    row_tokens = job.recipe.tokens_of_row
    estimate = estimate_memory(config, row_tokens=row_tokens, autocast=cuda, measuring=False, masked=not cuda)
    least = {way: min(all_, key=lambda cost: time_of(cost, cuda)) for way, all_ in costs.items()}
    trainer, loop = least["trainer"], least["bare loop"]
    table = Table(
        "what", "seconds", "CPU seconds", "tokens per second", "last loss", "peak GB",
        title=f"{job.steps - UNCOUNTED} steps, {trainer.tokens:,} tokens in rows of at most {row_tokens:,}",
    )  # fmt: skip
    for way, cost in least.items():
        speed = cost.tokens / cost.seconds
        table.add_row(
            way, f"{cost.seconds:.2f}", f"{cost.cpu_seconds:.2f}", f"{speed:,.0f}", f"{cost.loss:.6f}",
            f"{cost.peak_bytes / 1e9:.3f}",
        )  # fmt: skip
    console.print(table)
    peak = measured.peak_bytes
    parts = ", ".join(f"{name} {size / 1e9:.3f}" for name, size in asdict(estimate).items() if size)
    console.print(
        f"Peak without what glibc keeps: {peak / 1e9:.3f} GB; estimate: {estimate.total / 1e9:.3f} GB ({parts})"
    )
    lengths = [row_tokens] * (trainer.tokens // row_tokens)  # on CUDA each row is one sample
    used = utilization(config, lengths, trainer.seconds, device) if cuda else None
    result = {
        "tokens_per_second": round(trainer.tokens / trainer.seconds, 1),
        "of_bare_loop": round(time_of(trainer, cuda) / time_of(loop, cuda), 3),
        "mfu": round(used.mfu, 3) if used else None,
        "mfu_causal": round(used.causal, 3) if used else None,
        "peak_bytes": peak,
        "of_estimate": round(estimate.total / peak, 3),
        "losses_differ_by": abs(trainer.loss - loop.loss),
    }
    print(json.dumps(result))


def time_of(cost: Cost, cuda: bool) -> float:
    return cost.seconds if cuda else cost.cpu_seconds


def llama(cuda: bool, quick: bool) -> LlamaConfig:
    """A Llama of 1.2 billion parameters for CUDA, and of 22 million for a CPU, or 14."""
    from transformers import LlamaConfig

    if cuda:
        return LlamaConfig(
            hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
            num_key_value_heads=8, vocab_size=128_256, max_position_embeddings=8192, tie_word_embeddings=True,
        )  # fmt: skip
    hidden, inner, layers, heads, shared = (320, 864, 8, 5, 1) if quick else (384, 1024, 10, 6, 2)
    return LlamaConfig(
        hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=shared, vocab_size=8192, max_position_embeddings=2048, tie_word_embeddings=False,
    )  # fmt: skip


def make_job(folder: Path, config: LlamaConfig, cuda: bool, quick: bool) -> Job:
    """Write the model with some tokenizer, and draw the samples."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    from epbench.draws import RandomStream
    from epbench.finetuning.launching import make_toy_model
    from epbench.finetuning.packing import Sample, Schedule
    from epbench.finetuning.recipe import Recipe

    make_toy_model(folder / "toy", ["any text"])
    torch.manual_seed(0)
    with torch.device("cuda" if cuda else "cpu"):  # a CPU takes half a minute to draw a billion weights
        LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder / "base")
    gc.collect()
    torch.cuda.empty_cache()
    AutoTokenizer.from_pretrained(folder / "toy").save_pretrained(folder / "base")

    steps, rows, row_tokens = (4, 2, 768) if quick else (6, 2, 1024)
    if cuda:
        steps, rows, row_tokens = (4, 4, 4096) if quick else (8, 8, 4096)
    draws = RandomStream("benchmark finetune")
    share = 1 if cuda else 4  # samples of a row
    samples = []
    for number in range(steps * rows * share):
        ids = [draws.index(config.vocab_size) for _ in range(row_tokens // share)]
        samples.append(Sample(f"random/{number}", "text", ids, [False] + [True] * (len(ids) - 1)))
    recipe = Recipe(
        num_train_epochs=1, batch_size=rows * share, max_length=row_tokens, learning_rate=1e-4,
        activation_checkpointing=False,
    )  # fmt: skip
    schedule = Schedule(range(len(samples)), (), 1, recipe.seed)
    return Job(str(folder / "base"), samples, schedule, recipe, steps)


if __name__ == "__main__":
    main()
