"""From the name of a reader to the reader: the rule-based one, or a language model."""

from __future__ import annotations

from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model
from epbench.tulving.reader.lexical import LexicalReader


def load_reader(name: str, options: Options | None = None) -> Model:
    """Find the reader of this name. The weights of a model are not loaded yet.

    Args:
        name: `lexical`, or a model; see `load_model`.
        options: how a model is run or reached.

    Raises:
        BadInput: the name is unknown, or something that the model needs is not installed.
    """
    if name == LexicalReader.name:
        refuse_variant(name, options)
        return LexicalReader()
    return load_model(name, options, also=["lexical (rule-based, offline)"])
