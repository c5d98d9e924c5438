"""Whether a model says the same where a text is read once for all questions and where it is read anew for each.

    python benchmarks/shared_reading.py --model smollm2 --dtype bfloat16
    python benchmarks/shared_reading.py --model qwen2.5-coder-1.5b --dtype bfloat16
    python benchmarks/shared_reading.py --model smollm2 --quick

Asks real questions of all three benchmarks: pairs of Book-SORT behind their excerpts, questions about a Tulving book of two
chapters, and questions of MemFail behind all that one store was told. Each prompt is read at once by transformers' own attention;
then, for every strategy, what prompts have in common is read first, in two pieces, and the rest in batches of rows of different
lengths, but for the last token, which is added as in writing. Compared are the distributions of the next token after both last
tokens: their divergence (KL) in nats, and whether the same token is the most probable. Then questions are answered in full, with
the strategy that a run would choose and without sharing; answers that differ are printed. Prints what was run on what, a table,
and as its last line one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine
from real_model import made_set, requests_of, template_books

from epbench.models.hf import prefix_attention
from epbench.models.hf.prefix_rows import Rows
from epbench.models.hf.prompt_tokens import common_prefix

if TYPE_CHECKING:
    import torch

    from epbench.models.hf.model import TransformersModel
    from epbench.models.protocol import Request

FUSED = prefix_attention._fused
STRATEGIES = ("joint", "joint, own arithmetic", "repeated", "none")
SHOWN = 3  # of the answers that differ


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", metavar="PATH_OR_ID", help="as after hf: (smollm2)")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16 or float16; by the device unless given")
    parser.add_argument("--stretches", type=int, default=51, help="prompts whose logits are compared (51)")
    parser.add_argument("--answers", type=int, default=102, help="questions answered in both ways (102)")
    parser.add_argument("--tokens", type=int, default=64, help="longest answer in tokens (64)")
    parser.add_argument("--quick", action="store_true", help="6 prompts, 6 answers of 16 tokens")
    args = parser.parse_args()
    if args.quick:
        args.stretches, args.answers, args.tokens = 6, 6, 16

    import torch
    import transformers
    from rich.console import Console
    from rich.table import Table

    from epbench.models.hf.model import TransformersModel

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    console = Console()
    model = TransformersModel(args.model, dtype=args.dtype)
    causal = model.reader.forward.model
    console.print(
        f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"{args.model} of {causal.num_parameters():,} parameters in {causal.dtype} on {machine()}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        asked = real_requests(Path(scratch), max(args.stretches, args.answers))
    n = args.stretches // 3
    groups = [group for requests in asked for group in by_context(requests[:n])]
    found = {way: list(differences(model, groups, way)) for way in ("at once", *STRATEGIES)}
    expected = found.pop("at once")

    result: dict[str, Any] = {"model": args.model, "dtype": str(causal.dtype).removeprefix("torch."), "strategies": {}}
    table = Table(
        "strategy", "mean KL", "largest KL", "same most probable token", "largest gap of another",
        title=f"{len(expected)} next tokens of {3 * n} prompts, in nats",
    )  # fmt: skip
    for way, rows in found.items():
        measured = compared(rows, expected)
        result["strategies"][way] = measured
        table.add_row(
            way, f"{measured['kl_mean']:.1e}", f"{measured['kl_most']:.1e}",
            f"{measured['same']} of {len(expected)}", f"{measured['gap']:.3f}",
        )  # fmt: skip
    console.print(table)

    n = args.answers // 3
    requests = [with_limit(request, args.tokens) for some in asked for request in some[:n]]
    with_sharing, without = answers(model, requests, None), answers(model, requests, "none")
    other = [id_ for id_ in with_sharing if with_sharing[id_] != without[id_]]
    for id_ in other[:SHOWN]:
        console.print(f"{id_}\n  shared: {with_sharing[id_]!r}\n  alone:  {without[id_]!r}", markup=False)
    result |= {"answers": len(requests), "equal": len(requests) - len(other), "other": other}
    console.print(f"{result['equal']} of {len(requests)} answers are equal with sharing and without")
    print(json.dumps(result))


def real_requests(scratch: Path, n: int) -> list[list[Request]]:
    """A third of `n` requests of each benchmark, with neighbours that share a context."""
    from epbench.hub.dataset_folder import write_dataset
    from epbench.memfail.context.requests import load_prompts
    from epbench.memfail.dataset.load import facts_to_store, questions_of
    from epbench.memfail.dataset.schema import complete
    from epbench.memfail.templates.rows import make_rows
    from epbench.models.protocol import Sampling
    from epbench.tulving.context.requests import Reading
    from epbench.tulving.dataset.build import Recipe, make_book
    from epbench.tulving.dataset.load import load_book
    from epbench.tulving.dataset.schema import configs_of

    part = n // 3
    pairs = requests_of(made_set(scratch, template_books(scratch)), 4 * -(-part // 4))[:part]
    write_dataset(scratch / "book", configs_of(make_book(Recipe("short", events=2))), "card")
    data = load_book(str(scratch / "book"))
    step = max(1, len(data.rows) // part)
    book = Reading(memory="in-context").requests(data, data.rows[::step][:part])
    facts, questions = [], []
    for config in ("coexisting_facts", "long_hop"):
        rows = complete(config, make_rows(config, max(part, 5), 0))
        facts += [fact.text for fact in facts_to_store(config, rows)][:part]
        questions += questions_of(config, rows)[: -(-part // 2)]
    ask, sampling = load_prompts().ask, Sampling()
    told = [ask(question.id, question, facts, sampling) for question in questions]
    return [pairs, book, told[:part]]


def by_context(requests: Sequence[Request]) -> list[list[Request]]:
    """Requests with the same text before them."""
    groups: dict[tuple[str, str], list[Request]] = {}
    for request in requests:
        groups.setdefault((request.system, request.context), []).append(request)
    return list(groups.values())


def with_limit(request: Request, tokens: int) -> Request:
    """The same request with a shorter longest answer."""
    return replace(request, sampling=replace(request.sampling, max_tokens=tokens))


def use(model: TransformersModel, way: str) -> None:
    """Let a model attend as a strategy needs it; at once and without sharing, it attends as it is loaded."""
    prefix_attention._fused = FUSED if way == "joint" else lambda query: False
    name = prefix_attention.NAME if way.startswith("joint") else "sdpa"
    model.reader.forward.model.set_attn_implementation(name)


def differences(model: TransformersModel, groups: Sequence[Sequence[Request]], way: str) -> Iterator[torch.Tensor]:
    """The log-probabilities of the next token before and after the last token of each prompt."""
    import torch

    use(model, way)
    forward = model.reader.forward
    for group in groups:
        prompts = [model.prompts.ids(request) for request in group]
        if way == "at once":
            for prompt in prompts:
                with torch.inference_mode():
                    yield from (
                        forward.model(forward.tensor([prompt]), logits_to_keep=2).logits[0].float().log_softmax(-1)
                    )
            continue
        shared = 0 if way == "none" else min(common_prefix(prompts), min(map(len, prompts)) - 2)
        cache = forward.read(prompts[0][:shared], shared // 2 + 1)
        for batch in [prompts] if shared else [[prompt] for prompt in prompts]:
            rest = [prompt[shared:] for prompt in batch]
            rows = Rows(forward, cache, shared, len(rest), max(map(len, rest)), joint=way.startswith("joint"))
            before = rows.read([ids[:-1] for ids in rest], 4096)
            after = rows.add(forward.tensor([ids[-1] for ids in rest]))
            for both in zip(before, after, strict=True):
                yield from (logits.log_softmax(-1) for logits in both)


def compared(rows: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> dict[str, Any]:
    """How far distributions are from those expected."""
    divergences = [float((true.exp() * (true - ours)).sum()) for ours, true in zip(rows, expected, strict=True)]
    gaps = [float(true.max() - true[ours.argmax()]) for ours, true in zip(rows, expected, strict=True)]
    return {
        "kl_mean": sum(divergences) / len(divergences),
        "kl_most": max(divergences),
        "same": sum(gap == 0 for gap in gaps),
        "gap": max(gaps),
    }


def answers(model: TransformersModel, requests: Sequence[Request], strategy: str | None) -> dict[str, str]:
    """What is answered, by id: a text, or the more probable label; None lets the model choose its strategy."""
    use(model, "joint" if strategy is None else strategy)
    model.reader.forget()
    model.reader.strategy, model.reader._padded = strategy, False
    told = {}
    for reply in model.answer(requests):
        labels = reply.probabilities
        told[reply.id] = max(labels, key=labels.__getitem__) if labels else reply.text or f"({reply.failure})"
    return told


if __name__ == "__main__":
    main()
