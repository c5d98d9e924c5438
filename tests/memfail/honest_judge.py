"""The verdicts of an honest judge on template rows, for which everything relevant is in the prompt word for word."""

from __future__ import annotations

import json
import re


def honest(prompt: str) -> str:
    """Return the reply to a prompt of our pack, as JSON."""
    memories, _, asked = prompt.rpartition("(end of the memories)")
    fields = dict(re.findall(r"^(Whose|What|When|From|To|It holds a preference|What counts now): (.+)$", asked, re.M))
    about = re.search(r"^Whom the assistant was told about: (.+)$", asked, re.MULTILINE)
    if memories:
        if "does not\nmatter here" in asked or "does not matter here" in asked:
            fields.pop("When", None)
        sought = [*fields.values(), *([about[1]] if about else [])]
        found = all(text.lower() in memories.lower() for text in sought if not text.startswith("whatever"))
        return verdict(found, "looked it up")
    answer = "\n".join(re.findall(r"^> (.*)$", asked, re.MULTILINE))
    if "somebody else" in asked:
        return verdict("no information" in answer, "does it hold back?")
    truth = re.search(r"^(?:The true answer|A full answer takes all of these into account): (.+)$", asked, re.MULTILINE)
    names = [truth[1].split(" ")[0]] if truth[1].startswith(("Yes", "No")) else truth[1].rstrip(".").split(", ")
    return verdict(all(name.lower() in answer.lower() for name in names), "compared")


def verdict(value: bool, reason: str = "") -> str:
    return json.dumps({"reason": reason, "verdict": value})
