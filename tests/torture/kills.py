"""Kill our scripts and builders at random moments, restart them, and count what was lost and what was paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epbench.journals.journal import read_journal
from epbench.tulving.dataset.build import Recipe, draw_outline
from tests.booksort.made_texts import write_texts
from tests.booksort.sort_set import write_set
from tests.models.loopback_endpoint import Body, LoopbackEndpoint
from tests.tulving.scripted_judge import ORDER, honest
from tests.tulving.scripted_writer import ScriptedWriter

ROOT = Path(__file__).parents[2]
LATENCY_S = 0.01
PAID = ("answers.jsonl", "judge_calls.jsonl", "judgements.jsonl", "chapters.jsonl", "checks.jsonl")

Arguments = list[Any]


@dataclass(frozen=True)
class Job:
    """A command that is killed and restarted until it ends."""

    name: str
    # Makes the arguments from the output folder, the folder of prepared data, and the address of the endpoint.
    arguments: Callable[[Path, Path, str], Arguments]
    results: Sequence[str]  # patterns of files that must have the same bytes as after an undisturbed run
    stays: Sequence[str] = ()  # patterns of files that, once they exist, must exist after every kill
    again: bool = False  # whether the finished command is started again, to be killed while it replaces the results


@dataclass
class Tally:
    """The results of the kills."""

    kills: int = 0  # killed processes
    finished: int = 0  # how often the command ended by itself
    lost: int = 0  # journaled records that were missing or changed after a kill, and files that had disappeared
    paid_again: int = 0  # requests that were repeated although their answers were journaled
    paid_twice: int = 0  # answers that were sent, but not yet journaled when the process was killed
    different: list[str] = field(default_factory=list)  # results that differ from those of an undisturbed run


TULVING, SORT, MEMFAIL = "eval_scripts/tulving.py", "eval_scripts/booksort.py", "eval_scripts/memfail.py"
KEYWORDS = "epbench.memories.example:KeywordMemory"

JOBS = (
    Job("book by templates", lambda out, made, url: ["builders/tulving.py", "--book", "short", "--out", out],
        ["short/**/*"], ["short/README.md", "short/qa/*"], again=True),
    Job("book by a model", lambda out, made, url: [
        "builders/tulving.py", "--book", "short", "--events", 12, "--writer", "openai:tiny", "--base-url", url,
        "--window", 32768, "--out", out], ["short/**/*"]),
    Job("Book-SORT set", lambda out, made, url: [
        "builders/booksort.py", "--texts", made / "texts", "--excerpt-words", 250, "--segment-words", 20, "--excerpts", 20,
        "--validation", 2, "--out", out], ["booksort/**/*"], ["booksort/README.md"], again=True),
    Job("MemFail rows", lambda out, made, url: ["builders/memfail.py", "--rows", 20, "--out", out],
        ["memfail/**/*"], ["memfail/README.md"], again=True),
    Job("install", lambda out, made, url: ["builders/publish.py", made / "books/short", "--metrics", "--to", "cache"],
        [], ["datasets/epbench___short/qa/*/*/*.arrow", "modules/**/epbench--episodic_f1/*/episodic_f1.py"], again=True),
    Job("run on a book", lambda out, made, url: [
        TULVING, "--dataset", made / "books/short", "--memory", "rag-chapter", "--limit", 150, "--out", out],
        ["scores.json", "table.md"]),
    Job("run and judge at an endpoint", lambda out, made, url: [
        TULVING, "--dataset", made / "books/short", "--memory", "rag-chapter", "--model", "openai:tiny", "--base-url", url,
        "--judge", "openai:judge", "--limit", 150, "--out", out], ["scores.json", "table.md"]),
    Job("Book-SORT run at an endpoint", lambda out, made, url: [
        SORT, "--dataset", made / "sort/booksort", "--config", "all", "--memory", "in-context", "--model", "openai:tiny",
        "--base-url", url, "--out", out], ["scores.json", "table.md"]),
    Job("Book-SORT run with a memory system", lambda out, made, url: [
        SORT, "--dataset", made / "sort/booksort", "--config", "all", "--memory", KEYWORDS, "--model", "openai:tiny",
        "--base-url", url, "--out", out], ["scores.json"]),  # table.md has the seconds of its calls
    Job("MemFail run", lambda out, made, url: [
        MEMFAIL, "--dataset", made / "rows/memfail", "--config", "long_hop", "--system", KEYWORDS, "--k", 3, 5,
        "--out", out], ["scores.json"]),
    Job("judge check at an endpoint", lambda out, made, url: [
        "eval_scripts/judge_check.py", "--judge", "openai:judge", "--n", 20, "--base-url", url, "--out", out],
        ["passport.json"]),
    Job("published runs", lambda out, made, url: [
        TULVING, "--released", ROOT / "tests/data/ours_n20.zip", "--out", out], ["**/scores.json"]),
)  # fmt: skip


def prepare(folder: Path) -> Path:
    """Prepare what the jobs read: a book, a set of pairs, rows of MemFail, and texts."""
    made = folder / "made"
    for builder in (["builders/tulving.py", "--book", "short", "--out", made / "books"],
                    ["builders/memfail.py", "--rows", 20, "--out", made / "rows"]):  # fmt: skip
        done = subprocess.run(_command(builder), env=_environment(folder), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    write_set(made / "sort/booksort")
    (made / "texts").mkdir()
    write_texts(made / "texts", 30_000, 30_000)
    return made


def torture(job: Job, folder: Path, made: Path, kills: int, seed: int = 0) -> Tally:
    """Kill a job of the data from `prepare` so often, and compare the results with those of an undisturbed run."""
    draws, tally = random.Random(f"{job.name} {seed}"), Tally()
    with _endpoint() as endpoint:
        begin = time.monotonic()
        process = _start(job, folder / "whole", made, endpoint.url)
        assert process.wait() == 0, (folder / "whole.log").read_text()
        seconds = time.monotonic() - begin
        wanted = _contents(folder / "whole", job.results)
        assert wanted or not job.results
        needed = _answered(endpoint)
    number = 0
    while tally.kills < kills:
        number += 1
        with _endpoint(endpoint.port) as endpoint:  # a judge at another address would be another judge
            _until_it_ends(job, folder / f"round{number}", made, endpoint, _Plan(draws, seconds, kills, needed), tally)
        found = _contents(folder / f"round{number}", job.results)
        tally.different += sorted(name for name in wanted | found if found.get(name) != wanted.get(name))
    return tally


@dataclass(frozen=True)
class _Plan:
    """How a job is killed."""

    draws: random.Random  # of the moments
    seconds: float  # duration of an undisturbed run
    kills: int
    needed: Counter[str]  # how often an undisturbed run sends each request to the endpoint


def _until_it_ends(job: Job, out: Path, made: Path, endpoint: LoopbackEndpoint, plan: _Plan, tally: Tally) -> None:
    """Start and kill one command until it ends by itself or all kills are done; then let it end."""
    before: dict[str, dict[str, Any]] = {}
    there: set[str] = set()
    starts, unjournaled = 0, 0
    most_starts = 3 if job.again else 1
    while True:
        process = _start(job, out, made, endpoint.url)
        kill = tally.kills < plan.kills
        try:
            status = process.wait(plan.draws.uniform(0.1, 1.05 * plan.seconds) if kill else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            tally.kills += 1
        else:
            assert status == 0, Path(f"{out}.log").read_text()
            tally.finished += 1
            starts += 1
        now = _journaled(out)
        for name, records in before.items():
            tally.lost += sum(now.get(name, {}).get(key) != record for key, record in records.items())
        before = now
        found = {pattern for pattern in job.stays if any(out.glob(pattern))}
        tally.lost += len(there - found)  # a file that was there once must not be missing again
        there |= found
        unjournaled += max(0, (_answered(endpoint) & plan.needed).total() - _n_paid(now))
        if starts >= (most_starts if tally.kills < plan.kills else 1):
            break
    extra = (_answered(endpoint) - plan.needed).total()
    tally.paid_twice += min(extra, unjournaled)
    tally.paid_again += max(0, extra - unjournaled)


def _answered(endpoint: LoopbackEndpoint) -> Counter[str]:
    """Return how often each request was answered."""
    return Counter(_name(call.body) for call in endpoint.calls if call.answered)


@contextmanager
def _endpoint(port: int = 0) -> Iterator[LoopbackEndpoint]:
    """Serve as reader, judge, writer and checker; every answer depends only on the prompt."""
    outline = draw_outline(Recipe("short"))
    writer = ScriptedWriter(outline.universe, outline.events, {}).endpoint().more

    def more(body: Body) -> Body:
        prompt = str(body["messages"][-1]["content"])
        if "True items:" in prompt or ORDER in prompt:
            return {"message": {"content": honest(prompt)}}
        if "=== Chapter ===" in prompt or "Layout\n" in prompt:
            return writer(body)
        if "Segment B" in prompt:
            return {"message": {"content": "Segment A"}}
        return {"message": {"content": "- May 07, 2024\n- High Line"}}

    with LoopbackEndpoint(latency_s=LATENCY_S, more=more, port=port) as endpoint:
        yield endpoint


def _start(job: Job, out: Path, made: Path, url: str) -> subprocess.Popen[bytes]:
    out.mkdir(parents=True, exist_ok=True)
    env = _environment(out if job.name == "install" else out.parent)
    with Path(f"{out}.log").open("ab") as log:
        return subprocess.Popen(
            _command(job.arguments(out, made, url)), env=env, stdout=log, stderr=log, start_new_session=True, cwd=ROOT
        )


def _command(arguments: Arguments) -> list[str]:
    return [sys.executable, *map(str, arguments)]


def _environment(home: Path) -> dict[str, str]:
    offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    caches = {"HF_HOME": str(home), "EPBENCH_CACHE": str(home / "cache")}
    return {**os.environ, **offline, **caches, "OPENAI_API_KEY": "sk-test-0123456789", "OMP_NUM_THREADS": "1"}


def _contents(folder: Path, patterns: Sequence[str]) -> dict[str, bytes]:
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}


def _journaled(out: Path) -> dict[str, dict[str, Any]]:
    """Return the records of each journal, without failures."""
    return {
        str(path.relative_to(out)): {
            key: record
            for key, record in read_journal(path).items()
            if record.get("failure") is None and (path.name != "stored.jsonl" or "conversation" in record)
        }
        for path in out.rglob("*.jsonl")
        if path.name in (*PAID, "retrieved.jsonl")
    }


def _n_paid(journals: dict[str, dict[str, Any]]) -> int:
    """Return how many endpoint answers are journaled: records with token usage, without counting verdicts twice."""
    return sum(
        "usage" in record
        for name, records in journals.items()
        if Path(name).name != "judgements.jsonl"
        for record in records.values()
    )


def _name(body: Body) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
