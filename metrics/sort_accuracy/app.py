"""The Space's page: try the metric in a browser."""

import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load("epbench/sort_accuracy"))
