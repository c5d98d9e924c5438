"""Fine-tuning by OpenAI's API, as the paper did: the file of examples, the settings of a job, and the name of its model.

Nothing is sent from here, and no key is read: whoever has one uploads the file and starts the job.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.text import shown
from epbench.files.typed import fields
from epbench.files.writing import write_text
from epbench.models.openai.wire import chat_body
from epbench.models.protocol import Request

MULTIPLIER = 1.8
"""Of a learning rate that OpenAI does not tell (Section 5.1; the epochs and the batch are those of every training)."""
LEAST = 10
"""The fewest examples that the API takes."""
EXAMPLES, SETTINGS = "examples.jsonl", "settings.json"

_JOB = fields({"status": str, "fine_tuned_model": str | None})


def write_job(
    folder: Path, model: str, examples: Sequence[tuple[Request, str]], *, epochs: int, batch_size: int, seed: int
) -> None:
    """Write the examples, one chat a line in an order of its own, and the settings: the job's fields but `training_file`.

    Args:
        examples: Each question as the model is asked after training, and the answer that is learned; at least `LEAST`.
        epochs: How often each is seen.
        batch_size: How many are in a step.
        seed: Of their order, and of the job.
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

    Args:
        job: A JSON file with a job that succeeded, as the API returns it, or the name of the model, which begins with `ft:`.
    """
    name = job.removeprefix("openai:")
    if not name.startswith("ft:"):
        content = read_json(Path(job), _JOB)
        name = content["fine_tuned_model"] or ""
        if content["status"] != "succeeded" or not name.startswith("ft:"):
            raise BadInput(f"{job}: expected a job that succeeded, found status {shown(content['status'])}")
    return f"openai:{name}"
