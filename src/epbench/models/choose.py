"""From the name on the command line to a model."""

from __future__ import annotations

from epbench.errors import BadInput
from epbench.models.lexical import LexicalReader
from epbench.models.protocol import Model


def choose_model(name: str) -> Model:
    """The reader of that name.

    Raises:
        BadInput: there is none.
    """
    if name == "lexical":
        return LexicalReader()
    raise BadInput(f"unknown model {name!r}; this version has: lexical (rule-based, offline)")
