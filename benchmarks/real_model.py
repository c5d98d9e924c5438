"""What answering Book-SORT costs beside the bare forward pass of the model over the same tokens.

    python benchmarks/real_model.py
    python benchmarks/real_model.py --quick
    python benchmarks/real_model.py --model HuggingFaceTB/SmolLM2-135M-Instruct
    python benchmarks/real_model.py --model smollm2 --dtype bfloat16 --agreement --quick --pairs 64
    python benchmarks/real_model.py --model models/smollm2 --dataset out/booksort --pairs 200
    python benchmarks/real_model.py --model qwen2.5-coder-1.5b --dtype bfloat16 --quick --llama-cpp
    OMP_NUM_THREADS=1 python benchmarks/real_model.py

Asks about excerpts of 250 words, four pairs of segments each, with `TransformersModel.answer`: prompts are written and
turned into tokens, every excerpt is read once, every question behind it, and the probabilities of A and B are returned.
The bare pass is `model(input_ids)` over just as many tokens as have to be computed, in rows as long as the average excerpt
and the average question, without padding, cache or mask, with logits for the last token of a row alone, and as many rows
at one time as is fastest. Its questions do not attend to their excerpts, so that nobody can quite reach it.

Without --model, the model is a Llama of 30 million parameters with random weights, and without --dataset, the pairs are
those of template books; both are made on the fly. Prints what was run on what, a table, and as its last line one JSON
object: ratio (time of the answers over that of the bare pass), cpu_ratio (the same in CPU time), seconds, pairs and tokens.
Each time is the least of five, the ways by turns. With --agreement the pairs are answered once more in float32, and `same`
is the share of pairs with the same answer, `difference` the mean difference of the probability of A. With --llama-cpp, which
needs `pip install llama-cpp-python` and a model from a GGUF file, llama.cpp reads the rows of the bare pass, one after the
other, on as many threads; `of_llama_cpp` is the time of the answers over that.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine

if TYPE_CHECKING:
    import torch

    from epbench.booksort.texts.books import Book
    from epbench.models.hf.model import TransformersModel
    from epbench.models.protocol import Request

TOKENS_PER_PASS = (1024, 2048)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="each way once, with 16 pairs unless --pairs is given")
    parser.add_argument("--model", metavar="PATH_OR_ID", help="folder of a model, or its name on the Hub")
    parser.add_argument("--dataset", metavar="DIR", help="folder that builders/booksort.py has written")
    parser.add_argument("--pairs", type=int, metavar="N", help="how many pairs, of whole excerpts (32)")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16 or float16; by the device unless given")
    parser.add_argument("--agreement", action="store_true", help="compare the answers with those in float32")
    parser.add_argument("--llama-cpp", action="store_true", help="let llama.cpp read as many tokens as well")
    args = parser.parse_args()
    n_pairs, rounds = args.pairs or (16 if args.quick else 32), 1 if args.quick else 5

    import torch
    import transformers
    from rich.console import Console
    from rich.table import Table

    from epbench.models.hf.model import TransformersModel

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    console = Console()
    more: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        books = template_books(Path(scratch))
        requests = requests_of(args.dataset or made_set(Path(scratch), books), n_pairs)
        path = args.model or made_model(Path(scratch), books)
        model = TransformersModel(path, dtype=args.dtype)
        causal = model.reader.forward.model
        where = torch.cuda.get_device_name(causal.device) if causal.device.type == "cuda" else machine()
        console.print(
            f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, "
            f"{args.model or 'Llama with random weights'} of {causal.num_parameters():,} parameters in {causal.dtype} on "
            f"{where}, {torch.get_num_threads()} threads"
        )

        list(model.answer(requests[:4]))  # the first call finds out how the model can share what it has read
        told = fresh(model, requests)
        computed = sum(reply.usage.prompt - reply.usage.cached for reply in told)
        excerpts, questions = parts_of(model, requests)
        ways: dict[str, Callable[[], Any]] = {"answers": lambda: fresh(model, requests)}
        for tokens in TOKENS_PER_PASS[-1:] if args.quick else TOKENS_PER_PASS:
            batches = [*rows_of(excerpts, tokens), *rows_of(questions, tokens)]
            ways[f"bare pass, {tokens:,} tokens at a time"] = lambda batches=batches: bare(causal, batches)  # type: ignore[misc]
        if args.llama_cpp:
            ways["llama.cpp"] = llama_cpp(args.model, [*rows_of(excerpts, 1), *rows_of(questions, 1)])
        least = in_turns(ways, rounds)
        if args.agreement:
            more |= agreed(told, fresh(TransformersModel(path, dtype="float32"), requests))

    other = least.pop("llama.cpp", None)
    (wall, cpu), *passes = least.values()
    best_wall, best_cpu = min(seconds for seconds, _ in passes), min(seconds for _, seconds in passes)
    table = Table(
        "what", "seconds", "CPU seconds", "tokens per second",
        title=f"{len(requests)} pairs, {len(excerpts)} excerpts, {computed:,} tokens to compute",
    )  # fmt: skip
    if other:
        least["llama.cpp"], more["of_llama_cpp"] = other, round(wall / other[0], 3)
    for name, (seconds, cpu_seconds) in least.items():
        table.add_row(name, f"{seconds:.2f}", f"{cpu_seconds:.2f}", f"{computed / seconds:,.0f}")
    console.print(table)
    result = {
        "ratio": round(wall / best_wall, 3),
        "cpu_ratio": round(cpu / best_cpu, 3),
        "seconds": round(wall, 2),
        "pairs": len(requests),
        "tokens": computed,
        **more,
    }
    print(json.dumps(result))


def fresh(model: TransformersModel, requests: Sequence[Request]) -> list[Any]:
    """All answers, with nothing read before."""
    model.reader.forget()
    return list(model.answer(requests))


def agreed(replies: Sequence[Any], others: Sequence[Any]) -> dict[str, float]:
    """How far the answers of two models agree, whatever their order."""
    first = {reply.id: reply.probabilities for reply in replies}
    pairs = [(first[reply.id], reply.probabilities) for reply in others]
    same = sum((a["A"] > a["B"]) == (b["A"] > b["B"]) for a, b in pairs) / len(pairs)
    return {"same": round(same, 4), "difference": round(sum(abs(a["A"] - b["A"]) for a, b in pairs) / len(pairs), 4)}


def parts_of(model: TransformersModel, requests: Sequence[Request]) -> tuple[list[int], list[int]]:
    """How many tokens each excerpt has with all that comes before its questions differ, and how many each question.

    What even the excerpts have in common is computed once; the first excerpt has it.
    """
    from epbench.models.hf.prompt_tokens import common_prefix

    groups: dict[str, list[list[int]]] = {}
    for request in requests:
        groups.setdefault(request.context, []).append(model.prompts.ids(request))
    shared = [common_prefix(group) if len(group) > 1 else 0 for group in groups.values()]
    questions = [len(ids) - n for n, group in zip(shared, groups.values(), strict=True) for ids in group]
    head = common_prefix([ids for group in groups.values() for ids in group])
    excerpts = [n - (head if i else 0) for i, n in enumerate(shared)]
    return excerpts, questions


def rows_of(lengths: Sequence[int], tokens: int) -> list[torch.Tensor]:
    """Random tokens, as many as these texts have, in rows of their average length; so many of them at one time."""
    import torch

    width = round(sum(lengths) / len(lengths))
    n = round(sum(lengths) / width)
    step = max(1, tokens // width)
    draws = torch.Generator().manual_seed(0)
    return [torch.randint(3, 1000, (min(step, n - i), width), generator=draws) for i in range(0, n, step)]


def bare(causal: Any, batches: Sequence[torch.Tensor]) -> None:
    """Nothing but the model."""
    import torch

    with torch.inference_mode():
        for batch in batches:
            out = causal(input_ids=batch.to(causal.device), use_cache=False, logits_to_keep=1)
            out.logits.sum().item()  # waits for a GPU


def llama_cpp(model: str, rows: Sequence[torch.Tensor]) -> Callable[[], None]:
    """What lets llama.cpp read rows of tokens, each from its beginning."""
    import torch
    from llama_cpp import Llama

    from epbench.models.packages import PACKAGES, package_file

    file, threads = package_file(model) if model in PACKAGES else model, torch.get_num_threads()
    longest = max(row.shape[1] for row in rows)
    engine = Llama(str(file), n_ctx=longest + 1, n_batch=longest, n_threads_batch=threads, verbose=False)

    def read() -> None:
        for row in rows:
            engine.reset()
            engine.eval(row[0].tolist())

    return read


def in_turns(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Least seconds and CPU seconds of each; a busy moment then meets all of them."""
    least = dict.fromkeys(ways, (float("inf"), float("inf")))
    for _ in range(rounds):
        for name, call in ways.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            call()
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
            least[name] = min(least[name][0], seconds), min(least[name][1], cpu_seconds)
    return least


