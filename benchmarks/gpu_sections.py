"""What `gpu.py` measures: each section in a process of its own, with models that are made on the device at random.

A section writes every number to a file as soon as it has it, as a line of JSON with the name of a row and its values. A row that
fails, such as one for which memory is short, says why and leaves the others alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))  # on a bare machine nothing of ours is installed
sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu import LARGE, SMALL, Sizes

SPREAD = 1.5  # standard deviation of the scores of attention; with 4, rounding to bfloat16 alone changes what is said


@dataclass(frozen=True)
class Run:
    """What a section knows: sizes, the device, until when there is time, and where its numbers go."""

    small: bool
    device: str
    until: float  # of `time.time`
    file: TextIO

    @property
    def sizes(self) -> Sizes:
        return SMALL if self.small else LARGE

    def tell(self, row: str, **values: Any) -> None:
        """Add numbers to a row of this section; they are kept whatever happens afterwards."""
        rounded = {name: float(f"{v:.4g}") if isinstance(v, float) else v for name, v in values.items()}
        self.file.write(json.dumps([row, rounded]) + "\n")
        self.file.flush()

    @contextmanager
    def attempt(self, row: str) -> Iterator[None]:
        """Let a row fail alone, and give back its memory."""
        print(f"  {row}", file=sys.stderr, flush=True)
        try:
            yield
        except Exception as error:  # a machine that nobody has tried can make libraries raise anything
            lines = str(error).splitlines() or [""]
            most = peak_gb() if isinstance(error, torch.OutOfMemoryError) else None
            traceback.print_exc()
            used = f" ({most:.1f} GB were taken at most)" if most else ""
            self.tell(row, failed=f"{type(error).__name__}: {lines[0][:300]}{used}")
        gc.collect()
        if self.device == "cuda":
            with suppress(RuntimeError):  # after an error of a kernel, nothing works any more in this process
                torch.cuda.empty_cache()


def timed(call: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Least seconds, and what the last call returned; all work of the device is inside of them."""

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    least, result = float("inf"), None
    for _ in range(repeats):
        result = None  # not beside the next one
        wait()
        start = time.perf_counter()
        result = call()
        wait()
        least = min(least, time.perf_counter() - start)
    return least, result


def peak_gb() -> float | None:
    """The most memory of tensors since it was last reset; None without CUDA."""
    return torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else None


