"""Runs on short books, own and released, of which some questions failed."""

from dataclasses import replace
from types import SimpleNamespace

from epbench.journals.answers import ANSWERS
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.dataset.load import load_book
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.paper.inputs import Inputs, read_runs
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, read_published_run, score_published_runs
from tests.paper.plain import MARKUP
from tests.paper.sort_runs import journaled
from tests.published_archive import write_book, write_run
from tests.tulving.plain_questions import plain_questions

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
    """An own run, judged and scored.

    It names the true items and one more, in reverse; denies some questions, talks to itself about others, and fails.
    """
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
    asked = {}
    for folder, of in (dict.fromkeys(own, rows) | released).items():
        found = plain_questions(folder, of)
        asked[folder] = [(row, found[row["id"], 0]) for row in of]
    inputs = Inputs([*read_runs(own), *read_runs(list(released), "released")])
    return SimpleNamespace(inputs=inputs, plain=lambda line: asked[line.folder])
