"""Measure the episodic memory of language models and of the memory systems around them."""

from epbench.errors import BadInput, EpbenchError, RunFailed
from epbench.metric_folders import metric_path

__version__ = "0.1.0"

__all__ = ["BadInput", "EpbenchError", "RunFailed", "__version__", "metric_path"]
