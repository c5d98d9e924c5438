"""What an answer says is not so: `not A, but B` names B alone.

The rules look at words around a name, not at meanings: a negation directly before it, a verdict directly after it
(`A can be ruled out`), and the clause of a likely mistake before a `but` (`one could take it for A, but …`).
"""

from __future__ import annotations

import re

# Where a clause ends. The comma in `May 07, 2024` and the stops in `St. John` and `Mar. 5` do not end one.
_GAP = re.compile(
    r"([;:()\n]|,?\s{0,3}\b(?:but|and|while|whereas)\b|,(?!\s*\d{4})|(?<!\bSt)[.!?](?=\s+\D|\s*$))", re.IGNORECASE
)
_SMALL = r"(?:(?i:at|in|on|by|with|for|to|of|from|during|that|it|is|was|be|been)\s+)"
# A name, a date, or something with an article follows the negation: `not only`, `not until` and `not sure` deny nothing.
_NEGATED = re.compile(
    r"(?:\b(?i:not|never|neither|nor|unlike|excluding)|n['’]t)\s+"
    rf"(?={_SMALL}{{0,3}}(?:(?i:the|an?)\s|[\"“*]*[A-Z\d])).*",
    re.DOTALL,
)
_REPLACED = re.compile(r"\b(?:rather than|instead of|as opposed to|in place of)\s.*", re.IGNORECASE | re.DOTALL)
_RULED_OUT = re.compile(
    r"\b(?:(?:can|could|may|must|should) be (?:ruled out|excluded|dismissed)|"
    r"(?:is|are|was|were) (?:ruled out|excluded|wrong|incorrect)|"
    r"(?:(?:is|are|was|were) not|(?:is|are|was|were)n['’]t) (?:there|present|involved|it|the (?:one|answer)|right|correct)|"
    r"(?:did not|didn['’]t) (?:attend|take part|participate|appear|come))\b",
    re.IGNORECASE,
)
_MISTAKEN = re.compile(
    r"\b(?:(?:one|you|someone|somebody|people|readers?|many) (?:could|might|may|would)|"
    r"(?:could|might|may) (?:easily )?be (?:mistaken|taken|confused))\b",
    re.IGNORECASE,
)


def without_denials(answer: str) -> str:
    """The answer without what it says is not so; the rest stays as it is."""
    parts = _GAP.split(answer)  # clause, gap, clause, …
    for i in range(0, len(parts), 2):
        clause, gap = parts[i], parts[i + 1] if i + 1 < len(parts) else ""
        if _RULED_OUT.search(clause) or (_MISTAKEN.search(clause) and gap.lower().endswith("but")):
            parts[i] = ""
        else:
            parts[i] = _REPLACED.sub("", _NEGATED.sub("", clause))
    return "".join(parts)
