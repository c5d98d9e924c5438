"""Runs on short books, own and released, of which some questions failed."""

from dataclasses import dataclass, field, replace

from epbench.journals.answers import ANSWERS, ask
from epbench.models.protocol import Reply, Request
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


class Reader:
    """Names the true items and one more, in reverse; denies some questions, talks to itself about others, and fails."""

    name = identity = "made"

    def __init__(self, rows, fails=(), denies="05"):
        self.rows, self.fails, self.denies = {row["id"]: row for row in rows}, set(fails), denies

    def answer(self, requests):
        for request in requests:
            key = request.key(self.identity)
            if request.id in self.fails:
                yield Reply(key, request.id, failure="429 too many requests")
                continue
            told = ", ".join([*self.rows[request.id]["answer"][::-1], "Nobody Else"]) + TURNS * (request.id[-1] in "27")
            yield Reply(key, request.id, "I do not know." if request.id[-1] in self.denies else told)


def asked(folder, rows, dataset, memory, fails=(), denies="05"):
    """An own run, judged and scored."""
    requests = [Request(row["id"], "s", "c", row["question"]) for row in rows]
    identity = {"benchmark": "tulving", "fingerprint": FINGERPRINT, "model": "made", "memory": memory}
    with open_run(folder, identity, {"book": "short", "dataset": str(dataset), "label": memory}):
        ask(folder / ANSWERS, requests, Reader(rows, fails, denies), no_progress)
        judge_and_score(folder, rows, LexicalJudge(), "made")
    return folder


@dataclass(frozen=True)
class Given:
    """Inputs, and the rows that each run asked, by the run's folder."""

    inputs: Inputs
    rows: dict
    seen: dict = field(default_factory=dict)

    def plain(self, line):
        """The rows of a line with what they hold by the journals; None in place of a question that was lost."""
        folder = line.folder
        if folder not in self.seen:
            found = plain_questions(folder, self.rows[folder])
            self.seen[folder] = [(row, found[row["id"], 0]) for row in self.rows[folder]]
        return self.seen[folder]


def given(root, short_book):
    """Three own runs, one with failed questions, and released runs on the same book by two writers: five, and three."""
    rows = [row for i, row in enumerate(load_book(str(short_book)).rows) if i % 4 == 0 or row["get"] != "all"]
    lost = {row["id"] for i, row in enumerate(rows) if i % 17 == 0}
    own = [
        asked(root / "whole", rows, short_book, "in-context"),
        asked(root / "chapters", rows, short_book, "rag-chapter", denies="0369"),
        asked(root / LOSSY, rows, short_book, "rag-paragraph", fails=lost),
    ]
    for seed, writer in enumerate(("gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620")):
        whole = make_book(Recipe("short", seed=seed))
        kept = [q for i, q in enumerate(whole.selected) if i % 6 == 0 or q.get != "all" or q.bin == "3-5"]
        book = replace(whole, selected=kept)
        answers = write_book(root / "archive", book, seed=seed, generator=writer)
        for number, name in enumerate(RELEASED_RUNS if seed == 0 else RELEASED_RUNS[:3]):
            write_run(answers / name, book.selected, seed=10 * seed + number)
    archive = open_archive(root / "archive")
    score_published_runs(archive, root / "released", no_progress)
    published = published_runs(archive)
    folders = {root / "released" / run.folder: run for run in published}
    asked_rows = dict.fromkeys(own, rows)
    asked_rows |= {folder: read_published_run(archive.files, run).rows for folder, run in folders.items()}
    return Given(Inputs([*read_runs(own), *read_runs(list(folders), "released")]), asked_rows)
