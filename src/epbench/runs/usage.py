"""The token usage of a run: what was computed, what sharing saved, how fast it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from epbench.runs.journal import RETIRED


def token_usage(answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the records of answers.jsonl.

    Returns:
        requests, failed (number of each reason, leaving out answers that another prompt took the place of), served
        (number of answers by each name that an endpoint gave its model, where that is not the asked one), prefilled and
        saved prompt tokens, generated tokens, hit_rate (saved over all prompt tokens, None without any), seconds of
        asking, and tokens per second (prompt and generated, None without time).
    """
    records = list(answers)
    usage = [record.get("usage") or {} for record in records]
    prompt, saved, generated = (sum(u.get(name, 0) for u in usage) for name in ("prompt", "cached", "completion"))
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    reasons = Counter(record["failure"] for record in records if record.get("failure") not in (None, RETIRED))
    served = Counter(record["served"] for record in records if record.get("served") and record.get("failure") is None)
    return {
        "requests": len(records),
        "failed": dict(reasons.most_common()),
        "served": dict(served.most_common()),
        "prefilled": prompt - saved,
        "saved": saved,
        "generated": generated,
        "hit_rate": saved / prompt if prompt else None,
        "seconds": round(seconds, 3),
        "tokens_per_second": round((prompt + generated) / seconds, 1) if seconds else None,
    }


def usage_line(usage: Mapping[str, Any]) -> str | None:
    """What a reader of the screen wants to know of a token usage, or None if no prompt token was counted."""
    if usage["hit_rate"] is None:
        return None
    return (
        f"{usage['prefilled']:,} prompt tokens computed, {usage['saved']:,} saved by sharing ({usage['hit_rate']:.1%}), "
        f"{usage['generated']:,} generated, {usage['tokens_per_second'] or 0:,.0f} tokens/s"
    )