def requests_of(dataset: str, n_pairs: int) -> list[Request]:
    """What the script asks about so many pairs in-context, with its usual prompt."""
    from epbench.booksort.context.prompts import load_prompts
    from epbench.booksort.context.requests import requests_for
    from epbench.booksort.dataset.load import group_of, load_pairs
    from epbench.hub.rows import subset

    pack = load_prompts(None)
    pairs = subset(load_pairs(dataset, ["e250_s20"]), group_of, n_pairs, None)
    return requests_for("in-context", pairs, pack, pack.usual)


def template_books(scratch: Path) -> list[Book]:
    """Three books by the template writer."""
    from epbench.booksort.texts.books import books_from
    from epbench.tulving.dataset.build import Recipe, make_book

    texts = scratch / "texts"
    texts.mkdir()
    for seed in range(3):
        book = make_book(Recipe("short", seed=seed))
        (texts / f"{book.title}.txt").write_text(book.book(), "utf-8")
    return list(books_from(texts))


def made_set(scratch: Path, books: Sequence[Book]) -> str:
    """Their set, with enough excerpts for every number of pairs."""
    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs, manifest
    from epbench.hub.dataset_folder import write_dataset

    recipe = Recipe((250,), (20,), 40, 0)
    configs = make_configs(books, recipe)
    card = booksort_card("python builders/booksort.py", books, recipe, configs)
    write_dataset(scratch / "booksort", configs, card, {"manifest.json": manifest(books, recipe, configs)})
    return str(scratch / "booksort")


def made_model(scratch: Path, books: Sequence[Book]) -> str:
    """A Llama of 30 million parameters with random weights, and a tokenizer that has learned from these books."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from epbench.finetuning.launching import make_toy_model

    make_toy_model(scratch / "toy", [book.text for book in books])
    tokenizer = AutoTokenizer.from_pretrained(scratch / "toy")
    config = LlamaConfig(
        hidden_size=512, intermediate_size=1536, num_hidden_layers=9, num_attention_heads=8, num_key_value_heads=4,
        vocab_size=len(tokenizer), max_position_embeddings=8192, tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(scratch / "llama")
    tokenizer.save_pretrained(scratch / "llama")
    return str(scratch / "llama")


if __name__ == "__main__":
    main()
