"""Runs and trainings with planned answers, written as journals and finished by the package, to make exhibits from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.dataset.load import Pair, fingerprint, load_pairs
from epbench.booksort.dataset.load import both_orders as in_both_orders
from epbench.booksort.finetuning.measures import summary_of
from epbench.booksort.scores.results import finish
from epbench.draws import RandomStream
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.runs.folder import open_run

OTHER = {"A": "B", "B": "A"}
Plan = Callable[[Pair], dict[str, Any]]
"""What answers.jsonl says about a pair: an answer, with probabilities or not, or a failure."""


def mostly_right(share: float, stream: str = "answers") -> Plan:
    """Answers with probabilities of which about this share is right; the same pair gets the same answer each time."""

    def plan(pair: Pair) -> dict[str, Any]:
        draws = RandomStream(stream, pair.id)
        said = pair.answer if draws.unit() < share else OTHER[pair.answer]
        sure = 0.5 + draws.unit() / 2.5
        return {"answer": said, "probabilities": {said: sure, OTHER[said]: 0.95 - sure}}

    return plan


def make_run(
    folder: Path,
    dataset: Path | str,
    plan: Plan,
    *,
    memory: str = "none",
    model: str = "m",
    configs: Sequence[str] = ("all",),
    both_orders: bool = False,
    more: dict[str, Any] | None = None,
    retrieved: Callable[[Pair], tuple[bool, bool]] | None = None,
) -> Path:
    """Write a finished run.

    Args:
        more: Further fields of the identity, such as keep_order.
        retrieved: Whether both segments of a pair were found, and whether in order, for memory `rag`.
    """
    pairs = load_pairs(str(dataset), list(configs))
    identity = {"benchmark": "booksort", "fingerprint": fingerprint(pairs), "memory": memory, "model": model}
    identity |= {"config": list(configs), "split": "test", "books": None, "both_orders": both_orders or None}
    identity |= {"prompt": 3, **(more or {})}
    asked = in_both_orders(pairs) if both_orders else pairs
    with open_run(folder, identity, {"dataset": str(dataset), "label": f"{memory}, {model}", "limit": None}):
        journal = Journal(folder / ANSWERS)
        for pair in asked:
            journal.add(f"key {pair.id}", id=pair.id, repeat=0, **plan(pair))
        journal.close()
        if retrieved:
            found = Journal(folder / "retrieved.jsonl")
            for pair in asked:
                both, in_order = retrieved(pair)
                about = {"query": "q", "passages": [], "ranks": [0, 1] if both else [0, None]}
                found.add(f"found {pair.id}", id=pair.id, both=both, in_order=in_order, **about)
            found.close()
        finish(folder, asked, {pair.id: f"key {pair.id}" for pair in asked}, f"{memory}, {model}")
    return folder


def answers_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The last record about each pair in answers.jsonl, read plainly."""
    lines = (folder / ANSWERS).read_text("utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


KINDS = {"sort": "none", "sort-in-context": "in-context"}
IDENTITY = {"benchmark": "finetuning", "method": "sort_lm", "pairs": "p", "prompts": "q", "prompt": 3}
IDENTITY |= {"measured_texts": {"books": "b"}}


def make_training(
    folder: Path,
    dataset: Path,
    plans: dict[int, Plan],
    *,
    control: str | None = None,
    model: str = "hf:made/tiny",
    weights: str = "w1",
    configs: Sequence[str] = ("e120_s20",),
    kinds: Sequence[str] = tuple(KINDS),
    perplexity: dict[int, dict[str, float | None]] | None = None,
    readout: dict[int, dict[str, Any]] | None = None,
) -> Path:
    """Write a training whose epochs answer by these plans, without and with context.

    Args:
        plans: By epoch, how the model answers.
        control: What is trained in place of the books.
        perplexity: By epoch; 100 / (1 + epoch) for segments and books unless given.
        readout: By epoch; none unless given.
    """
    folder.mkdir(parents=True)
    identity = IDENTITY | {"model": model, "weights": weights, "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset), "label": folder.name}))
    journal = Journal(folder / "measures.jsonl")
    for epoch, plan in plans.items():
        record: dict[str, Any] = {"sort_in_context": None}
        for kind in kinds:
            run = folder / f"measures/epoch-{epoch}/{kind}"
            make_run(run, dataset, plan, memory=KINDS[kind], model=model, configs=configs)
            record[kind.replace("-", "_")] = summary_of(run, json.loads((run / "scores.json").read_text()))
        usual = {"segments": 100 / (1 + epoch), "books": 90 / (1 + epoch), "held_out": 80.0}
        record["perplexity"] = usual if perplexity is None else perplexity[epoch]
        record["readout"] = (readout or {}).get(epoch)
        journal.add(str(epoch), epoch=epoch, pearson=None, seconds={}, **record)
    journal.close()
    return folder
