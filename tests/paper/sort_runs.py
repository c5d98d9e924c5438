"""Runs and trainings with planned answers, written as journals and finished by the package, to make exhibits from."""

import json
from contextlib import closing

from epbench.booksort.dataset.load import both_orders as in_both_orders
from epbench.booksort.dataset.load import fingerprint, load_pairs
from epbench.booksort.finetuning.measures import summary_of
from epbench.booksort.scores.results import finish
from epbench.draws import RandomStream
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.runs.folder import open_run
from tests.paper.plain import lines_of

OTHER = {"A": "B", "B": "A"}
KINDS = {"sort": "none", "sort-in-context": "in-context"}
TRAINING = {"benchmark": "finetuning", "method": "sort_lm", "pairs": "p", "prompts": "q", "prompt": 3}
TRAINING |= {"measured_texts": {"books": "b"}}


def mostly_right(share, stream="answers", lost=lambda pair: False):
    """A plan: what answers.jsonl says about a pair, of which about this share is right; the same pair gets the same each time."""

    def plan(pair):
        if lost(pair):
            return {"answer": "", "failure": "timeout"}
        draws = RandomStream(stream, pair.id)
        said = pair.answer if draws.unit() < share else OTHER[pair.answer]
        sure = 0.5 + draws.unit() / 2.5
        return {"answer": said, "probabilities": {said: sure, OTHER[said]: 0.95 - sure - draws.unit() / 25}}

    return plan


def journaled(path, records):
    """Write a journal whose records have an id each."""
    with closing(Journal(path)) as journal:
        for record in records:
            journal.add(f"key {record['id']}", **record)


def make_run(folder, dataset, plan, *, memory="none", model="m", configs=("all",), both_orders=False, retrieved=None):
    """Write a finished run; `retrieved` says of a pair, for memory `rag`, whether both segments were found, and in order."""
    pairs = load_pairs(str(dataset), list(configs))
    identity = {"benchmark": "booksort", "fingerprint": fingerprint(pairs), "memory": memory, "model": model}
    identity |= {"config": list(configs), "split": "test", "books": None, "both_orders": both_orders or None}
    identity |= {"prompt": 3} | ({"retriever": "bm25", "query": 8} if retrieved else {})
    asked = in_both_orders(pairs) if both_orders else pairs
    with open_run(folder, identity, {"dataset": str(dataset), "label": f"{memory}, {model}", "limit": None}):
        journaled(folder / ANSWERS, [{"id": pair.id, "repeat": 0, **plan(pair)} for pair in asked])
        if retrieved:
            found = [{"id": pair.id, **dict(zip(("both", "in_order"), retrieved(pair), strict=True))} for pair in asked]
            more = {"query": "q", "passages": []}
            records = [more | of | {"ranks": [0, 1 if of["both"] else None]} for of in found]
            journaled(folder / "retrieved.jsonl", records)
        finish(folder, asked, {pair.id: f"key {pair.id}" for pair in asked}, f"{memory}, {model}")
    return folder


def answers_of(folder):
    """The last record about each pair in answers.jsonl, read plainly."""
    return {record["id"]: record for record in lines_of(folder / ANSWERS)}


def make_training(folder, dataset, plans, *, control=None, model="hf:made/tiny", kinds=KINDS, readout=None):
    """Write a training, or a `control` without the books' perplexity, whose epochs answer by these plans."""
    folder.mkdir(parents=True)
    identity = TRAINING | {"model": model, "weights": model, "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset), "label": folder.name}))
    measures = []
    for epoch, plan in plans.items():
        texts = {"segments": 100 / (1 + epoch), "books": None if control else 90 / (1 + epoch), "held_out": 80.0}
        record = {"id": epoch, "epoch": epoch, "sort_in_context": None, "readout": (readout or {}).get(epoch)}
        record |= {"perplexity": texts, "pearson": None, "seconds": {}}
        for kind in kinds:
            run = folder / f"measures/epoch-{epoch}/{kind}"
            make_run(run, dataset, plan, memory=KINDS[kind], model=model, configs=["e120_s20"])
            record[kind.replace("-", "_")] = summary_of(run, json.loads((run / "scores.json").read_text()))
        measures.append(record)
    journaled(folder / "measures.jsonl", measures)
    return folder
