"""Tasks of inspect_ai run in this process, with a mock model that answers as a test says."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model

Answer = Callable[[str], str | ModelOutput]
"""From the user's message that a model was shown to what it says."""

USAGE = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)


def output(text: str, stop_reason: Any = "stop") -> ModelOutput:
    """What a model says, with tokens, which would be counted by a tokenizer from the network otherwise."""
    found = ModelOutput.from_content("mockllm/model", text, stop_reason=stop_reason)
    found.usage = USAGE
    return found


def mock(answer: Answer) -> Any:
    def said(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        found = answer(messages[-1].text)
        return output(found) if isinstance(found, str) else found

    return get_model("mockllm/model", custom_outputs=said, memoize=False)


def ran(task: Task, answer: Answer, logs: Path, **options: Any) -> EvalLog:
    """Run a task; the log with its samples."""
    (log,) = eval(task, model=mock(answer), log_dir=str(logs), display="none", **options)
    return log


def metrics_of(log: EvalLog) -> dict[str, float]:
    """All metrics of the only scorer by name."""
    assert log.results is not None
    return {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}


def content_of(log: Path) -> str:
    """Everything that the file of a log holds, unpacked; inspect_ai teaches zipfile its compression."""
    with zipfile.ZipFile(log) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())
