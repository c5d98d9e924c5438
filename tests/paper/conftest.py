"""The runs, trainings, books and exhibits of the three papers, each made once for all tests of tables and figures."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.make import exhibits as sort_exhibits
from epbench.files.packaged import packaged
from epbench.journals.answers import ANSWERS
from epbench.memfail.leaderboard import leaderboards as memfail_leaderboards
from epbench.memfail.paper import inputs as memfail_inputs
from epbench.memfail.paper import make as memfail
from epbench.memfail.scores.reported_rates import read_reported as read_rates
from epbench.progress import no_progress
from epbench.reports.reported import read_reported
from epbench.runs.folder import open_run
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.dataset.load import load_book
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.paper import books
from epbench.tulving.paper.inputs import Inputs, lines_of, read_runs
from epbench.tulving.paper.make import exhibits as tulving_exhibits
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, read_published_run, score_published_runs
from tests.booksort import sort_set
from tests.memfail.made_results import write_results
from tests.paper import plain_answers, plain_books, plain_memfail, plain_sort
from tests.paper.plain import MARKUP
from tests.paper.sort_runs import journaled, make_run, make_training, mostly_right
from tests.published_archive import write_book, write_run
from tests.published_data import OURS
from tests.scripts.in_process import ran
from tests.tulving.plain_questions import plain_questions

FILES = (packaged("epbench.tulving", f"reported{of}.json") for of in ("", "_books"))
REPORTED, REPORTED_BOOKS = (read_reported(path, "tulving") for path in FILES)
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


FINGERPRINT = "f" * 16
GPT_BOOK, CLAUDE_BOOK = "short by gpt-4o-2024-05-13", "short by claude-3-5-sonnet-20240620"
RELEASED_RUNS = (
    "answered_by_kind_prompting_model_gpt-4o-2024-08-06",
    "answered_by_kind_prompting_model_claude-3-haiku-20240307",
    "answered_by_kind_rag_model_gpt-4o-2024-08-06_chunk_paragraph_top12",
    "answered_by_kind_rag_model_gpt-4o-2024-08-06_chunk_chapter_top3",
    "answered_by_kind_ftuning_model_ft:gpt-4o-mini-2024-07-18:org::abc_fpolicy_single",
)
LOSSY = f"lossy{MARKUP}"
TURNS = "\n\nHuman: Really?\n\nAssistant: Yes."


def answered(folder, rows, dataset, memory, fails=(), denies="05"):
    """An own run that names the true items in reverse, and another one, denies some, talks to itself, and fails."""
    answers = []
    for row in rows:
        told = ", ".join([*row["answer"][::-1], "Nobody Else"]) + TURNS * (row["id"][-1] in "27")
        said = {"answer": "I do not know." if row["id"][-1] in denies else told}
        answers.append({"id": row["id"], "repeat": 0} | ({"failure": "429"} if row["id"] in fails else said))
    identity = {"benchmark": "tulving", "fingerprint": FINGERPRINT, "model": "made", "memory": memory}
    with open_run(folder, identity, {"book": "short", "dataset": str(dataset), "label": memory}):
        journaled(folder / ANSWERS, answers)
        judge_and_score(folder, rows, LexicalJudge(), "made")
    return folder


@session
def given(tmp_path_factory, short_book):
    """Three own runs, one with failed questions, and released runs on the same book by two writers: five, and three.

    `plain` has the rows that the run of a line asked, each with what the journals hold; None for a lost question.
    """
    root = tmp_path_factory.mktemp("given")
    rows = [row for i, row in enumerate(load_book(str(short_book)).rows) if i % 4 == 0 or row["get"] != "all"]
    lost = {row["id"] for i, row in enumerate(rows) if i % 17 == 0}
    own = [
        answered(root / "whole", rows, short_book, "in-context"),
        answered(root / "chapters", rows, short_book, "rag-chapter", denies="0369"),
        answered(root / LOSSY, rows, short_book, "rag-paragraph", fails=lost),
    ]
    for seed, writer in enumerate(("gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620")):
        whole = make_book(Recipe("short", seed=seed))
        kept = [q for i, q in enumerate(whole.selected) if i % 6 == 0 or q.get != "all" or q.bin == "3-5"]
        folder = write_book(root / "archive", replace(whole, selected=kept), seed=seed, generator=writer)
        for number, name in enumerate(RELEASED_RUNS if seed == 0 else RELEASED_RUNS[:3]):
            write_run(folder / name, kept, seed=10 * seed + number)
    archive = open_archive(root / "archive")
    score_published_runs(archive, root / "released", no_progress)
    runs = {root / "released" / run.folder: run for run in published_runs(archive)}
    released = {folder: read_published_run(archive.files, run).rows for folder, run in runs.items()}
    inputs, of_run = Inputs(read_runs(own) + read_runs(list(released), "released")), dict.fromkeys(own, rows) | released
    held = {folder: plain_questions(folder, of) for folder, of in of_run.items()}
    plain = {folder: [(row, held[folder][row["id"], 0]) for row in of] for folder, of in of_run.items()}
    return SimpleNamespace(inputs=inputs, plain=lambda line: plain[line.folder])


lines = session(lambda given: lines_of(given.inputs))
folders = session(plain_books.folders_of)
all_books = session(lambda folders, words: books.read_books(list(map(str, folders)), OURS))


@session
def tulving(all_books, given, folders):
    """All exhibits of these books and runs, as if these were on other books too, with all numbers of the paper beside them."""
    runs = list(given.inputs.runs)
    for book, fingerprint, n in (("long", "d" * 16, 3), ("short-ordered", "e" * 16, 1), ("news-short", "c" * 16, 1)):
        named = [replace(run, label=f"{run.label} {book}") for run in given.inputs.runs[:n]]
        runs += [replace(run, book=book, fingerprint=fingerprint) for run in named]
    runs[-1] = replace(runs[-1], scores=runs[-1].scores | {"simple_recall_score": 0.7})  # books of several seeds differ
    world = Inputs(runs, [*REPORTED, *REPORTED_BOOKS])
    rated = (FINGERPRINT, "d" * 16, all_books[0].fingerprint)
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
    """By label the folders of `RUNS`, on long excerpts too, and of two that have tried prompts, or readings; and of trainings."""
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


sort_inputs = session(lambda sort_folders: read_inputs([path for of in sort_folders for path in of.values()]))
booksort = session(lambda sort_inputs, sort_folders: plain_sort.Sort(sort_exhibits(sort_inputs), *sort_folders))


# MemFail


@session
def memfail_folder(once):
    """Holds `<name of a system>/<config>` for each run, and the dataset in `d/memfail`."""

    def run(folder):
        write_results(folder)
        (folder / f"flaky{MARKUP}.py").write_text(plain_memfail.FLAKY)
        configs = ["--config", *plain_memfail.CONFIGS]
        ran("builders/memfail.py", "--rows", 15, *configs, "--out", folder / "d")
        for name, system in plain_memfail.SYSTEMS.items():
            about = ["--dataset", folder / "d/memfail", *configs, "--k", plain_memfail.K, "--out", folder / name]
            own = [f"{folder}/{system}", "--in-process"] if name == "flaky" else [system]
            ran("eval_scripts/memfail.py", *about, "--system", *own)

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
