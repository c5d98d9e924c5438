import json

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.make import exhibits
from epbench.booksort.prompt_selection import select_prompt
from epbench.models.protocol import Reply
from epbench.progress import no_progress
from tests.booksort import sort_set
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, make_training, mostly_right

CONFIGS = ((120, 20), (250, 20), (250, 50), (6000, 20), (6000, 50))
HELD_OUT = "e120_s20"
READOUT = {"n": 48, "accuracy": 0.5, "interval": [0.36, 0.64], "by_group": {"101": 0.25, "102": 0.75}}
RUNS = """
base none big 0.56
base-small none small 0.5
both none big 0.7
shown in-context big 0.9
shown-small in-context small 0.65
shown-failed in-context other failed
searched rag small 0.7
llama in-context hf:x/Llama-3-8B 0.62
whole full-book big 0.62
whole-failed full-book small failed
"""
"""Label, memory and model of each run, and the share of right answers; in one that failed some questions are lost."""


def some_failed(pair):
    lost = pair.distance_bin == 200 and pair.segment_length == 20
    return {"failure": "timeout"} if lost else mostly_right(0.8, "f")(pair)


def half_failed(pair):
    return {"answer": "", "failure": "no answer"} if pair.book_idx == 101 else mostly_right(0.8)(pair)


class Chooser:
    """Says A to the first pairs, as many as the number of the prompt says, and B to the others; fails on one of prompt 5."""

    name = identity = "chooser"

    def __init__(self, numbers):
        self.numbers = numbers  # the number of the prompt by the key of the request

    def answer(self, requests):
        asked = {}
        for request in requests:
            key, number = request.key(self.name), self.numbers[request.key(self.name)]
            asked[number] = asked.get(number, 0) + 1
            failed = number == 5 and asked[number] == 3
            said = "A" if asked[number] <= number else "B"
            yield Reply(key, request.id, failure="no answer") if failed else Reply(key, request.id, said)


@pytest.fixture(scope="session")
def small_set(tmp_path_factory):
    return sort_set.write_set(tmp_path_factory.mktemp("small") / "booksort")


@pytest.fixture(scope="session")
def wide_set(tmp_path_factory):
    """A set with two lengths of segments and with long excerpts."""
    text = sort_set.book_text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_set, "book_text", lambda book: text(book, 9000))
        rows = {(f"e{excerpt}_s{words}", "test"): sort_set.pair_rows(excerpt, words) for excerpt, words in CONFIGS}
        return sort_set.write_tables(tmp_path_factory.mktemp("wide") / "booksort", rows)


@pytest.fixture(scope="session")
def made(tmp_path_factory, wide_set, small_set):
    """The folders of runs and trainings by name."""
    root = tmp_path_factory.mktemp("runs")
    found = {}
    rag = {"more": {"retriever": "bm25", "query": 8}}
    rag["retrieved"] = lambda pair: (pair.distance_bin > 100, pair.distance_bin > 200)
    for name, memory, model, share in map(str.split, RUNS.strip().splitlines()):
        plan = some_failed if share == "failed" else mostly_right(float(share), name)
        more = {"both_orders": name == "both"} | (rag if memory == "rag" else {})
        found[name] = make_run(root / name, wide_set, plan, memory=memory, model=model, **more)
    plans = {0: mostly_right(0.4, "e0"), 1: mostly_right(0.9, "e1"), 2: half_failed}
    readout = {1: READOUT, 2: READOUT | {"accuracy": 0.75}}
    found["books"] = make_training(root / "books", small_set, plans, readout=readout)
    plans = {0: plans[0], 1: mostly_right(0.5, "c1")}
    found["control"] = make_training(root / "control", small_set, plans, control="instructions", kinds=["sort"])
    return found


@pytest.fixture(scope="session")
def chosen(tmp_path_factory, small_set):
    """By what is chosen, a run's folder, and by number of the prompt the right answers, answers, failures and As."""
    root, found = tmp_path_factory.mktemp("chosen"), {}
    pairs, pack = load_pairs(str(small_set), [HELD_OUT], "validation"), load_prompts()
    for what in ("prompt", "reading"):
        out = root / what
        make_run(out, small_set, mostly_right(0.6), memory="in-context", model="m/x", configs=[HELD_OUT])
        requests = {number: requests_for("in-context", pairs, pack, number) for number in pack.prompts}
        numbers = {request.key("chooser"): number for number, asked in requests.items() for request in asked}
        select_prompt(out, requests, pairs, Chooser(numbers), no_progress, what)
        truth, counts = {pair.id: pair.answer for pair in pairs}, {}
        for record in map(json.loads, (out / "prompt_answers.jsonl").read_text().splitlines()):
            said = None if record.get("failure") else record["answer"]
            new = said == truth[record["id"]], said is not None, said is None, said == "A"
            before = counts.get(numbers[record["key"]], (0, 0, 0, 0))
            counts[numbers[record["key"]]] = [one + more for one, more in zip(before, new, strict=True)]
        found[what] = out, counts
    return found


@pytest.fixture(scope="session")
def given(made, chosen):
    """All runs and trainings, with the numbers that the package carries."""
    return read_inputs([*made.values(), *(folder for folder, _ in chosen.values())])


@pytest.fixture(scope="session")
def found(given):
    """Every exhibit by its name."""
    return {one.name: one for one in exhibits(given)}


@pytest.fixture(scope="session")
def journals(made, chosen):
    """What the same runs and trainings say, read plainly."""
    trainings = {name: made[name] for name in ("books", "control")}
    runs = {name: folder for name, folder in made.items() if name not in trainings}
    runs |= {folder.name: folder for folder, _ in chosen.values()}
    return plain.Journals(runs, trainings, {what: counts for what, (_, counts) in chosen.items()})
