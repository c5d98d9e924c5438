"""From the name of a reader to the reader: the oracle, or a language model."""

from __future__ import annotations

from epbench.booksort.context.oracle import Oracle
from epbench.booksort.context.prompts import Pack
from epbench.errors import BadInput
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model


def load_reader(name: str, pack: Pack, options: Options | None = None) -> Model:
    """Find the reader of this name. The weights of a model are not loaded yet.

    Args:
        name: `oracle`, or a model; see `load_model`.
        pack: the prompts by which the oracle is asked.
        options: how a model is run or reached.

    Raises:
        BadInput: the name is unknown, or something that the model needs is not installed.
    """
    if name == Oracle.name:
        refuse_variant(name, options)
        return Oracle(pack)
    if name == "lexical":
        raise BadInput(
            "model 'lexical': it answers questions about events and knows nothing of order; the offline baseline is "
            "oracle"
        )
    return load_model(name, options, also=["oracle (offline)"])
