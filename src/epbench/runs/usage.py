"""What the replies of a model come to: all of them or an error, and the tokens of a run.

Usage says what was computed, what sharing saved, and how fast it went.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.journals.answers import ask
from epbench.journals.journal import RETIRED, Record, read_journal
from epbench.models.protocol import Model, Request
from epbench.progress import Progress

_LONGEST_REASON = 300  # characters
_UNUSABLE = frozenset(["length", "empty", "refusal", "content_filter"])


def token_usage(answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the usage of a model's replies, by the records of answers.jsonl or of another journal of replies.

    Returns:
        requests: the number of records. failed: how often each reason occurs, without answers that the answer to another
        prompt has replaced. looped: how many answers went in circles and were ended for that. served: how many answers
        came from each model that an endpoint names in place of the requested one. prefilled, saved and generated: prompt
        tokens computed, prompt tokens that sharing saved, and generated tokens. thinking: how many of these were thoughts
        before an answer; absent if there were none. hit_rate: saved tokens over all prompt tokens, 0 to 1, or None
        without prompt tokens. seconds: the time spent on asking. tokens_per_second: prompt and generated tokens per
        second, or None without time.
    """
    records = list(answers)
    usage = [record.get("usage") or {} for record in records]
    kinds = ("prompt", "cached", "completion", "thinking")
    prompt, saved, generated, thinking = (sum(u.get(name, 0) for u in usage) for name in kinds)
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    reasons = Counter(record["failure"] for record in records if record.get("failure") not in (None, RETIRED))
    served = Counter(record["served"] for record in records if record.get("served") and record.get("failure") is None)
    return {
        "requests": len(records),
        "failed": dict(reasons.most_common()),
        "looped": sum(record.get("ended") == "loop" for record in records),
        "served": dict(served.most_common()),
        "prefilled": prompt - saved,
        "saved": saved,
        "generated": generated,
        **({"thinking": thinking} if thinking else {}),
        "hit_rate": saved / prompt if prompt else None,
        "seconds": round(seconds, 3),
        "tokens_per_second": round((prompt + generated) / seconds, 1) if seconds else None,
    }


def commonest(reasons: Iterable[str]) -> str:
    """The end of a message about failures: the reason that occurs most often, with its number; "" without reasons.

    >>> commonest(["no answer within 5 s", "429 slow down", "429 slow down"])
    '; most often (2): 429 slow down'
    """
    most_common = Counter(" ".join(reason.split()) for reason in reasons).most_common(1)
    if not most_common:
        return ""
    reason, n = most_common[0]
    return f"; most often ({n:,}): {reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 1] + '…'}"


def usage_line(usage: Mapping[str, Any]) -> str | None:
    """What a reader of the screen wants to know of a token usage, or None if no prompt token was counted."""
    if usage["hit_rate"] is None:
        return None
    thinking = f" ({usage['thinking']:,} in thinking)" if usage.get("thinking") else ""
    looped = f", {usage['looped']:,} answers went in circles" if usage.get("looped") else ""
    return (
        f"{usage['prefilled']:,} prompt tokens computed, {usage['saved']:,} saved by sharing ({usage['hit_rate']:.1%}), "
        f"{usage['generated']:,} generated{thinking}, {usage['tokens_per_second'] or 0:,.0f} tokens/s{looped}"
    )


def folder_by(out: Path, what: str, model: str) -> Path:
    """Return the folder for what a model writes, such as `OUT/rows-by-openai-gpt-4o`."""
    kind, _, target = model.partition(":")
    return out / f"{what}-by-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', Path(target).name)}"


def replies_to(path: Path, requests: Sequence[Request], model: Model, progress: Progress, label: str) -> list[Record]:
    """Return the reply to each request; those without one in the journal are made first. Messages name them `label`.

    RunFailed if some requests got no answer; all others are kept.
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
