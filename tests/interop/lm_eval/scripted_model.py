"""A model of lm-eval that says what a test tells it to, and the call that runs tasks with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import epbench

FOLDER = Path(epbench.__file__).parent / "interop" / "lm_eval"


class Scripted(LM):
    """Answers by the id of the question, and probabilities of A and B by the id of the pair."""

    tokenizer_name = "scripted"

    def __init__(self, answers: Mapping[str, Any] = {}, tokenizer: Any = None) -> None:
        super().__init__()
        self.answers, self.tokenizer = answers, tokenizer

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [self.answers.get(request.doc["id"], "?") for request in requests]

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        found = []
        for request in requests:
            a, b = self.answers.get(request.doc["id"], (0.5, 0.25))
            p = {" A": a, " B": b}[request.args[1]]
            found.append((math.log(p) if p > 0 else math.nan if p < 0 else -math.inf, p > 0.5))
        return found

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        raise NotImplementedError("no task of ours asks for the likelihood of a whole text")

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return self.tokenizer.apply_chat_template(
            chat_history,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=not add_generation_prompt,
        )


def manager(datasets: Path, **metadata: Any) -> TaskManager:
    """Our tasks, with the datasets of this folder."""
    return TaskManager(
        include_path=str(FOLDER), include_defaults=False, metadata={"datasets": str(datasets)} | metadata
    )


def run(model: Any, tasks: list[str], datasets: Path, metadata: Mapping[str, Any] = {}, **more: Any) -> Any:
    """Run tasks as the command line does."""
    return lm_eval.simple_evaluate(
        model=model, tasks=tasks, task_manager=manager(datasets, **metadata), bootstrap_iters=100, **more
    )
