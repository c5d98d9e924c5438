"""What it saves to read a book once for all its questions, with a model of transformers.

    python benchmarks/shared_context.py
    python benchmarks/shared_context.py --quick
    python benchmarks/shared_context.py --model Qwen/Qwen3-0.6B
    python benchmarks/shared_context.py --dtype bfloat16

Asks the same questions on one book of 8,192 tokens twice: through the reader, and each prompt alone through
`model.generate`. Without --model, the model is a small Llama with random weights, made on the fly. Prints what was run
on what, a table, and as its last line one JSON object: speedup (time of each alone over time of the reader),
of_limit (time of the reader over one reading of the book and the answers behind it, with nothing else to do),
outputs_identical, label_speedup (the same for probabilities of A and B at the first token of the answer), most_speedup (the
tokens of all prompts over those that differ and the book once: no way of reading it once can be faster where a token costs the
same in every place), and pieces_speedup (a text four times as long as the book, read in pieces of 2,048 tokens: transformers'
attention with a mask over ours without). Each time is the least of three, the ways by turns. In half precision near-ties may
fall the other way; how many answers agree is printed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

NEW_TOKENS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="each way once")
    parser.add_argument("--model", metavar="PATH", help="folder of a model, or its name on the Hub")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16 or float16; by the device unless given")
    args = parser.parse_args()
    n_questions = 50
    n_tokens, repeats = 8192, 1 if args.quick else 3

    import torch
    import transformers
    from rich.console import Console
    from rich.table import Table

    from epbench.models.hf.model import TransformersModel
    from epbench.models.hf.prefix_rows import Rows
    from epbench.tulving.dataset.build import Recipe, make_book

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    console = Console()
    made = make_book(Recipe("short"))
    with tempfile.TemporaryDirectory() as folder:
        model = TransformersModel(args.model or tiny_model(Path(folder), made.book()), dtype=args.dtype)
        reader = model.reader
        causal, tokenizer = reader.forward.model, model.prompts.tokenizer
        console.print(
            f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, "
            f"{causal.num_parameters():,} parameters in {causal.dtype} on {device_name(causal.device)}"
        )

        # The same prompts for both ways.
        ids = tokenizer(made.book(), add_special_tokens=False, verbose=False)["input_ids"][:n_tokens]
        book = tokenizer.decode(ids)
        texts = list(dict.fromkeys(question.question for question in made.questions))
        questions = [texts[i * len(texts) // n_questions] for i in range(n_questions)]
        requests = requests_of(book, questions)
        labelled = [replace(request, labels=("A", "B")) for request in requests]
        prompts = [model.prompts.ids(request) for request in requests]
        asks = [model.prompt_of(request, prompt) for request, prompt in zip(requests, prompts, strict=True)]

        def alone(prompt: list[int]) -> list[int]:
            given = torch.tensor([prompt], device=causal.device)
            out = causal.generate(
                given, attention_mask=torch.ones_like(given), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0
            )
            new = out[0, len(prompt) :].tolist()
            return new[: next((i for i, token in enumerate(new) if token in reader.end_ids), len(new))]

        def logits_alone(prompt: list[int]) -> torch.Tensor:
            with torch.inference_mode():
                out: torch.Tensor = causal(torch.tensor([prompt], device=causal.device), logits_to_keep=1).logits[0, -1]
            return out.float().cpu()

        def fresh(call: Callable[[], Any]) -> Callable[[], Any]:
            def forgetting() -> Any:
                reader.forget()
                return call()

            return forgetting

        told = dict(reader.answer(asks))  # warm, and what is compared
        shared = told[0].shared
        cache = reader.read(prompts[0][:shared])

        def read() -> None:
            reader.read(prompts[0][:shared])
            if causal.device.type == "cuda":
                torch.cuda.synchronize()

        long_text = (prompts[0][:shared] * 4)[: 4 * n_tokens]

        def in_pieces(attention: str) -> None:
            causal.set_attn_implementation(attention)
            reader.forward.read(long_text, 2048)
            causal.set_attn_implementation(ours)
            if causal.device.type == "cuda":
                torch.cuda.synchronize()

        ours = causal.config._attn_implementation
        ways: dict[str, Callable[[], Any]] = {
            "each alone, generate": lambda: [alone(prompt) for prompt in prompts],
            "reader": fresh(lambda: list(model.answer(requests))),
            "reading the book once": fresh(read),
            "answers behind it": lambda: list(reader.answer(asks)),
            "each alone, labels": lambda: [logits_alone(prompt) for prompt in prompts],
            "reader, labels": fresh(lambda: list(model.answer(labelled))),
            f"{len(long_text):,} tokens in pieces, with a mask": lambda: in_pieces("sdpa"),
            f"{len(long_text):,} tokens in pieces": lambda: in_pieces(ours),
        }
        seconds, results = in_turns(ways, repeats)

        # The two ways say the same.
        outputs = [told[i].ids for i in range(n_questions)]
        identical = sum(a == b for a, b in zip(outputs, results["each alone, generate"], strict=True))
        ends = [prompt[shared:] for prompt in prompts]
        room = max(map(len, ends))
        rows = Rows(reader.forward, cache, shared, len(ends), room, joint=reader.strategy == "joint")
        first, first_alone = rows.read(ends, 8192).cpu(), torch.stack(results["each alone, labels"])
        difference = float((first - first_alone).abs().max())

    speedup = seconds["each alone, generate"] / seconds["reader"]
    of_limit = seconds["reader"] / (seconds["reading the book once"] + seconds["answers behind it"])
    label_speedup = seconds["each alone, labels"] / seconds["reader, labels"]
    most = sum(map(len, prompts)) / (shared + sum(map(len, ends)))
    with_mask, without = list(seconds.values())[-2:]
    table = Table(
        "what", "seconds", title=f"{n_questions} questions, {shared:,} shared tokens, {NEW_TOKENS} new tokens"
    )
    for name, value in seconds.items():
        table.add_row(name, f"{value:.3f}")
    console.print(table)
    console.print(
        f"{identical} of {n_questions} answers identical, {len(set(map(tuple, outputs)))} different ones; largest "
        f"difference of a logit {difference:.1e}, logits from {float(first.min()):.1f} to {float(first.max()):.1f}"
    )
    result = {
        "speedup": round(speedup, 2),
        "of_limit": round(of_limit, 3),
        "outputs_identical": identical == n_questions,
        "label_speedup": round(label_speedup, 2),
        "most_speedup": round(most, 2),
        "pieces_speedup": round(with_mask / without, 2),
        "distinct_outputs": len(set(map(tuple, outputs))),
        "logit_difference": difference,
    }
    print(json.dumps(result))


def in_turns(ways: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Least seconds of each, and what its last call returned; a busy moment then meets all of them."""
    seconds = dict.fromkeys(ways, float("inf"))
    results = {}
    for _ in range(repeats):
        for name, call in ways.items():
            start = time.perf_counter()
            results[name] = call()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, results


def requests_of(book: str, questions: list[str]) -> list[Any]:
    """One request for each question."""
    from epbench.models.protocol import Request, Sampling

    sampling = Sampling(max_tokens=NEW_TOKENS)
    return [Request(str(i), "You answer from the text.", book, q, sampling) for i, q in enumerate(questions)]


def tiny_model(folder: Path, text: str) -> str:
    """The small model that the tests use."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.tiny_model import make_tiny_model

    return str(make_tiny_model(folder, text))


def device_name(device: Any) -> str:
    """The device as a reader would name it."""
    import os

    import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{os.cpu_count()} cores of {platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"


if __name__ == "__main__":
    main()
