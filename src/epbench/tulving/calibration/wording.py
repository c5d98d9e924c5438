"""How calibration answers are worded: bare, in a sentence, or as a list, alone or with words around it.

The texts are in `data/made_answers.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from epbench.draws import RandomStream
from epbench.files.packaged import packaged
from epbench.tulving.calibration.questions import CalibrationQuestion

_MARKS: tuple[Callable[[int, str], str], ...] = (
    lambda i, item: f"- {item}",
    lambda i, item: f"* {item}",
    lambda i, item: f"{i}. {item}",
    lambda i, item: f"{i}) {item}",
    lambda i, item: f"{i}. **{item}**",
    lambda i, item: f"- {item} (Chapter {7 * i - 3})",
)


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(packaged("epbench.tulving", "made_answers.toml").read_text("utf-8"))


def paraphrases() -> dict[str, str]:
    """Other words for spaces and contents, by their names."""
    listed = _wording()["paraphrases"]
    return {**listed["spaces"], **listed["contents"]}


def phrased(draws: RandomStream, section: str, asked: CalibrationQuestion, **fill: str) -> str:
    """One of the texts of a section, filled in for this question."""
    return _filled(draws.pick(_wording()[section]["texts"]), asked, **fill)


def worded(draws: RandomStream, asked: CalibrationQuestion, items: Sequence[str]) -> str:
    """An answer that names the items in this order and claims no others."""
    wording = _wording()
    form = draws.index(4)
    if form == 0:
        return _filled(draws.pick(wording["wording"]["plain"]), asked, items=_joined(items))
    if form == 1:
        return _filled(draws.pick(wording["sentences"][asked.trace]), asked, items=_joined(items))
    mark = draws.pick(_MARKS)
    lines = [mark(number, item) for number, item in enumerate(items, 1)]
    if form == 3:
        preamble, closing = draws.pick(wording["wording"]["preambles"]), draws.pick(wording["wording"]["closings"])
        lines = [_filled(preamble, asked), "", *lines, "", _filled(closing, asked)]
    return "\n".join(lines)


def _filled(text: str, asked: CalibrationQuestion, **fill: str) -> str:
    thing, things = _wording()["sorts"][asked.trace]
    return text.format(cue=asked.cue, thing=thing, things=things, **fill)


def _joined(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else items[0]
