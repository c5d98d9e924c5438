"""The runs, trainings, books and exhibits of the three papers, each made once for all tests of tables and figures."""

import json
from dataclasses import replace

import pytest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.make import exhibits as sort_exhibits
from epbench.files.packaged import packaged
from epbench.memfail.leaderboard import leaderboards as memfail_leaderboards
from epbench.memfail.paper import inputs as memfail_inputs
from epbench.memfail.paper import make as memfail
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.reports.reported import read_reported
from epbench.tulving.paper import books
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.make import exhibits as tulving_exhibits
from tests.booksort import sort_set
from tests.memfail.made_results import write_results
from tests.paper import plain_answers, plain_books, plain_memfail, plain_sort, tulving_runs
from tests.paper.plain import MARKUP
from tests.paper.sort_runs import make_run, make_training, mostly_right
from tests.published_data import OURS

REPORTED, REPORTED_BOOKS = (
    read_reported(packaged("epbench.tulving", f"reported{of}.json"), "tulving") for of in ("", "_books")
)
PAPERS = {"tulving": plain_answers.Tulving, "booksort": plain_sort.Sort, "memfail_paper": plain_memfail.MemFail}


session = pytest.fixture(scope="session")


@pytest.fixture
def paper(request):
    """The exhibits of one of `PAPERS`, with the plain numbers."""
    return request.getfixturevalue(request.param)


# Tulving


