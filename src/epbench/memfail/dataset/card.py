"""The dataset card of MemFail, with the findings of the validation report: the values of `data/card.md.jinja`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.files.packaged import packaged
from epbench.files.text import parse_toml
from epbench.hub.card import filled_card
from epbench.hub.croissant import Card
from epbench.hub.dataset_folder import Config
from epbench.memfail.dataset.findings import Report
from epbench.memfail.dataset.shortcuts import PUBLISHED, RULES

_MOST = 8  # items of a list that a cell of a table shows


def made_card(command: str, configs: Sequence[Config], report: Report, harder: bool = False) -> Card:
    """Return the card of rows from templates that a command makes; `report` is that of `validate`."""
    return _card(command, configs, report, harder=harder)


def generated_card(command: str, configs: Sequence[Config], report: Report, generation: Mapping[str, Any]) -> Card:
    """Return the card of rows that a language model wrote; `generation` is the content of `generation.json`."""
    return _card(command, configs, report, generation=generation)


def released_card(
    command: str, source: str, digests: Mapping[str, str], configs: Sequence[Config], report: Report
) -> Card:
    """Return the card of converted published rows from a source, in words, with the SHA-256 of the file of each config."""
    return _card(command, configs, report, source=source, digests=digests)


def labels() -> Mapping[str, str]:
    """Return what each finding of the report means, as the card says it, by the name of the finding."""
    return parse_toml(packaged("epbench.memfail", "findings.toml").read_text("utf-8"))


def _card(command: str, configs: Sequence[Config], report: Report, **more: Any) -> Card:
    values = {
        "command": command,
        "report": {config.name: report[config.name] for config in configs},
        "labels": labels(),
        "rules": RULES,
        "published": PUBLISHED,
        "shown": _shown,
    }
    unset = dict.fromkeys(("digests", "generation", "harder", "source"))
    return filled_card("epbench.memfail", configs, unset | values | more)


def _shown(value: Any) -> str:
    """A finding as a cell of a table; long lists are cut and counted."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        value = [f"{name}: {', '.join(n) if isinstance(n, list) else n}" for name, n in value.items()]
    if not isinstance(value, list):
        return str(value)
    more = [f"… ({len(value)} in all)"] if len(value) > _MOST else []
    return ", ".join([*map(str, value[:_MOST]), *more]) or "none"
