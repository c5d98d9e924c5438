"""What the tasks in this folder call: their questions, prompts and scores. The harness loads this file by its path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lm_eval.api.task import ConfigurableTask  # type: ignore[import-untyped]

from epbench.errors import BadInput
from epbench.interop import questions
from epbench.models.estimate import check_window
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request

if TYPE_CHECKING:
    from datasets import Dataset


log = logging.getLogger(__name__)

_UNCHECKED = "it was not checked that the prompts fit the model's window, and the harness cuts those that do not: %s"


class _Windowed(TransformersModel):
    """A tokenizer with the window that the harness has for the model."""

    def __init__(self, tokenizer: str, weights: str | None, known: int | None) -> None:
        super().__init__(tokenizer)
        self._weights = weights or tokenizer
        self._known = known

    def window(self) -> int | None:
        """The window that the user has set, or the one that the harness finds: 2048 tokens if the config names none."""
        if self._known:
            return self._known
        from lm_eval.models.utils import resolve_max_length  # type: ignore[import-untyped]
        from transformers import AutoConfig

        length: int = resolve_max_length(AutoConfig.from_pretrained(self._weights), self.prompts.tokenizer)
        return length


def check_prompts_fit(
    requests: Sequence[Request], model_args: Mapping[str, Any], others: Mapping[str, Callable[[], Iterable[Request]]]
) -> None:
    """Count the tokens of the longest prompts with the model's tokenizer, before its weights are loaded.

    Where the harness's arguments of the model do not say enough, a warning is logged. Nothing is checked for a model
    without such arguments, which is a class of the user's own or a dummy. BadInput if a prompt and its answer do not
    fit; the message has the needed and the available tokens, and those of the `others` that fit.
    """
    weights, max_length = model_args.get("pretrained"), model_args.get("max_length") or model_args.get("max_model_len")
    tokenizer = model_args.get("tokenizer") or weights or model_args.get("model")
    if not isinstance(tokenizer, str):
        return
    if not weights and not max_length:
        log.warning(_UNCHECKED, "max_length is not among the arguments of the model")
        return
    try:
        model = _Windowed(tokenizer, weights, int(max_length) if max_length else None)
        model.prompts  # noqa: B018  the tokenizer is loaded now
    except BadInput as error:  # such as a tokenizer that needs code of its own, which only the harness may run
        log.warning(_UNCHECKED, error)
        return
    check_window(requests, model, others)


class Asked(ConfigurableTask):  # type: ignore[misc]
    """A task whose prompts are those of our own evaluation, with and without a chat template.

    The harness would join a system message and a question without a line between them where there is no chat template.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={key: value for key, value in config.items() if key != "class"})

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int = 0,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = False,
        chat_template: Callable[..., str] | None = None,
        gen_prefix: str | None = None,
    ) -> str:
        """Write the prompt. A system instruction of the user stands before ours; there are no examples."""
        request = request_of(doc)
        system = "\n\n".join(filter(None, (system_instruction, request.system)))
        if not apply_chat_template or chat_template is None:
            # As `epbench.models.hf.prompt_tokens` writes it for a model without a chat template.
            return "\n\n".join(filter(None, (system, request.user))) + f"\n{request.answer_start or 'Answer:'}"
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": request.user})
        if request.answer_start:
            messages.append({"role": "assistant", "content": request.answer_start})
        return chat_template(messages, add_generation_prompt=not request.answer_start)


def request_of(doc: Mapping[str, Any]) -> Request:
    """Return what our own evaluation asks about a question; the text of the book is kept once for all of them."""
    if "config" in doc:
        return questions.pair_requests(doc["dataset"], doc["config"], doc["memory"])[doc["id"]]
    return questions.book_requests(doc["dataset"], doc["memory"])[doc["id"]]


def prompt_of(doc: Mapping[str, Any]) -> str:
    """Return the user's message."""
    return request_of(doc).user


# Tulving books


def book_questions(*, datasets: str, book: str, memory: str, judge: str, **model_args: Any) -> dict[str, Dataset]:
    """Load the questions about a book of a namespace on the Hub, or of a folder that has the folders of datasets.

    BadInput if there is no such dataset or judge, or a prompt does not fit the model's window.
    """
    from datasets import Dataset

    name = f"{datasets}/{book}"
    questions.judge_of(judge)
    asked = questions.book_requests(name, memory)
    others = {} if memory == "none" else {"none": lambda: questions.book_requests(name, "none").values()}
    check_prompts_fit(list(asked.values()), model_args, others)
    about = {"dataset": name, "memory": memory, "judge": judge}
    return {"test": Dataset.from_list([row | about for row in questions.book(name).rows])}


def reference_of(doc: Mapping[str, Any]) -> str:
    """Return the true items, for the log of samples."""
    return "; ".join(doc["answer"])


def score_answer(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Score one answer; each score of a run is computed from the same `Mark` of every answer."""
    mark = questions.mark(dict(doc), results[0], doc["judge"])
    return {"f1": mark.f1, "missing": float(mark.missing)} | dict.fromkeys(questions.SCORES, mark)


def _score(name: str, marks: Sequence[Sequence[Any]]) -> float:
    return questions.scores([questions.Mark(*mark) for mark in marks])[name]


(
    simple_recall, f1_bin_0, f1_bin_1, f1_bin_2, f1_bin_3_5, f1_bin_6, latest, all_matched, kendall_tau,
    chronological_awareness,
) = (partial(_score, name) for name in questions.SCORES)  # fmt: skip


# Book-SORT


def pair_questions(*, datasets: str, config: str, memory: str, **model_args: Any) -> dict[str, Dataset]:
    """Load the pairs of a config of Book-SORT; see `book_questions`."""
    from datasets import Dataset

    name = f"{datasets}/booksort"
    requests = questions.pair_requests(name, config, memory)
    check_prompts_fit(list(requests.values()), model_args, {})
    columns, about = ("id", "book_idx", "excerpt_idx", "distance", "distance_bin", "answer"), {"dataset": name}
    about |= {"config": config, "memory": memory}
    rows = [
        {column: getattr(pair, column) for column in columns} | about | {"answer_start": requests[pair.id].answer_start}
        for pair in questions.pairs(name, config).values()
    ]
    return {"test": Dataset.from_list(rows)}


def score_pair(doc: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Score one pair; `answers_a` and `label_mass` tell an answer from a habit."""
    values, greedy = zip(*results, strict=True)
    answer, failed = questions.answer_of(values, greedy), questions.is_failed(values)
    mass = 0.0 if failed else questions.label_mass(values)
    right, a = answer == doc["answer"], answer == "A"
    return {"acc": float(right), "answers_a": float(a), "label_mass": mass, "failed": float(failed)}
