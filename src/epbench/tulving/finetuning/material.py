"""What a model is trained on: the questions about one chapter each, with their answers (Appendix B.2.5).

They become samples for a training here, or the files of a job for OpenAI's API, as in the paper: nothing is sent from here, and
no key is read. Every checkpoint of one training is asked the same questions, and nothing of the book is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.text import shown
from epbench.files.typed import fields
from epbench.files.writing import write_text
from epbench.finetuning.packing import Sample
from epbench.finetuning.run import check_texts
from epbench.finetuning.tokens import SampleTokens
from epbench.hub.rows import Row, all_checked_rows
from epbench.models.estimate import check_window
from epbench.models.openai.wire import chat_body
from epbench.models.protocol import Model, Request
from epbench.tulving.context.requests import Prompts, Reading
from epbench.tulving.dataset.load import Loaded
from epbench.tulving.judging.verdicts import Judge

CONFIG, SPLIT = "finetune", "train"
MEMORY = "none"
"""What a model that was trained is shown of the book."""

_MESSAGE: Any = fields({"role": str, "content": str})
_ROW = fields({"id": str, "messages": list[_MESSAGE]})


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question that is trained."""

    id: str  # its id; a question of the config `qa` with the same words has the same id
    question: str  # its words
    answer: str  # what the model is to answer


def training_questions(dataset: str) -> list[TrainingQuestion]:
    """Return the questions of the config `finetune` of a dataset on the Hub or in a folder, in its order; else BadInput."""
    questions: dict[str, TrainingQuestion] = {}
    for number, row in enumerate(all_checked_rows(dataset, CONFIG, SPLIT, _ROW)):
        where = f"{dataset}, config {CONFIG!r}, row {number}"
        question = _question(where, row)
        if question.id in questions:
            raise BadInput(f"{where}, field 'id': expected another id in every row, found {shown(question.id)} again")
        questions[question.id] = question
    return list(questions.values())


def _question(where: str, row: Row) -> TrainingQuestion:
    roles = [message["role"] for message in row["messages"]]
    if roles != ["user", "assistant"]:
        raise BadInput(
            f"{where}, field 'messages': expected a message of the user and one of the assistant, found "
            f"{', '.join(map(shown, roles[:9])) or 'none'}"
        )
    for i, message in enumerate(row["messages"]):
        if not message["content"].strip():
            raise BadInput(f"{where}, field 'messages[{i}].content': expected a text, found a blank one")
    return TrainingQuestion(row["id"], *(message["content"] for message in row["messages"]))


def training_requests(questions: Sequence[TrainingQuestion], data: Loaded, reading: Reading) -> list[Request]:
    """Return the prompts in which these questions are asked after training; see `question_samples`."""
    rows = [{"id": question.id, "question": question.question, "n_chapters": 1} for question in questions]
    return reading.requests(data, rows, MEMORY)


def question_samples(
    questions: Sequence[TrainingQuestion], data: Loaded, reading: Reading, tokens: SampleTokens
) -> list[Sample]:
    """Return each question in the prompt in which a reading asks it, and its answer, which alone is learned.

    BadInput if one cannot be written for this model, or is too long; see `SampleTokens.answer`.
    """
    samples, requests = [], training_requests(questions, data, reading)
    for number, (question, request) in enumerate(zip(questions, requests, strict=True)):
        try:
            samples.append(tokens.answer(question.id, request, question.answer))
        except BadInput as error:
            raise BadInput(f"{data.name}, config {CONFIG!r}, row {number}: {error}") from error
    return samples


def held_out_samples(texts: Sequence[str], prompts: Prompts, tokens: SampleTokens) -> list[Sample]:
    """Return texts that are never trained, shown as a book is in context, to measure what a model forgets of their words.

    BadInput if one cannot be written for this model, or is too long; see `SampleTokens.reading`.
    """
    return [
        tokens.reading(f"held out/{number}", "text", prompts.system, prompts.book.format(book=text), text, "text")
        for number, text in enumerate(texts)
    ]


@dataclass(frozen=True, kw_only=True)
class TulvingPlan:
    """The questions and texts that a checkpoint is measured on."""

    data: Loaded  # the dataset
    rows: Sequence[Row]  # the rows of its config `qa` that are asked
    limit: int | None  # the number of questions that the rows were limited to; None if they are all
    reading: Reading  # how the model is asked, without memory and each question once
    # Makes the judge of a run, anew each time, so that its weights are gone when training goes on
    judge: Callable[[], Judge]
    trained: Sequence[TrainingQuestion]  # what the model is trained on
    # Texts whose perplexity is measured, by a name such as `held_out`
    texts: Mapping[str, Sequence[Sample]] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        """One request for each row."""
        return self.reading.requests(self.data, self.rows, MEMORY)

    @property
    def trained_ids(self) -> frozenset[str]:
        """The ids of the rows that are trained word for word.

        A published book has questions in its own words and is trained on ours, so that it may have no such row.
        """
        words = {question.question for question in self.trained}
        return frozenset(row["id"] for row in self.rows if row["question"] in words)

    def check(self, model: Model) -> None:
        """Refuse prompts and texts that exceed the model's window; this needs no weights, and can be asked before training."""
        check_window(self.requests, model, {})
        check_texts(self.texts, model)


MULTIPLIER = 1.8
"""Of a learning rate that OpenAI does not tell (Section 5.1; the epochs and the batch are those of every training)."""
LEAST = 10
"""The fewest examples that the API takes."""
EXAMPLES, SETTINGS = "examples.jsonl", "settings.json"

_JOB = fields({"status": str, "fine_tuned_model": str | None})


def write_job(
    folder: Path, model: str, examples: Sequence[tuple[Request, str]], *, epochs: int, batch_size: int, seed: int
) -> None:
    """Write the examples, one chat a line in an order drawn by seed, and the settings: the job's fields but `training_file`.

    An example is a question as the model is asked after training, with the answer that is learned; there are `LEAST` or more.
    """
    if len(examples) < LEAST:
        raise BadInput(f"OpenAI fine-tunes on at least {LEAST} examples, found {len(examples)}; take a longer book")
    shuffled = RandomStream("order of examples", seed).sample(examples, len(examples))
    chats = [
        {"messages": [*chat_body(request, model)["messages"], {"role": "assistant", "content": answer}]}
        for request, answer in shuffled
    ]
    write_text(folder / EXAMPLES, "".join(f"{json.dumps(chat, ensure_ascii=False)}\n" for chat in chats))
    of_paper = {"n_epochs": epochs, "batch_size": batch_size, "learning_rate_multiplier": MULTIPLIER}
    method = {"type": "supervised", "supervised": {"hyperparameters": of_paper}}
    write_json(folder / SETTINGS, {"model": model, "seed": seed, "method": method})


def tuned_model(job: str) -> str:
    """Return the name by which scripts ask a fine-tuned model, such as `openai:ft:gpt-4o-mini-2024-07-18:me::a1b2`.

    The job is a JSON file of one that succeeded, as the API returns it, or the name of the model, which begins with `ft:`.
    """
    name = job.removeprefix("openai:")
    if not name.startswith("ft:"):
        content = read_json(Path(job), _JOB)
        name = content["fine_tuned_model"] or ""
        if content["status"] != "succeeded" or not name.startswith("ft:"):
            raise BadInput(f"{job}: expected a job that succeeded, found status {shown(content['status'])}")
    return f"openai:{name}"
