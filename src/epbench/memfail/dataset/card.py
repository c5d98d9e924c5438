"""The dataset card of MemFail, with the findings of the validation report: the values of `data/card.md.jinja`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.files.packaged import packaged
from epbench.files.text import parse_toml
from epbench.hub.card import filled_card
from epbench.hub.dataset_folder import Card, Config
from epbench.memfail.dataset.findings import Report
from epbench.memfail.dataset.shortcuts import PUBLISHED, RULES


def labels() -> Mapping[str, str]:
    """Return what each finding of the report means, as the card says it, by the name of the finding."""
    return parse_toml(packaged("epbench.memfail", "findings.toml").read_text("utf-8"))


def made_card(
    command: str,
    configs: Sequence[Config],
    report: Report,
    *,
    harder: bool = False,
    generation: Mapping[str, Any] | None = None,
    source: str | None = None,
    digests: Mapping[str, str] | None = None,
) -> Card:
    """Return the card of the rows that a command makes; `report` is that of `validate`.

    Rows are from templates, unless a language model wrote them, which the content of `generation.json` is about, or they were
    published: then `source` says where, in words, and `digests` has the SHA-256 of the file of each config.
    """
    values = {
        "command": command,
        "report": {config.name: report[config.name] for config in configs},
        "labels": labels(),
        "rules": RULES,
        "published": PUBLISHED,
        "shown": _shown,
        "harder": harder or None,
        "generation": generation,
        "source": source,
        "digests": digests,
    }
    return filled_card("epbench.memfail", configs, values)


_SHOWN = 8  # items of a list that a cell of a table shows


def _shown(value: Any) -> str:
    """A finding as a cell of a table; long lists are cut and counted."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        value = [f"{name}: {', '.join(n) if isinstance(n, list) else n}" for name, n in value.items()]
    if not isinstance(value, list):
        return str(value)
    more = [f"… ({len(value)} in all)"] if len(value) > _SHOWN else []
    return ", ".join([*map(str, value[:_SHOWN]), *more]) or "none"
