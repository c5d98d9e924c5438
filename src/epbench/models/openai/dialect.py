"""How an endpoint wants requests written, found out from what it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

ANSWER_FORMATS = ("json_schema", "json_object", "prompt")
"""The ways to ask for JSON, the most reliable first: under a schema, as any object, by the prompt alone."""

_REFUSED = re.compile(
    r"unsupported|not support|not (?:allowed|permitted)|forbidden|unrecognized|unknown", re.IGNORECASE
)
_FORMAT = re.compile(
    r"response.?format|json.?schema|json.?object|\bschemas?\b|structured.?output|guided|grammar", re.IGNORECASE
)
# Such an error may mention the schema among what makes the prompt long. Without a schema it would still be too long.
_TOO_LONG = re.compile(r"context.?(?:length|window|size)|too long|too many tokens|reduce the length", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How requests are written for one endpoint.

    Attributes:
        max_tokens: name of the field that limits tokens; OpenAI's newer models only know `max_completion_tokens`.
        without: those of the fields temperature, seed and logprobs that the endpoint does not take.
        answer_format: how JSON is asked for, one of `ANSWER_FORMATS`.
    """

    max_tokens: str = "max_tokens"
    without: frozenset[str] = frozenset()
    answer_format: str = ANSWER_FORMATS[0]

    def learned(self, reason: str, *, with_format: bool = False) -> Dialect:
        """Return the dialect that avoids a refusal; it is the same if the refusal has another reason.

        Args:
            reason: the refusal, in the words of the endpoint.
            with_format: whether the refused request asked for JSON by `response_format`.
        """
        if self.max_tokens == "max_tokens" and "max_completion_tokens" in reason:
            return replace(self, max_tokens="max_completion_tokens")
        named: set[str] = set()
        if _REFUSED.search(reason):
            named = {field for field in ("temperature", "seed", "logprobs") if re.search(rf"\b{field}\b", reason)}
            named -= self.without
        format_ = self.answer_format
        if with_format and not named and _FORMAT.search(reason) and not _TOO_LONG.search(reason):
            format_ = ANSWER_FORMATS[min(ANSWER_FORMATS.index(format_) + 1, len(ANSWER_FORMATS) - 1)]
        return replace(self, without=self.without | named, answer_format=format_)

    def joined(self, other: Dialect) -> Dialect:
        """Combine what two dialects have learned, because several open requests may be refused for one reason."""
        return Dialect(
            max(self.max_tokens, other.max_tokens, key=len),
            self.without | other.without,
            max(self.answer_format, other.answer_format, key=ANSWER_FORMATS.index),
        )
