"""The page of the Space: one box for each input of the metric, in JSON, and what the metric computes of them."""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

METRIC = evaluate.load(str(Path(__file__).with_name("episodic_f1.py")))
EXAMPLE: dict[str, Any] = {
    "predictions": [[], ["x"]],
    "references": [[], []],
    "matching_scores": None,
    "bins": ["0", "0"],
}  # None: an optional input, left out


def compute(*texts: str) -> Any:
    """Return what the metric computes; a box that is empty leaves its input out."""
    try:
        inputs = {name: json.loads(text) for name, text in zip(EXAMPLE, texts, strict=True) if text.strip()}
        return METRIC.compute(**inputs)
    except ValueError as error:  # of a value that the metric refuses, or of a text that is not JSON
        raise gr.Error(str(error)) from None


page = gr.Interface(
    compute,
    [
        gr.Code("" if value is None else json.dumps(value), language="json", label=name)
        for name, value in EXAMPLE.items()
    ],
    gr.JSON(label="result"),
    title="episodic_f1",
    description=METRIC.description,
    article="```" + METRIC.inputs_description + "```",
    api_name="compute",
    flagging_mode="never",
)

if __name__ == "__main__":
    page.launch()
