"""Bad input as one line of `inspect eval`, which shows the whole stack of any other error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError  # what its command shows as one line
from rich.markup import escape

from epbench.errors import BadInput

P = ParamSpec("P")


def refusing(make: Callable[P, Task]) -> Callable[P, Task]:
    """Have a function that makes a task raise what inspect_ai shows as one line where it raises `BadInput`."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Task:
        try:
            return make(*args, **kwargs)
        except BadInput as error:
            raise PrerequisiteError(escape(str(error))) from error

    return made
