"""The runs, trainings, books and exhibits of the three papers, each made once for all tests of tables and figures."""

import json
from dataclasses import replace

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.evaluation import select_prompt
from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.make import exhibits as sort_exhibits
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import load_memfail
from epbench.memfail.paper import inputs as memfail_inputs
from epbench.memfail.paper import make as memfail
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.models.protocol import Reply
from epbench.progress import no_progress
from epbench.reports.reported import read_reported
from epbench.tulving.paper import books
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.make import exhibits as tulving_exhibits
from tests.booksort import sort_set
from tests.memfail.made_results import write_results
from tests.paper import plain_answers, plain_books, plain_memfail, plain_sort, tulving_runs
from tests.paper.sort_runs import make_run, make_training, mostly_right
from tests.published_data import OURS


@pytest.fixture(scope="session", autouse=True)
def words():
    """Lengths are counted in words, so that no test looks for the encoding of tokens in a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(books, "length_counter", lambda: (lambda text: len(text.split()), "words"))
        yield


# Tulving

REPORTED_BOOKS = read_reported(packaged("epbench.tulving", "reported_books.json"), "tulving")


@pytest.fixture(scope="session")
def given(tmp_path_factory, short_book):
    return tulving_runs.given(tmp_path_factory.mktemp("given"), short_book)


@pytest.fixture(scope="session")
def lines(given):
    return lines_of(given.inputs)


@pytest.fixture(scope="session")
def world(given):
    """The runs as if they were on other books too, with all numbers of the paper beside them."""
    runs = list(given.inputs.runs)
    for book, fingerprint, n in (("long", "d" * 16, 2), ("short-ordered", "e" * 16, 1), ("news-short", "c" * 16, 1)):
        about = {"book": book, "fingerprint": fingerprint}
        runs += [replace(run, label=f"{run.label} {book}", **about) for run in given.inputs.runs[:n]]
    return Inputs(runs, [*read_reported(packaged("epbench.tulving", "reported.json"), "tulving"), *REPORTED_BOOKS])


@pytest.fixture(scope="session")
def folders(once, short_book):
    """Four datasets: by templates, by a model, reordered by date, and from another universe."""
    return [short_book, *(make(once) for make in (plain_books.written, plain_books.ordered, plain_books.scifi))]


@pytest.fixture(scope="session")
def all_books(folders, words):
    """The books of these datasets, and that of the archive."""
    return books.read_books(list(map(str, folders)), OURS)


@pytest.fixture(scope="session")
def tulving(world, all_books, given, folders):
    """All exhibits of these runs and books, and the numbers that they must show."""
    ratings = dict.fromkeys((tulving_runs.FINGERPRINT, "d" * 16), tulving_runs.RATINGS) | {"another": {1: "Realistic"}}
    ratings[all_books[0].fingerprint] = plain_books.RATINGS
    found = tulving_exhibits(world, all_books, realism=ratings, by=["trace", "get"])
    return plain_answers.Tulving(found, given, lines_of(world), plain_books.plain_books(folders))


# Book-SORT

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
        self.numbers, self.asked = numbers, {}  # the number of the prompt by the key of the request

    def answer(self, requests):
        for request in requests:
            key = request.key(self.name)
            number = self.numbers[key]
            self.asked[number] = self.asked.get(number, 0) + 1
            failed = number == 5 and self.asked[number] == 3
            said = "A" if self.asked[number] <= number else "B"
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
def sort_runs(tmp_path_factory, wide_set):
    """The folders of runs by label."""
    root, found = tmp_path_factory.mktemp("runs"), {}
    rag = {"more": {"retriever": "bm25", "query": 8}}
    rag["retrieved"] = lambda pair: (pair.distance_bin > 100, pair.distance_bin > 200)
    for name, memory, model, share in map(str.split, RUNS.strip().splitlines()):
        plan = some_failed if share == "failed" else mostly_right(float(share), name)
        more = {"both_orders": name == "both"} | (rag if memory == "rag" else {})
        found[name] = make_run(root / name, wide_set, plan, memory=memory, model=model, **more)
    return found


@pytest.fixture(scope="session")
def trainings(tmp_path_factory, small_set):
    """The folders of a training on the books and of a control."""
    root = tmp_path_factory.mktemp("trainings")
    plans = {0: mostly_right(0.4, "e0"), 1: mostly_right(0.9, "e1"), 2: half_failed}
    readout = {1: READOUT, 2: READOUT | {"accuracy": 0.75}}
    control = {0: plans[0], 1: mostly_right(0.5, "c1")}
    return {
        "books": make_training(root / "books", small_set, plans, readout=readout),
        "control": make_training(root / "control", small_set, control, control="instructions", kinds=["sort"]),
    }


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
def sort_inputs(sort_runs, trainings, chosen):
    """All runs and trainings, with the numbers that the package carries."""
    return read_inputs([*sort_runs.values(), *trainings.values(), *(folder for folder, _ in chosen.values())])


@pytest.fixture(scope="session")
def booksort(sort_inputs, sort_runs, trainings, chosen):
    """All exhibits, and the numbers that they must show."""
    runs = sort_runs | {folder.name: folder for folder, _ in chosen.values()}
    choices = {what: counts for what, (_, counts) in chosen.items()}
    return plain_sort.Sort(sort_exhibits(sort_inputs), runs, trainings, choices)


# MemFail


@pytest.fixture(scope="session")
def memfail_folder(script, once):
    """Holds `<name of a system>/<config>` for each run, and the dataset in `d/memfail`."""
    return once("memfail-paper", lambda folder: _run_memfail(script, folder))


def _run_memfail(script, folder):
    write_results(folder)
    (folder / "flaky.py").write_text(plain_memfail.FLAKY)
    configs = plain_memfail.CONFIGS
    built = script("builders/memfail.py", "--rows", 15, "--config", *configs, "--out", folder / "d")
    assert built.returncode == 0, built.stderr
    for name, system in plain_memfail.SYSTEMS.items():
        system = f"{folder}/{system}" if name == "flaky" else system
        about = ["--dataset", folder / "d/memfail", "--config", *configs, "--system", system, "--k", plain_memfail.K]
        more = ["--in-process"] if name == "flaky" else []
        done = script("eval_scripts/memfail.py", *about, *more, "--out", folder / name)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def memfail_given(memfail_folder):
    return memfail_inputs.Inputs(
        memfail_inputs.read_runs([memfail_folder / name for name in plain_memfail.SYSTEMS]),
        read_rates(memfail_folder / "paper_results.json", memfail_folder / "paper_error_breakdown.json"),
        memfail_inputs.read_datasets([str(memfail_folder / "d/memfail")]),
    )


@pytest.fixture(scope="session")
def memfail_paper(memfail_folder, memfail_given):
    """All exhibits, and the numbers that they must show; tokens are words, so that nobody needs a vocabulary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memfail, "cl100k_tokens", lambda: lambda text: len(text.split()))
        found = [*memfail.exhibits(memfail_given), *memfail.leaderboards(memfail_given)]
    data = str(memfail_folder / "d/memfail")
    return plain_memfail.MemFail(
        found, memfail_folder, {of: load_memfail(data, of).rows for of in plain_memfail.CONFIGS}
    )


@pytest.fixture
def paper(request):
    """The exhibits of one paper, with the plain numbers."""
    return request.getfixturevalue(request.param)
