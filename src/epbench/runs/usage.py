"""The token usage of a run: what was computed, what sharing saved, and how fast it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from epbench.journals.journal import RETIRED

_LONGEST_REASON = 300  # characters


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