@pytest.fixture(scope="session", autouse=True)
def words():
    """Lengths are counted in words, so that no test looks for the encoding of tokens in a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(books, "length_counter", lambda: (lambda text: len(text.split()), "words"))
        yield


given = session(tulving_runs.given)
lines = session(lambda given: lines_of(given.inputs))
folders = session(plain_books.folders_of)
all_books = session(lambda folders, words: books.read_books(list(map(str, folders)), OURS))
"""The books of these datasets, and that of the archive."""


@session
def tulving(all_books, given, folders):
    """All exhibits of these books and runs, as if these were on other books too, with all numbers of the paper beside them."""
    runs = list(given.inputs.runs)
    for book, fingerprint, n in (("long", "d" * 16, 2), ("short-ordered", "e" * 16, 1), ("news-short", "c" * 16, 1)):
        about = {"book": book, "fingerprint": fingerprint}
        runs += [replace(run, label=f"{run.label} {book}", **about) for run in given.inputs.runs[:n]]
    runs[-1] = replace(runs[-1], scores=runs[-1].scores | {"simple_recall_score": 0.7})  # books of several seeds differ
    world = Inputs(runs, [*REPORTED, *REPORTED_BOOKS])
    rated = (tulving_runs.FINGERPRINT, "d" * 16, all_books[0].fingerprint)
    ratings = dict.fromkeys(rated, plain_books.RATINGS) | {"another": {1: "Realistic"}}
    found = tulving_exhibits(world, all_books, realism=ratings, by=["trace", "get"])
    return plain_answers.Tulving(found, given, lines_of(world), plain_books.plain_books(folders))


# Book-SORT

CONFIGS = ((120, 20), (250, 20), (250, 50), (6000, 20), (6000, 50))
CHOOSES = {"memory": "in-context", "model": "m/x", "configs": ["e120_s20"]}
TRIED = [
    {"number": number, "n": n, "failed": 20 - n, "accuracy": right / n if n else 0.0, "share_a": n_a / n if n else None}
    for number, (right, n, n_a) in enumerate([(9, 20, 1), (10, 20, 18), (14, 20, 15), (13, 19, 9), (0, 0, 0)], 1)
]
"""The prompts, or readings, that were tried on held-out pairs, on some of which questions failed."""
READOUT = {"n": 48, "accuracy": 0.5, "interval": [0.36, 0.64], "by_group": {"101": 0.25, "102": 0.75}}
RUNS = f"""
base none big 0.56
base-small none small 0.5
both none big 0.7
shown in-context big 0.9
shown-small in-context small 0.65
shown-failed in-context other failed
searched rag small 0.7
llama{MARKUP} in-context hf:x/Llama-3-8B 0.62
whole full-book big 0.62
whole-failed full-book small failed
"""
"""Label, memory and model of each run, and the share of right answers; in one that failed some questions are lost."""


small_set = session(lambda tmp_path_factory: sort_set.write_set(tmp_path_factory.mktemp("small") / "booksort"))


@session
def sort_folders(tmp_path_factory, small_set):
    """The folders of runs and of trainings, by label.

    `RUNS` are on a set with two lengths of segments and with long excerpts; two more have tried five prompts, or readings. The
    trainings are on the books, and a control.
    """
    root, text, runs = tmp_path_factory.mktemp("sort"), sort_set.book_text, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_set, "book_text", lambda book: text(book, 9000))
        rows = {(f"e{excerpt}_s{words}", "test"): sort_set.pair_rows(excerpt, words) for excerpt, words in CONFIGS}
        wide_set = sort_set.write_tables(root / "booksort", rows)
    for name, memory, model, share in map(str.split, RUNS.strip().splitlines()):
        some_failed = mostly_right(0.8, "f", lambda pair: pair.distance_bin == 200 and pair.segment_length == 20)
        plan = some_failed if share == "failed" else mostly_right(float(share), name)
        retrieved = (lambda pair: (pair.distance_bin > 100, pair.distance_bin > 200)) if memory == "rag" else None
        more = {"memory": memory, "model": model, "both_orders": name == "both", "retrieved": retrieved}
        runs[name] = make_run(root / name, wide_set, plan, **more)
    for what in ("prompt", "reading"):
        runs[what] = make_run(root / what, small_set, mostly_right(0.6), **CHOOSES)
        choice = {what: 4, "reason": "best", "tied": [3, 4], f"{what}s": TRIED}
        (runs[what] / "prompt_selection.json").write_text(json.dumps(choice))
    before, half_failed = mostly_right(0.4, "e0"), mostly_right(0.8, lost=lambda pair: pair.book_idx == 101)
    plans, control = {0: before, 1: mostly_right(0.9, "e1"), 2: half_failed}, f"control{MARKUP}"
    more, readout = {"control": "instructions", "kinds": ["sort"]}, {1: READOUT, 2: READOUT | {"accuracy": 0.75}}
    root = root / "trainings"
    trainings = {
        "books": make_training(root / "books", small_set, plans, readout=readout),
        control: make_training(root / control, small_set, {0: before, 1: mostly_right(0.5, "c1")}, **more),
    }
    return runs, trainings


chosen = session(lambda sort_folders: sort_folders[0])
trainings = session(lambda sort_folders: sort_folders[1])
sort_inputs = session(lambda sort_folders: read_inputs([path for of in sort_folders for path in of.values()]))
booksort = session(lambda sort_inputs, sort_folders: plain_sort.Sort(sort_exhibits(sort_inputs), *sort_folders))


# MemFail


@session
def memfail_folder(script, once):
    """Holds `<name of a system>/<config>` for each run, and the dataset in `d/memfail`."""

    def run(folder):
        write_results(folder)
        (folder / f"flaky{MARKUP}.py").write_text(plain_memfail.FLAKY)
        configs = ["--config", *plain_memfail.CONFIGS]
        done = [script("builders/memfail.py", "--rows", 15, *configs, "--out", folder / "d")]
        for name, system in plain_memfail.SYSTEMS.items():
            about = ["--dataset", folder / "d/memfail", *configs, "--k", plain_memfail.K, "--out", folder / name]
            own = [f"{folder}/{system}", "--in-process"] if name == "flaky" else [system]
            done.append(script("eval_scripts/memfail.py", *about, "--system", *own))
        assert not any(one.returncode for one in done), done[-1].stderr

    return once("memfail-paper", run)


@session
def memfail_given(memfail_folder):
    runs = memfail_inputs.read_runs([memfail_folder / name for name in plain_memfail.SYSTEMS])
    rates = read_rates(memfail_folder / "paper_results.json", memfail_folder / "paper_error_breakdown.json")
    return memfail_inputs.Inputs(runs, rates, memfail_inputs.read_datasets([str(memfail_folder / "d/memfail")]))


@session
def memfail_paper(memfail_folder, memfail_given):
    """Tokens are words, so that nobody needs a vocabulary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memfail, "cl100k_tokens", lambda: lambda text: len(text.split()))
        found = [*memfail.exhibits(memfail_given), *memfail_leaderboards(memfail_given)]
    return plain_memfail.MemFail(found, memfail_folder)
