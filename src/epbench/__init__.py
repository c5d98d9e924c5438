"""Measure the episodic memory of language models and of the memory systems around them.

What stands in `__all__` is for users of the library; it is imported when it is first used, so that `import epbench` stays
light. The benchmarks are `epbench.tulving`, `epbench.booksort` and `epbench.memfail`; their docstrings say in which order
to read them. Everything beside them is shared.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput as BadInput
from epbench.errors import EpbenchError as EpbenchError
from epbench.errors import RunFailed as RunFailed

if TYPE_CHECKING:
    from epbench.booksort.dataset.load import load_pairs as load_pairs
    from epbench.judges.protocol import Judge as Judge
    from epbench.memfail.dataset.load import load_memfail as load_memfail
    from epbench.memories.load import load_memory as load_memory
    from epbench.memories.protocol import MemorySystem as MemorySystem
    from epbench.metric_folders import metric_path as metric_path
    from epbench.models.load import load_model as load_model
    from epbench.models.protocol import Model as Model
    from epbench.runs.benchmark import score as score
    from epbench.runs.results import Scored as Scored
    from epbench.tulving.answers import ScoredQuestion as ScoredQuestion
    from epbench.tulving.answers import score_answer as score_answer
    from epbench.tulving.dataset.load import load_book as load_book
    from epbench.tulving.judging.load import load_judge as load_judge

__version__ = "0.1.0"

_HOMES = {
    "Judge": "epbench.judges.protocol",
    "MemorySystem": "epbench.memories.protocol",
    "Model": "epbench.models.protocol",
    "Scored": "epbench.runs.results",
    "ScoredQuestion": "epbench.tulving.answers",
    "load_book": "epbench.tulving.dataset.load",
    "load_judge": "epbench.tulving.judging.load",
    "load_memfail": "epbench.memfail.dataset.load",
    "load_memory": "epbench.memories.load",
    "load_model": "epbench.models.load",
    "load_pairs": "epbench.booksort.dataset.load",
    "metric_path": "epbench.metric_folders",
    "score": "epbench.runs.benchmark",
    "score_answer": "epbench.tulving.answers",
}
__all__ = sorted([*_HOMES, "BadInput", "EpbenchError", "RunFailed", "__version__"])


def __getattr__(name: str) -> Any:
    """Import what is exported, or a benchmark, when it is first asked for."""
    if name in ("tulving", "booksort", "memfail"):
        return import_module(f"epbench.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'epbench' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
