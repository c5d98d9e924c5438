"""The sentences that every universe shares: how facts are told, in two tones, and what each style adds.

`data/tales/facts_<tone>.json` (tone `gathering` or `emergency`) and `data/tales/style_<style>.json` hold lists of sentences
with choices (see `patterns`), by what they tell. A sentence that begins with `in: ` or `out: ` is only told indoors or
outdoors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.tulving.scenes.scene_files import SCENE_SLOTS, Told, read_sentence

TALES = packaged("epbench.tulving", "tales")

FACTS: Mapping[str, str | None] = {
    "time": "when", "space": "where", "name": "name", "detail": "deed", "event": "event", "side": "other", "talk": "other",
}  # fmt: skip
"""What a sentence of `facts_<tone>.json` may tell, and the slot that it must have for it."""
STYLE_PARTS = ("hero", "thought", "air", "closing")
FACT_SLOTS = SCENE_SLOTS | {"when", "where", "name", "deed", "event", "other"}
FEWEST = {"hero": 16, "thought": 10, "air": 12, "closing": 8}
FEWEST_FACTS = 24
FEWEST_STYLE_TEXTS = 12
FEWEST_TEXTS = 6
"""A sentence on a fact needs fewer choices than others, since each chapter has the words of its own facts."""


@cache
def facts_bank(tone: str) -> Mapping[str, Sequence[Told]]:
    """Return the sentences that tell the facts in a tone, by what they tell."""
    path = TALES / f"facts_{tone}.json"
    listed = read_typed(path, dict[str, list[str]])
    bank = {}
    for what, slot in FACTS.items():
        sentences = [read_sentence(f"{path}, {what}", text, FACT_SLOTS, FEWEST_TEXTS) for text in listed.get(what, [])]
        for told in sentences:
            if slot not in told.sentence.slots or (what in ("side", "detail") and "deed" not in told.sentence.slots):
                raise BadInput(f"{path}, {what}: expected the slot {{{slot}}} in {told.sentence.text!r}")
        bank[what] = _enough(f"{path}, {what}", sentences, FEWEST_FACTS)
    return bank


@cache
def style_bank(style: str) -> Mapping[str, Sequence[Told]]:
    """Return the sentences of a style: `hero`, `thought`, `air` and `closing`."""
    path = TALES / f"style_{style}.json"
    listed = read_typed(path, dict[str, list[str]])
    return {
        part: _enough(
            f"{path}, {part}",
            [read_sentence(f"{path}, {part}", text, fewest_texts=FEWEST_STYLE_TEXTS) for text in listed.get(part, [])],
            FEWEST[part],
        )
        for part in STYLE_PARTS
    }


def tale_styles() -> list[str]:
    """Return the styles for which there are sentences."""
    return sorted(path.stem.removeprefix("style_") for path in TALES.glob("style_*.json"))


def _enough(where: str, sentences: list[Told], fewest: int) -> list[Told]:
    if len({told.sentence.text for told in sentences}) < fewest:
        raise BadInput(f"{where}: expected at least {fewest} different sentences, found {len(sentences)}")
    return sentences
