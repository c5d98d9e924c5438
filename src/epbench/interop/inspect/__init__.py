"""The benchmarks as tasks of inspect_ai, which finds them by the entry point of the package.

`tulving_task`, `booksort_task` and `memfail_task` have a task each, with its scorer; `contexts` keeps a long text in the log
only once, tells a lost answer from a wrong one, and says in one line what a task cannot use. This room is loaded by
inspect_ai, and by what writes its logs.
"""

from epbench.interop.inspect.booksort_task import booksort
from epbench.interop.inspect.memfail_task import memfail
from epbench.interop.inspect.tulving_task import tulving

__all__ = ["booksort", "memfail", "tulving"]
