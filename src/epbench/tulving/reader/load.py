"""From the name of a reader to the reader: the rule-based one, or a language model."""

from __future__ import annotations

from epbench.models import load
from epbench.models.protocol import Model
from epbench.tulving.reader.lexical import LexicalReader


def load_reader(name: str, options: load.Options | None = None) -> Model:
    """Find the reader of this name, `lexical` or a model; see `epbench.models.load.load_reader`."""
    return load.load_reader(name, LexicalReader(), options)
