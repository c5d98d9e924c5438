"""How much faster several replicas answer than one, what the driver adds to a request, and what 64 GPUs would do.

    python benchmarks/scale.py
    python benchmarks/scale.py --quick

Runs a model with random weights on a Ray cluster that this script starts: Book-SORT's shape of work, excerpts with four
questions each, by one replica of one core and by two. Then a model that answers at once shows what the
way of a request to a replica and back costs. The schedule for 64 GPUs is a simulation: the real order in which work is handed
out, with assumed seconds for reading a token and for answering a question; nothing is computed by a model.

Prints what was run on what, a table, and as its last line one JSON object: speedup (of two replicas over one), replicas_equal
(whether both gave the same labels), overhead_ms (milliseconds per request), and simulated_efficiency_64 (by workload, the ideal
time over that of the schedule).
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine

from epbench.engines.ray_model import HandOut
from epbench.models.protocol import Reply, Request, Sampling

GPUS = 64
READ = 8.3 / 100_000  # seconds per token: a model of eight billion parameters at half the peak of an H100
ANSWER = 0.15  # seconds per question of a batch that is already read


@dataclass
class AtOnce:
    """A model that does nothing but answer."""

    name: str = "at-once"
    identity: str = "at-once"
    costs_nothing: bool = False
    continues_prompts: bool = True

    def window(self) -> int | None:
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return 1, 1

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        for request in requests:
            yield Reply(request.key(self.identity), request.id, "A")


def excerpts(n: int, words: int) -> list[Request]:
    """Excerpts with four questions each, of which the answer is a label."""
    line = "The harbour lies quiet while the captain reads the letter by the lantern and nobody speaks of the winter. "
    text = " ".join((line * (words // 19 + 1)).split()[:words])
    labels = {"labels": ("A", "B"), "answer_start": "Answer: Segment"}
    return [
        Request(f"{e}-{q}", "", f"Excerpt {e}. {text}", f"Question {q}: A or B?", Sampling(1), **labels)
        for e in range(n)
        for q in range(4)
    ]


def make_model(folder: Path, quick: bool) -> Path:
    """A Llama with random weights, and a tokenizer that knows words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(
        [request.user for request in excerpts(1, 60)] + ["A B Answer : Segment"],
        trainers.WordLevelTrainer(special_tokens=["<unk>", "</s>"]),
    )
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    size = 256 if quick else 512
    config = LlamaConfig(
        vocab_size=words.get_vocab_size(), hidden_size=size, intermediate_size=4 * size, num_hidden_layers=4 if quick else 8,
        num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=8192,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def measured_speedup(quick: bool) -> tuple[float, float, bool]:
    """Seconds of one replica, of two, and whether they have given the same labels."""
    from epbench.engines.ray_model import Engine, RayModel
    from epbench.models.load import load_model

    requests = excerpts(16 if quick else 150, 250 if quick else 1000)
    seconds, found = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        make = partial(load_model, f"hf:{make_model(Path(folder), quick)}")
        for replicas in (1, 2):
            model = RayModel(make(), make, Engine(replicas), 0)
            model.start()
            list(model.answer(excerpts(replicas * 8, 20)))  # every replica has loaded its weights
            start = time.perf_counter()
            replies = list(model.answer(requests))
            seconds[replicas] = time.perf_counter() - start
            found[replicas] = {
                reply.id: max(reply.probabilities or {"": 0}, key=(reply.probabilities or {}).get) for reply in replies
            }
            model.close()
    return seconds[1], seconds[2], found[1] == found[2]


def measured_overhead(n: int) -> float:
    """Milliseconds per request, by one replica."""
    from epbench.engines.ray_model import Engine, RayModel

    model = RayModel(AtOnce(), AtOnce, Engine(1), 0)
    list(model.answer(excerpts(1, 20)))
    requests = excerpts(n // 4, 250)
    start = time.perf_counter()
    n_replies = sum(1 for _ in model.answer(requests))
    seconds = time.perf_counter() - start
    model.close()
    assert n_replies == len(requests)
    return 1000 * seconds / n_replies


def simulated(contexts: Sequence[tuple[int, int]], replicas: int = GPUS) -> float:
    """The ideal time over that of the schedule.

    Args:
        contexts: By context, its tokens and its number of questions.
        replicas: How many GPUs there are.
    """
    requests = [
        Request(f"{c}-{q}", "", f"{c} ".ljust(tokens, "x"), "y", Sampling(1))
        for c, (tokens, questions) in enumerate(contexts)
        for q in range(questions)
    ]
    tokens_of = {f"{c} ".ljust(tokens, "x"): tokens for c, (tokens, _) in enumerate(contexts)}
    hand_out = HandOut(requests, replicas)
    free = [0.0] * replicas
    while work := hand_out.next():
        read = sum(tokens_of[context] for context in {request.context for request in work.requests})
        heapq.heapreplace(free, free[0] + read * READ + len(work.requests) * ANSWER)
    once = sum(tokens * READ + questions * ANSWER for tokens, questions in contexts) / replicas
    ideal = max(once, min(tokens * READ for tokens, _ in contexts))  # somebody must read a context
    return ideal / max(free)


WORKLOADS = {
    "one long book, 673 questions": [(100_000, 673)],
    "ten long books": [(100_000, 673)] * 10,
    "100 long books": [(100_000, 673)] * 100,
    "Book-SORT, 900 excerpts of 1,000 words": [(1_400, 4)] * 900,
    "Book-SORT, all lengths": [(350, 4)] * 900 + [(1_400, 4)] * 900 + [(14_000, 4)] * 900 + [(28_000, 4)] * 900,
    "MemFail, 340 questions of five memories": [(400, 1)] * 340,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller model, fewer requests")
    quick = parser.parse_args().quick

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    import ray
    from ray.cluster_utils import Cluster
    from rich.console import Console
    from rich.table import Table

    console = Console()
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):  # one core each, so that one replica cannot take both
        nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    console.print(f"Ray {ray.__version__}, {machine()}")
    one, two, equal = measured_speedup(quick)
    overhead = measured_overhead(400 if quick else 2000)
    ray.shutdown()
    nodes.shutdown()
    efficiency = {name: round(simulated(contexts), 3) for name, contexts in WORKLOADS.items()}

    table = Table("what", "value")
    table.add_row("one replica of one core", f"{one:.1f} s")
    table.add_row(
        "two replicas of one core",
        f"{two:.1f} s, {one / two:.2f} times as fast, {'the same' if equal else 'OTHER'} labels",
    )
    table.add_row("way of a request to a replica and back", f"{overhead:.2f} ms")
    console.print(table)
    table = Table("workload on 64 GPUs (simulated)", "ideal time over that of the schedule")
    for name, value in efficiency.items():
        table.add_row(name, f"{value:.2f}")
    console.print(table)
    print(
        json.dumps(
            {
                "speedup": round(one / two, 2),
                "replicas_equal": equal,
                "overhead_ms": round(overhead, 2),
                "simulated_efficiency_64": efficiency,
            }
        )
    )


if __name__ == "__main__":
    main()
