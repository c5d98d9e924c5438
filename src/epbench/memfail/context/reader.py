"""The rule-based reader of MemFail: it answers questions from numbered notes, without a model.

It sees what a model would see, the notes and the question, and knows nothing else of the data. With it the whole
pipeline runs offline. It also serves as a floor: what it gets right takes no understanding.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from epbench.memfail.dataset.word_rules import content_of, sentences_of, stands_in
from epbench.models.protocol import Request, RuleBasedReader

NOTHING = "I have no information about that."
HEARD = "Thank you, I will keep that in mind."

_NOTE = re.compile(r"^\[\d+\] (.*?)(?=\n\[\d+\] |\n\n===|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*?)(?=\n\n(?!Options:)|\Z)", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)

_OPENING = r"(?:What|Which|Who|Where|When|Why|How|Would|Will|Do|Does|Did|Is|Are|Can|Could|Should|Has|Have|If|For|The|I)"
_NAME = re.compile(rf"\b(?!{_OPENING}\b)[A-Z][\w’'-]*[a-z](?: [A-Z][\w’'-]*[a-z])*")
_POSSESSIVE = re.compile(r"['’]s$")

_SOUGHT = re.compile(
    r"(?:^|[.,;:—–-] *)(?:(?:in|by|for|to|with|from|on|at|of) )?(?:what|which|how|where|who|when)\b", re.IGNORECASE
)
_DECIDE = re.compile(r"\b(?:would|will|does|is|are|should|could|can|might)\b(?=[^.?!]*\?)", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:when|whenever|while|after|before|if|once|until|during|below|above|between|at|inside|under|in|every"
    r"|only (?:on|to|upon|around|amid|with|shortly|late|early))\b[^,;.]*",
    re.I,
)
_DENIAL = re.compile(r"\b(?:no|not|never|without|instead|rather|nobody)\b|n['’]t\b", re.IGNORECASE)
_WRITTEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_WRITTEN)})\b")
_BELOW = re.compile(r"\b(?:below|under|drops?|falls?|less|fewer|at most)\b", re.IGNORECASE)
_ABOVE = re.compile(r"\b(?:above|over|exceeds?|more|rises?|at least|or longer)\b", re.IGNORECASE)


class LexicalReader(RuleBasedReader):
    """A rule-based reader of notes."""

    name = "lexical"

    def answer_to(self, request: Request) -> str:
        """Answer the question from the notes; anything else than a question is only acknowledged."""
        question = _QUESTION.search(request.question)
        return read_notes(_NOTE.findall(request.context), question[1]) if question else HEARD


def read_notes(notes: Sequence[str], question: str) -> str:
    """Answer a question from notes.

    The answer to a multiple-choice question is the letter, in JSON. If the question asks about somebody with a full
    name, it is the sentences that are closest to the question; if it asks what somebody would do in a scene, yes or no;
    else all notes.
    """
    if options := list(_OPTION.finditer(question)):
        return json.dumps({"choice": _linked_option(notes, question[: options[0].start()], options)})
    names = [_POSSESSIVE.sub("", name) for name in _NAME.findall(question)]
    about = [note for note in notes if any(name in note for name in names)]
    decides = [] if _SOUGHT.search(question) else list(_DECIDE.finditer(question))
    scene = question[: decides[-1].start()].strip() if decides else ""
    if full_names := [name for name in names if " " in name]:
        about = [note for note in notes if any(name in note for name in full_names)]
        if not about or not scene:
            return _closest(about, question, names) or f"I have no information about {full_names[0]}."
    if names and scene:
        return _decided(about, scene, question[len(scene) :], names)
    return "\n".join(f"- {note}" for note in notes) or NOTHING


def _linked_option(notes: Sequence[str], stem: str, options: Sequence[re.Match[str]]) -> str | None:
    """Go from fact to fact, each time to the one that shares the rarest words with the last, up to the first option."""
    left = [fact for note in notes for fact in sentences_of(note)]
    facts_with = Counter(word for fact in left for word in content_of(fact))
    frontier = content_of(stem)
    while left:
        links = [sum(1 / facts_with[word] for word in content_of(fact) & frontier) for fact in left]
        near = [fact for fact, link in zip(left, links, strict=True) if link == max(links)]
        for option in options:
            if any(stands_in(option[2], fact) for fact in near):
                return option[1]
        frontier = frozenset[str]().union(*map(content_of, near)) - frontier
        left = [fact for fact in left if fact not in near]
    return None


def _closest(notes: Sequence[str], question: str, names: Sequence[str]) -> str:
    """Return the two sentences that share the most words with the question; "" if none shares any."""
    asked = content_of(question) - content_of(" ".join(names))
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    ranked = sorted(sentences, key=lambda sentence: -len(content_of(sentence) & asked))
    return " ".join(sentence for sentence in ranked[:2] if content_of(sentence) & asked)


def _decided(notes: Sequence[str], scene: str, asked: str, names: Sequence[str]) -> str:
    """Answer yes or no: does the scene fit the condition that the notes give for this behaviour?"""
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    if not sentences:
        return NOTHING
    mentions = [re.findall(rf"{re.escape(name)}(?: the \w+ \w+)?", scene + asked) for name in names]
    behaviour = content_of(asked) | content_of(" ".join(mention for found in mentions for mention in found))
    rule = max(sentences, key=lambda s: (len(content_of(s) & behaviour), bool(_CONDITION.search(s))))
    clauses = [clause for clause in _CONDITION.findall(rule) if content_of(clause) - behaviour]
    # The condition may be in another sentence.
    condition = clauses[0] if clauses else next(note for note in notes if rule in note)
    fits = _compared(condition, scene)
    if fits is None:
        denials = [{word.lower() for word in _DENIAL.findall(text)} for text in (condition, scene, asked)]
        denied = [bool(found - denials[2]) for found in denials[:2]]
        fits = bool(content_of(condition) & content_of(scene) - behaviour) and denied[0] == denied[1]
    return f"{'Yes' if fits else 'No'} — {rule}"


def _compared(condition: str, scene: str) -> bool | None:
    """Whether a number in the scene is within the bounds in the condition; None if either has no number."""
    bounds, numbers = ([_number(found) for found in _NUMBER.findall(text)] for text in (condition, scene))
    if not bounds or not numbers:
        return None
    if len(bounds) > 1 and not _BELOW.search(condition) and not _ABOVE.search(condition):
        return min(bounds) <= numbers[0] <= max(bounds)
    if _BELOW.search(condition):
        return numbers[0] < bounds[0]
    if _ABOVE.search(condition):
        return numbers[0] >= bounds[0]
    return numbers[0] == bounds[0]


def _number(found: str) -> float:
    return float(_WRITTEN.index(found) + 1 if found in _WRITTEN else found)
