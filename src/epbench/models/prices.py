"""What models cost, by a file of prices, which is TOML or JSON, for example:

    currency = "USD"

    [models."gpt-5-mini"]           # per million tokens
    input = 0.25
    output = 2.0

    [models."text-embedding-3-small"]
    input = 0.02

The name of a model may be that of its provider alone (`gpt-5-mini` for `openai:gpt-5-mini`). A model without a price has no
cost, which is not the same as a cost of zero. Prompt tokens that an endpoint took from its cache cost the full price.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from epbench.errors import BadInput
from epbench.files.text import parse_json, parse_toml
from epbench.files.typed import typed

_Cost = Annotated[float, Meta(ge=0.0, le=2.0**62)]


class Price(Struct, frozen=True):
    """The price of a million tokens, of prompts and of answers, and what share of it a batch API takes."""

    input: _Cost
    output: _Cost = 0.0
    batch: _Cost = 0.5

    def cost_of(self, sent: float, received: float) -> float:
        """What so many tokens of input and of output cost."""
        return (sent * self.input + received * self.output) / 1_000_000


class Prices(Struct, frozen=True):
    """The content of a file of prices."""

    currency: str
    models: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model; None if the file does not have it."""
        name = model.partition("?")[0]  # without the controls of how it generates
        return self.models.get(name) or self.models.get(name.partition(":")[2])


def read_prices(path: Path) -> Prices:
    """Read a file of prices.

    Raises:
        BadInput: There is no such file, or it is not like the example above.
    """
    try:
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except OSError as error:
        raise BadInput(f"{path}: expected a file of prices ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: expected prices in {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    return typed(str(path), content, Prices)
