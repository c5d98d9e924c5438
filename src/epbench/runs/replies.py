"""The replies to requests that one step makes together: all of them, from the journal or from the model, or an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from epbench.errors import RunFailed
from epbench.journals.answers import ask
from epbench.journals.journal import Record, read_journal
from epbench.models.protocol import Model, Request
from epbench.progress import Progress
from epbench.runs.usage import commonest

_UNUSABLE = frozenset(["length", "empty", "refusal", "content_filter"])


def folder_by(out: Path, what: str, model: str) -> Path:
    """Return the folder for what a model writes, such as `OUT/rows-by-openai-gpt-4o`."""
    kind, _, target = model.partition(":")
    return out / f"{what}-by-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', Path(target).name)}"


def replies_to(path: Path, requests: Sequence[Request], model: Model, progress: Progress, label: str) -> list[Record]:
    """Return the reply to each request; those without one in the journal are made first. Messages name them `label`.

    Raises:
        RunFailed: Some requests got no answer; all others are kept.
    """
    keys = [request.key(model.identity) for request in requests]
    kept = read_journal(path)
    wanted = [request for key, request in zip(keys, requests, strict=True) if not replied(kept.get(key))]
    if wanted:
        ask(path, wanted, model, progress, label)
        kept = read_journal(path)
    lost = [kept[key]["failure"] for key in keys if not replied(kept[key])]
    if lost:
        raise RunFailed(
            f"{model.name}: {len(lost)} of {len(requests)} requests ({label}) got no answer{commonest(lost)}; "
            f"all other replies are kept in {path}, and the same command continues from there"
        )
    return [kept[key] for key in keys]


def replied(record: Record | None) -> bool:
    """Whether a model replied, even with nothing usable; if so, the same request is not made again."""
    return record is not None and (record.get("failure") is None or record.get("ended") in _UNUSABLE)
