"""Runs of memory systems on template rows, without a script."""

from __future__ import annotations

from pathlib import Path

from epbench.memfail.context.requests import ConfigRun, LexicalReader, Setting, gold_of, load_prompts
from epbench.memfail.evaluate import RunOutput, store_and_answer
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memories.load import load_memory
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from tests.memfail.memfail_samples import template


def output_of(folder: Path, config: str, system: str, *, n: int = 100, ks: tuple[int, ...] = (5,)) -> RunOutput:
    """Return what a system stored and retrieved, and what the reader made of it."""
    (facts, questions), setting = template(config, n), Setting(ks=ks)
    spec = load_memory(system, gold_of(questions, setting))
    with open_run(folder, {"benchmark": "memfail", "config": config, "system": spec.name}, {"label": "made"}):
        run = ConfigRun(facts, questions, spec, LexicalReader(), load_prompts(), setting)
        return store_and_answer(folder, run, no_progress)


def outcomes_of(folder: Path, config: str, system: str, *, n: int = 100, ks: tuple[int, ...] = (5,)) -> list[Outcome]:
    """Return the outcomes of such a run by the built-in judge."""
    output = output_of(folder, config, system, n=n, ks=ks)
    return diagnose(folder, output.records, output.stores, LexicalJudge(), no_progress)
