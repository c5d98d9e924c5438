"""The page of a training, around what only one benchmark shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epbench.finetuning.measuring.tables import training_table
from epbench.reports.page import how_it_was_run, page, pairs, warning_paragraphs


def training_page(title: str, run: Mapping[str, Any], scores: Mapping[str, Any], shown: str) -> str:
    """Return the page of a training.

    Args:
        title: The name of the run, as text.
        run: The content of run.json.
        scores: The content of scores.json: its warnings and its training.
        shown: What was measured, as HTML.
    """
    return page(
        f"Fine-tuning as memory: {title}",
        f"""{warning_paragraphs(scores["warnings"])}
{shown}
<h2>Training</h2>
{training_table(scores["method"], scores["training"]).html()}
{pairs({name: str(value) for name, value in run["identity"].items()})}
{how_it_was_run(run)}""",
    )
