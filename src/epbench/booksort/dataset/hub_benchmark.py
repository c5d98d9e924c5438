"""The file with which the Hub and inspect_ai run Book-SORT as a benchmark: `inspect eval hf/epbench/booksort/e250_s20`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epbench.hub.dataset_folder import Config

FILE = "eval.yaml"

_NAMED = "{question}\n\n{choices}"  # inspect_ai fills these in
_PROMPT = f"""The following excerpt is from a book. Below it are two segments of the excerpt, A and B.

{_NAMED}

Which of the two segments comes first in the excerpt? Your reply must be one line of this form, without the quotation \
marks, where $LETTER is one of {{letters}}: "ANSWER: $LETTER"
"""


def benchmark_yaml(configs: Sequence[Config]) -> str:
    """Return the text of eval.yaml, with one task for each config of pairs, named as the config.

    The Hub validates the file when it is pushed. A task shows the excerpt and the two segments as the row orders them, so
    that A is right exactly as often as B.

    Args:
        configs: The configs of the dataset; those without pairs, such as `books`, are no tasks.
    """
    import yaml  # type: ignore[import-untyped]

    names = dict.fromkeys(config.name for config in configs if "choices" in config.features)
    content: dict[str, Any] = {
        "name": "Book-SORT",
        "description": "Which of two segments of a book came first, with the excerpt in context.",
        "evaluation_framework": "inspect-ai",
        "tasks": [_task(name) for name in names],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120))


def _task(config: str) -> dict[str, Any]:
    return {
        "id": config,
        "config": config,
        "split": "test",
        "field_spec": {"input": "excerpt_text", "target": "answer", "choices": "choices"},
        "solvers": [{"name": "multiple_choice", "args": {"template": _PROMPT}}],
        "scorers": [{"name": "choice"}],
    }
