"""Runs and trainings with planned answers, written as journals and finished by the package, to make exhibits from."""

import json

from epbench.booksort.dataset.load import both_orders as in_both_orders
from epbench.booksort.dataset.load import fingerprint, load_pairs
from epbench.booksort.finetuning.measures import summary_of
from epbench.booksort.scores.results import finish
from epbench.draws import RandomStream
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.runs.folder import open_run

OTHER = {"A": "B", "B": "A"}


def mostly_right(share, stream="answers"):
    """A plan: what answers.jsonl says about a pair. About this share is right; the same pair gets the same answer each time."""

    def plan(pair):
        draws = RandomStream(stream, pair.id)
        said = pair.answer if draws.unit() < share else OTHER[pair.answer]
        sure = 0.5 + draws.unit() / 2.5
        return {"answer": said, "probabilities": {said: sure, OTHER[said]: 0.95 - sure}}

    return plan


def make_run(
    folder, dataset, plan, *, memory="none", model="m", configs=("all",), both_orders=False, more=None, retrieved=None
):
    """Write a finished run.

    `more` are further fields of the identity, such as keep_order; `retrieved` says of a pair, for memory `rag`, whether both
    segments were found, and whether in order.
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


def answers_of(folder):
    """The last record about each pair in answers.jsonl, read plainly."""
    lines = (folder / ANSWERS).read_text("utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


KINDS = {"sort": "none", "sort-in-context": "in-context"}
IDENTITY = {"benchmark": "finetuning", "method": "sort_lm", "pairs": "p", "prompts": "q", "prompt": 3}
IDENTITY |= {"measured_texts": {"books": "b"}}


def make_training(folder, dataset, plans, *, control=None, weights="w1", kinds=tuple(KINDS), readout=None, **more):
    """Write a training whose epochs answer by these plans, without and with context.

    `control` is trained in place of the books; `readout` and `perplexity` are by epoch; `model` may be another one.
    """
    folder.mkdir(parents=True)
    model, perplexity = more.get("model", "hf:made/tiny"), more.get("perplexity")
    identity = IDENTITY | {"model": model, "weights": weights, "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset), "label": folder.name}))
    journal = Journal(folder / "measures.jsonl")
    for epoch, plan in plans.items():
        record = {"sort_in_context": None}
        for kind in kinds:
            run = folder / f"measures/epoch-{epoch}/{kind}"
            make_run(run, dataset, plan, memory=KINDS[kind], model=model, configs=["e120_s20"])
            record[kind.replace("-", "_")] = summary_of(run, json.loads((run / "scores.json").read_text()))
        usual = {"segments": 100 / (1 + epoch), "books": 90 / (1 + epoch), "held_out": 80.0}
        record["perplexity"] = usual if perplexity is None else perplexity[epoch]
        record["readout"] = (readout or {}).get(epoch)
        journal.add(str(epoch), epoch=epoch, pearson=None, seconds={}, **record)
    journal.close()
    return folder
