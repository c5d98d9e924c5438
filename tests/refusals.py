"""What a call is refused with."""

from collections.abc import Callable
from typing import Any

import pytest

from epbench.errors import BadInput


def refusal(call: Callable[..., Any], *args: Any, **more: Any) -> str:
    """The one line of the `BadInput` with which a call is refused."""
    with pytest.raises(BadInput) as error:
        call(*args, **more)
    assert "\n" not in str(error.value)
    return str(error.value)
