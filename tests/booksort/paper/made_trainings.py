"""Trainings with planned answers at each epoch, as their journals have them, to make exhibits from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.finetuning.measures import summary_of
from epbench.journals.journal import Journal
from tests.booksort.paper.made_runs import Plan, make_run

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
