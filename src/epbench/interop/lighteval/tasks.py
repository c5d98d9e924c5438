"""Tulving books and Book-SORT as tasks of lighteval, which loads this file by its path as a file of custom tasks.

The environment variable EPBENCH_DATASETS says where the datasets are: a namespace on the Hub (by default `epbench`), or a
folder that has their folders.

The words are those of our own evaluation. The harness has no place for a system message of a task, so ours stands before
the question in the user's message, as it does for models without system messages. Answers to Book-SORT begin with
"Answer: Segment" on a line of their own.

The harness cuts the beginning off a prompt that exceeds the model's window and does not say so (its `truncated` compares
characters with tokens). With their answers, the short book takes about 13,000 tokens and the long one about 130,000: make
sure that the model's window, or the `max_length` that you give it, is larger.

An empty answer about a book, or one that refuses, is no abstention: it is missing, which is wrong, and `missing` is the share
of such answers. A pair whose log-likelihood is not a number has `failed`; it counts as wrong.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric, SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from epbench.booksort.context.requests import LABELS
from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS
from epbench.interop import questions
from epbench.models.protocol import Request

DATASETS = os.environ.get("EPBENCH_DATASETS", "epbench")


def _query(request: Request) -> str:
    return f"{request.system}\n\n{request.user}" if request.system else request.user


# Tulving books


def _book_question(name: str, memory: str, line: Mapping[str, Any], task_name: str) -> Doc:
    request = questions.book_requests(name, memory)[line["id"]]
    reference = ["; ".join(line["answer"])]
    return Doc(query=_query(request), choices=reference, gold_index=0, specific={"dataset": name, "id": line["id"]})


class Marks(SampleLevelComputation):  # type: ignore[misc]
    """What each answer counts for; see `epbench.interop.questions.Mark`."""

    def compute(self, doc: Doc, model_response: ModelResponse, **others: Any) -> dict[str, Any]:
        """Judge one answer."""
        assert doc.specific
        row = questions.rows(doc.specific["dataset"])[doc.specific["id"]]
        answer = (model_response.text_post_processed or model_response.text)[0]
        return questions.mark(row, answer)._asdict()


def _tulving_scores(marks: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    read = [questions.Mark(**mark) for mark in marks]
    return questions.scores(read) | {
        "f1": float(np.mean([mark.f1 for mark in read])),
        "missing": float(np.mean([mark.missing for mark in read])),
    }


TULVING = CorpusLevelMetric(
    metric_name="tulving",
    higher_is_better=True,
    category=SamplingMethod.GENERATIVE,
    sample_level_fn=Marks(),
    corpus_level_fn=_tulving_scores,
)
"""All scores of a book at once; each has the name that it has in scores.json, or nearly so."""


def _book_task(book: str, memory: str) -> LightevalTaskConfig:
    name = f"{DATASETS}/{book}"
    return LightevalTaskConfig(
        name=f"epbench_tulving_{book}{'_none' if memory == 'none' else ''}",
        prompt_function=partial(_book_question, name, memory),
        hf_repo=name,
        hf_subset="qa",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=[TULVING],
        generation_size=questions.MAX_TOKENS,
        stop_sequence=[],
        version=1,
    )


# Book-SORT


def _pair_question(name: str, config: str, memory: str, line: Mapping[str, Any], task_name: str) -> Doc:
    request = questions.pair_requests(name, config, memory)[line["id"]]
    choices = [f"{request.answer_start} {label}" for label in request.labels]
    answer = questions.pairs(name, config)[line["id"]].answer
    gold, specific = request.labels.index(answer), {"dataset": name, "id": line["id"]}
    return Doc(query=f"{_query(request)}\n", choices=choices, gold_index=gold, specific=specific)


class Order(SampleLevelComputation):  # type: ignore[misc]
    """Whether the answer is right, whether it is A, or whether there is none."""

    def __init__(self, what: str) -> None:
        self.what = what

    def compute(self, doc: Doc, model_response: ModelResponse, **others: Any) -> float:
        """Read the answer from the log-likelihoods of both, which differ in their last token alone."""
        values = model_response.logprobs
        answer, right = questions.answer_of(values), LABELS[doc.gold_index]
        return float(
            {"acc": answer == right, "answers_a": answer == "A", "failed": questions.is_failed(values)}[self.what]
        )


ORDER = [
    SampleLevelMetric(
        metric_name=name,
        higher_is_better=name == "acc",
        category=SamplingMethod.LOGPROBS,
        sample_level_fn=Order(name),
        corpus_level_fn=np.mean,
    )
    for name in ("acc", "answers_a", "failed")
]


def _pair_task(suffix: str, config: str, memory: str = "in-context") -> LightevalTaskConfig:
    name = f"{DATASETS}/booksort"
    return LightevalTaskConfig(
        name=f"epbench_booksort{suffix}",
        prompt_function=partial(_pair_question, name, config, memory),
        hf_repo=name,
        hf_subset=config,
        hf_avail_splits=["test", "validation"],
        evaluation_splits=["test"],
        metrics=ORDER,
        generation_size=1,
        stop_sequence=[],
        version=1,
    )


_CONFIGS = [f"e{excerpt}_s{segment}" for excerpt in EXCERPT_WORDS for segment in SEGMENT_WORDS]

TASKS_TABLE = [
    *(_book_task(book, memory) for book in ("short", "long") for memory in ("in-context", "none")),
    _pair_task("", "e250_s20"),
    _pair_task("_none", "e250_s20", "none"),
    *(_pair_task(f"_{config}", config) for config in _CONFIGS if config != "e250_s20"),
]
