"""What a profile is made of: the runs of a preset, and how many questions of each a budget buys.

Presets are data, and two profiles compare only with the same preset and version.

With a budget, a part is first asked a few questions, as many as its share allows. From what they cost, and from how wide the
intervals of its dimensions are, follows how many the rest of the budget buys of each: as many as make the sum of the squared
standard errors of all dimensions least (Neyman's allocation with costs; Cochran, Sampling Techniques, Section 5.5).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.typed import Whole, typed
from epbench.journals.journal import read_journal
from epbench.models.estimate import Price, Prices

if TYPE_CHECKING:
    from epbench.statistics.estimate import Estimate


class Part(Struct, frozen=True):
    """A run of a profile."""

    name: str  # of the run's folder; a dimension says by it where it is measured
    benchmark: Literal["tulving", "booksort", "memfail"]  # which benchmark
    build: list[str]  # the arguments of its builder
    dataset: str  # the folder that the builder makes
    ask: list[str]  # the arguments of its evaluation, besides dataset, memory, model and limit
    limit: Whole | None = None  # the number of questions, of each config where there are several; None for all


class Preset(Struct, frozen=True):
    """Runs that make a profile; another `version` of one name is another preset."""

    version: Whole
    about: str
    part: list[Part]


def preset_names() -> list[str]:
    """The presets of the package."""
    return sorted(path.stem for path in packaged("epbench.profile").glob("*.toml"))


def read_preset(name: str) -> Preset:
    """Read one of `preset_names`, or a TOML file of the same form; BadInput if it is no preset."""
    path = Path(name) if name.endswith(".toml") else packaged("epbench.profile", f"{name}.toml")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise BadInput(f"preset {name!r}: expected {', '.join(preset_names())} or a TOML file") from None
    except ValueError as error:
        raise BadInput(f"{path}: expected TOML ({error})") from None
    preset = typed(str(path), content, Preset)
    if len({part.name for part in preset.part}) < len(preset.part) or not preset.part:
        raise BadInput(f"{path}: expected parts with different names")
    return preset


PILOT = 12
"""How many questions a part is asked first, and of each config, if they are cheap."""
FEW = 4
"""How many it is asked at least: fewer would say little of what one more costs, beside loading the model."""
RESERVE = 0.9
"""Which share of what is left is given out at once, as the next questions may cost more than those before."""
WORTH = 1.25
"""How many times as many questions are worth another start, which loads the model and reads the book again."""
MOST = 1_000_000
FREE = 1e-9

_BUDGET = re.compile(r"(?P<n>\d+\.?\d*|\.\d+)(?:(?P<time>[mh])|(?P<tokens>[kM])(?:-tokens)?|(?P<cost>usd|eur))")
_UNITS = {"m": 60.0, "h": 3600.0, "k": 1e3, "M": 1e6}


@dataclass(frozen=True)
class Budget:
    """An amount that a profile may cost."""

    kind: Literal["time", "tokens", "cost"]  # time in seconds, tokens, or cost in the currency of the prices
    total: float  # how much of it
    prices: Prices | None = None  # what models cost; a time or tokens need none


def read_budget(text: str, prices: Prices | None) -> Budget:
    """Read a budget such as `90m`, `2h`, `500k`, `2M-tokens` or `5usd`, which has to be in the currency of the prices."""
    match = _BUDGET.fullmatch(text)
    if match is None:
        raise BadInput(
            f"budget: expected a time such as 90m, tokens such as 500k, or a price such as 5usd, got {text!r}"
        )
    if match["cost"] and prices is None:
        raise BadInput("budget: expected a file of prices beside a price")
    if match["cost"] and prices and prices.currency.lower() != match["cost"]:
        raise BadInput(f"budget {text}: the prices are in {prices.currency}")
    kind: Literal["time", "tokens", "cost"] = "time" if match["time"] else "tokens" if match["tokens"] else "cost"
    return Budget(kind, float(match["n"]) * _UNITS.get(match["time"] or match["tokens"] or "", 1.0), prices)


def spent_in(folder: Path, reader: str, judge: str, prices: Prices | None) -> tuple[int, float]:
    """The tokens and the cost that reader and judge have taken in all runs below a folder, by their journals."""
    tokens, cost = 0, 0.0
    for name, model in (("answers.jsonl", reader), ("judgements.jsonl", judge)):
        price = (prices.of(model) if prices else None) or Price(0.0)
        for path in sorted(folder.rglob(name)):
            for record in read_journal(path).values():
                usage = record.get("usage") or {}
                sent, received = usage.get("prompt") or 0, usage.get("completion") or 0
                tokens += sent + received
                cost += price.cost_of(sent, received)
    return tokens, cost


def pilot(left: float, n_parts: int, dearest: float) -> int:
    """How many questions to ask first of the next of so many parts, with what is left of the budget.

    Those behind it are to get some, too: a question has cost `dearest` in the dearest part so far, 0 if none was asked.
    """
    return min(PILOT, max(FEW, int(left / n_parts / dearest))) if dearest > FREE else FEW


@dataclass(frozen=True)
class Asked:
    """What is known of a part after some of its questions."""

    limit: int  # how many questions were asked, of each config where there are several
    most: int  # how many there are
    cost: float  # what one more costs, in the unit of the budget
    variance: float  # the squared standard errors of the part's dimensions, added up, times `limit`


def variance_of(estimates: Iterable[Estimate], limit: int) -> float:
    """The field `variance` of `Asked`. A dimension counts as if two more questions had come out in two ways, so that one
    whose few questions came out equal is not taken for known.
    """
    known = [(one.sd or 0.0, one.n) for one in estimates if one.n]
    return limit * sum((sd**2 * n + 0.5) / (n + 2) / n for sd, n in known)


def allocate(parts: Mapping[str, Asked], left: float) -> dict[str, int]:
    """How many questions to ask of each part in all, with what is left of the budget."""

    def given(scale: float) -> dict[str, int]:
        wanted = {
            name: part.most if part.cost < FREE else int(min(scale * (part.variance / part.cost) ** 0.5, MOST))
            for name, part in parts.items()
        }
        return {name: min(max(wanted[name], part.limit), part.most) for name, part in parts.items()}

    def cost(limits: Mapping[str, int]) -> float:
        # A start reads the book again, which was divided among at least so many questions.
        more = {name: limits[name] - part.limit for name, part in parts.items()}
        return sum(max(n, FEW) * parts[name].cost for name, n in more.items() if n)

    low, high = 0.0, 1.0
    while cost(given(high)) < RESERVE * left and high < MOST**2:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(given(middle)) <= RESERVE * left else (low, middle)
    return {
        name: n if n == parts[name].most or n >= WORTH * parts[name].limit else parts[name].limit
        for name, n in given(low).items()
    }