def random_model(run: Run, name: str) -> Any:
    """A Llama with random weights, made where it will run; no token ends its answers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**run.sizes.models[name])
    usual = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16 if run.device == "cuda" else torch.float32)
    try:
        with torch.device(run.device):
            model = LlamaForCausalLM(config).eval().requires_grad_(False)
    finally:
        torch.set_default_dtype(usual)
    model.generation_config.eos_token_id = None
    for layer in model.model.layers:
        layer.self_attn.q_proj.weight.mul_(SPREAD / (config.initializer_range**2 * config.hidden_size))
    model.set_attn_implementation("sdpa")
    return model


def tokens(n: int, *key: object) -> list[int]:
    """Random tokens that no label has and that every vocabulary knows."""
    return random.Random(repr(key)).choices(range(10, 600), k=n)


def device(run: Run) -> None:
    """What it is, and how fast it is by itself."""
    facts: dict[str, Any] = {"python": platform.python_version(), "torch": torch.__version__}
    facts |= {"transformers": transformers.__version__, "device": f"{os.cpu_count()} cores of {platform.machine()}"}
    if run.device == "cuda":
        about = torch.cuda.get_device_properties(0)
        ask = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        facts |= {"device": about.name, "gigabytes": about.total_memory / 1e9, "cuda": torch.version.cuda}
        with suppress(OSError, subprocess.SubprocessError):
            facts["driver"] = subprocess.run(ask, capture_output=True, text=True, timeout=20).stdout.split("\n")[0]
        with suppress(AttributeError):
            facts["flash attention"] = torch.backends.cuda.is_flash_attention_available()
    run.tell("facts", **facts)
    with run.attempt("speed"):
        n, dtype = run.sizes.product, torch.bfloat16 if run.device == "cuda" else torch.float32
        left, right = (torch.randn(n, n, device=run.device, dtype=dtype) for _ in range(2))
        seconds, _ = timed(lambda: [left @ right for _ in range(10)], 3)
        run.tell("speed", teraflops=10 * 2 * n**3 / seconds / 1e12)
        source = torch.zeros(n * n * 8, device=run.device, dtype=dtype)
        seconds, _ = timed(lambda: [source.clone() for _ in range(3)], 3)
        run.tell("speed", copy_gigabytes_per_second=3 * 2 * source.numel() * dtype.itemsize / seconds / 1e9)


def shared(run: Run, name: str) -> None:
    """Read each book once for all questions, and for each question anew."""
    model = random_model(run, name)
    for n_tokens, few in zip(run.sizes.books, run.sizes.alone, strict=True):
        with run.attempt(row := f"{name}, {n_tokens:,} tokens"):
            shared_book(run, model, row, n_tokens, few)


def shared_book(run: Run, model: Any, row: str, n_tokens: int, few: int) -> None:
    """Fill in one row: first with sharing, then the limit, then one by one, as long as there is time."""
    from shared_reading import compared

    from epbench.models.hf.prefix_rows import Rows
    from epbench.models.hf.shared_prefix import Prompt, SharedPrefix

    sizes, book = run.sizes, tokens(n_tokens, "book")
    lengths = [23 + 8 * (i % 5) for i in range(sizes.questions)]  # 40 tokens on average, with one that differs at once
    questions = [[10 + i % 500, *tokens(n, "question", i)] for i, n in enumerate(lengths)]
    prompts = [Prompt([*book, *question], sizes.new) for question in questions]
    labelled = [replace(prompt, labels={"A": [5], "B": [6]}) for prompt in prompts]
    model.set_attn_implementation("sdpa")
    reader = SharedPrefix(model, [])
    for warm in (prompts, labelled):  # kernels are chosen and loaded, and the way of sharing is found
        told_of(reader, [replace(prompt, ids=prompt.ids[max(0, n_tokens - 560) :]) for prompt in warm])
    reader.forget()
    if run.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    once, cache = timed(lambda: reader.read(book))
    answers, told = timed(lambda: told_of(reader, prompts), 2)
    together = (once + answers) / len(prompts)
    run.tell(
        row, questions=len(prompts), new_tokens=sizes.new, strategy=reader.strategy, reading_seconds=once,
        answers_seconds=answers, seconds_per_question=together, peak_gb=peak_gb(),
    )  # fmt: skip
    run.tell(row, label_seconds=timed(lambda: told_of(reader, labelled), 2)[0])
    rows = Rows(reader.forward, cache, n_tokens, few, 100, joint=reader.strategy == "joint")
    ours = rows.read(questions[:few], 8192).float().cpu() if reader.strategy != "none" else None
    del cache, rows
    reader.forget()

    model.set_attn_implementation("sdpa")
    bare_reading, _ = timed(lambda: reader.forward.read_logits(book))
    bare_answers, _ = timed(lambda: answered_bare(reader.forward, questions, sizes.new), 2)
    limit = min(once, bare_reading) + bare_answers
    run.tell(
        row, bare_reading_seconds=bare_reading, bare_answers_seconds=bare_answers, of_limit=(once + answers) / limit
    )

    seconds: list[float] = []
    alone: list[Any] = []
    answered_alone(model, prompts[0].ids[-600:], sizes.new)
    while len(alone) < few and (not seconds or time.time() + 1.5 * seconds[-1] < run.until):
        took, out = timed(lambda: answered_alone(model, prompts[len(alone)].ids, sizes.new))
        seconds.append(took)
        alone.append(out)
        mean = sum(seconds) / len(seconds)
        run.tell(row, alone_seconds_per_question=mean, alone_questions=len(alone), ratio=mean / together)
    identical = sum(told[i].ids == ids for i, (ids, _) in enumerate(alone))
    run.tell(row, answers_identical=f"{identical} of {len(alone)}")
    if ours is not None:
        bookless = [reader.forward.read_logits(question).cpu() for question in questions[: len(alone)]]
        shared_, without, expected = (
            [logits.double().log_softmax(-1) for logits in some]
            for some in (ours[: len(alone)], bookless, [logits for _, logits in alone])
        )
        agreed, without_book = compared(shared_, expected), compared(without, expected)
        run.tell(row, kl=agreed["kl_most"], first_tokens_equal=f"{agreed['same']} of {len(alone)}", gap=agreed["gap"])
        run.tell(row, kl_without_book=without_book["kl_mean"])


def told_of(reader: Any, prompts: Sequence[Any]) -> dict[int, Any]:
    """Answers by position."""
    told = dict(reader.answer(prompts))
    failures = [completion.failure for completion in told.values() if completion.failure]
    if failures:
        raise RuntimeError(f"{len(failures)} of {len(prompts)} questions have no answer: {failures[0]}")
    return told


def answered_alone(model: Any, ids: Sequence[int], new: int) -> tuple[list[int], Any]:
    """The tokens of an answer, and the logits of the first of them."""
    given = torch.tensor([list(ids)], device=model.device)
    out = model.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=new, do_sample=False, pad_token_id=0,
        return_dict_in_generate=True, output_logits=True,
    )  # fmt: skip
    return out.sequences[0, len(ids) :].tolist(), out.logits[0][0].float().cpu()


def answered_bare(forward: Any, questions: Sequence[Sequence[int]], new: int) -> None:
    """As many tokens as questions and answers have, in rows of one length, behind no book."""
    width = round(sum(map(len, questions)) / len(questions))
    cache, positions = forward.empty_cache(), torch.arange(width + new, device=forward.model.device)[None]
    logits = forward(forward.tensor([(list(q) * 2)[:width] for q in questions]), cache, positions[:, :width])
    for n in range(width, width + new - 1):
        logits = forward(logits.argmax(-1)[:, None], cache, positions[:, n : n + 1])


def labels(run: Run) -> None:
    """Pairs behind excerpts, many at a time and few, and each prompt alone."""
    for name in run.sizes.models:
        with run.attempt(f"{name}, each alone"):
            labels_of(run, random_model(run, name), name)


def labels_of(run: Run, model: Any, name: str) -> None:
    """Fill in the rows of one model; each row may fail alone."""
    from epbench.models.hf.shared_prefix import Prompt, SharedPrefix

    sizes, head = run.sizes, tokens(30, "head")
    excerpts = [[*head, *tokens(sizes.excerpt + i % 7, "excerpt", i)] for i in range(sizes.excerpts)]
    prompts = [
        Prompt([*excerpt, 10 + n, *tokens(sizes.pair + n, "pair", n)], labels={"A": [5], "B": [6]}, context=i)
        for i, excerpt in enumerate(excerpts)
        for n in range(4)
    ]
    reader = SharedPrefix(model, [])
    told_of(reader, prompts[:8])  # warm
    few = prompts[:: len(prompts) // 8][:8]
    seconds, _ = timed(lambda: [reader.forward.read_logits(prompt.ids) for prompt in few], 2)
    run.tell(f"{name}, each alone", pairs_per_second=len(few) / seconds)
    for rows in sizes.together:
        with run.attempt(row := f"{name}, {rows} at a time"):
            reader.batch_size = rows
            reader.forget()
            seconds, _ = timed(lambda: told_of(reader, prompts), 2)
            run.tell(row, pairs_per_second=len(prompts) / seconds, strategy=reader.strategy, fitted=reader.batch_size)


def finetune(run: Run) -> None:
    """Train with the trainer and with a bare loop, each in a process of its own."""
    from transformers import LlamaConfig

    from epbench.finetuning.cost import estimate_memory, parameters_of, utilization
    from finetune import bare, in_fresh_process, make_job, ours

    transformers.logging.disable_progress_bar()
    cuda = run.device == "cuda"
    config = LlamaConfig(**run.sizes.models["1b"])
    name = torch.cuda.get_device_name() if cuda else run.device
    with tempfile.TemporaryDirectory() as folder:
        job = make_job(Path(folder), config, cuda, quick=run.small)
        for row, way in (("trainer", ours), ("bare loop", bare)):
            with run.attempt(row):
                cost = in_fresh_process(way, job)
                lengths = [job.recipe.tokens_of_row] * (cost.tokens // job.recipe.tokens_of_row)
                used = utilization(config, lengths, cost.seconds, name) if cuda else None
                run.tell(
                    row, parameters=parameters_of(config).total, row_tokens=job.recipe.tokens_of_row, loss=cost.loss,
                    tokens_per_second=cost.tokens / cost.seconds, mfu=used.mfu if used else None,
                    mfu_causal=used.causal if used else None, peak_gb=cost.peak_bytes / 1e9,
                )  # fmt: skip
    with run.attempt("estimate"):
        estimate = estimate_memory(
            config, row_tokens=job.recipe.tokens_of_row, autocast=cuda, measuring=False, masked=not cuda
        )
        parts = ", ".join(f"{part} {size / 1e9:.2f}" for part, size in asdict(estimate).items() if size)
        run.tell("estimate", peak_gb=estimate.total / 1e9, parts=parts)


def vllm(run: Run) -> None:
    """Ask vLLM, through our own backend, for answers behind each book."""
    try:
        from vllm import __version__
    except ImportError as error:
        run.tell("1b", failed=f"vLLM is not installed ({error})")
        return
    from transformers import LlamaConfig

    from epbench.finetuning.launching import make_toy_model
    from epbench.models.protocol import Request, Sampling
    from epbench.models.vllm import VllmModel

    sizes, engine = run.sizes, {"load_format": "dummy", "enforce_eager": True}  # nothing is read, and nothing compiled
    with tempfile.TemporaryDirectory() as folder:
        make_toy_model(
            Path(folder) / "1b", ["any text"]
        )  # for its tokenizer, which makes a token of every letter below
        config = LlamaConfig(**sizes.models["1b"] | {"vocab_size": 512}, architectures=["LlamaForCausalLM"])
        config.save_pretrained(Path(folder) / "1b")
        window, sampling = max(sizes.books) + 1000, Sampling(max_tokens=sizes.new)
        model = VllmModel(f"{folder}/1b", dtype="bfloat16", max_model_len=window, engine_args=engine)
        list(model.answer([Request("first", "", "bcd", "fgh", sampling)]))  # starts the engine
        for n in sizes.books:
            with run.attempt(row := f"1b, {n:,} tokens"):
                lengths = [n, *[40] * sizes.questions]
                book, *questions = ("".join(random.Random(i).choices("bcdfghjk", k=k)) for i, k in enumerate(lengths))
                asked = [Request(question, "", book, question, sampling, keep_cut=True) for question in questions]
                model._cached = model._repeated = 0
                seconds, replies = timed(partial(list, model.answer(asked)))
                run.tell(
                    row, vllm=__version__, hit_rate=model.hit_rate, seconds_per_question=seconds / len(replies),
                    prompt_tokens=max(reply.usage.prompt for reply in replies),
                )  # fmt: skip


SECTIONS: Mapping[str, Callable[[Run], None]] = {
    "device": device,
    "shared-8b": partial(shared, name="8b"),
    "shared-1b": partial(shared, name="1b"),
    "finetune": finetune,
    "labels": labels,
    "vllm": vllm,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--records", type=Path, required=True, metavar="FILE", help="where numbers are added")
    parser.add_argument("--seconds", type=float, default=600, help="how long there is (600)")
    parser.add_argument("--small", action="store_true", help="toy sizes")
    args = parser.parse_args()

    transformers.logging.set_verbosity_error()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("epbench").setLevel(logging.INFO)  # tells why a book cannot be shared in the best way
    with args.records.open("a", encoding="utf-8") as file:
        cuda = torch.cuda.is_available()
        run = Run(args.small, "cuda" if cuda else "cpu", time.time() + args.seconds, file)
        with run.attempt(args.section):
            SECTIONS[args.section](run)


if __name__ == "__main__":
    main()
