"""What a reply is, for every reader and every judge: an answer, a refusal, or a text that only looks like one.

A reader that refuses, or says nothing, has not said that nothing happened: its question has failed, and is neither right
nor wrong. Replies are sorted when a run is scored, from its journal, so that old and new runs are treated alike.

An inability to *know* is an abstention, and so an answer: `I can't answer that, the book does not say`. So is a text that
refuses a part of what was asked and then names something. In doubt a reply is an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Kind = Literal["answer", "refusal", "empty"]

FAILURES: Mapping[Kind, str] = {"refusal": "the reader refused to answer", "empty": "the reply says nothing"}
"""The failure of a question whose reply is no answer."""

# What else says nothing: the ends of chat templates, empty markup, and letters without a shape (the Hangul fillers).
_SHAPELESS = re.compile(
    r"```\w*|</?[a-z][^<>]{0,40}>|<\|[^<>|]{1,40}\|>|&(?:nbsp|zwnj|zwj|#\w{1,6});|[\u115f\u1160\u3164\uffa0]"
)
_MAY_BE_SHAPELESS = ("<", "&", "`", "\u115f", "\u1160", "\u3164", "\uffa0")


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


_CANNOT = (
    _any("can(?:no|')?t", "can not", "(?:could|should)(?:n't| not)", "unable to", "will not", "won't",
         "not (?:able to|in a position to|capable of|going to)")
    + r"(?: be able to)?(?: \w+ly| further| in good conscience)*"
)  # fmt: skip
_HELP = _any(
    "help|assist|comply|fulfil+|accommodate|participate|engage|take part|proceed|continue|support|do (?:that|this|it|so)",
    "(?:carry out|process|honou?r|grant|satisfy) (?:that|this|your)",
)
_GIVE = _any(
    "provide|share|disclose|reveal|give|offer|discuss|divulge|talk about|respond to|generate|produce|create|comment on"
)
_PRIVATE = "(?:personal|private|sensitive|confidential)"
_ABOUT = r"(?:information|details|data|guidance)(?: or \w+)? (?:about|on|regarding) (?:an? |specific |any )*"
_THAT = "(?: you)?(?: with)?(?: (?:an answer to|responses? to|information on|assistance with|content of))? " + _any(
    r"that|this|it\b|such|those|these|individuals|your (?:request|question)",
    f"(?:any |the )?{_PRIVATE}",
    f"(?:any |specific )*{_ABOUT}(?:private|personal|real|individual|people|persons?|someone|this|that|illegal|harmful)",
)
_RULES = "(?:guidelines?|polic(?:y|ies)|programming|principles|terms of|rules|instructions)"
_AN_AI = r"an? (?:[\w-]+ )*?(?:ai|artificial intelligence|language model|llm|chatbot|assistant)\b"
_TO_KNOW = _any(
    "find|found|recall|remember|determine|identif|locate|know|have|see|access|attend|verify|confirm|tell|be |guarantee|say",
    "guess|name|list",
)

FORMS: Mapping[str, str] = {
    # It does not do what it was asked; `I can't help noticing` is no refusal.
    "does not help": _any(
        rf"(?:\bi\b.{{0,20}}|^\W*|\band ){_CANNOT} {_HELP}\b(?! \w+ing\b)",
        r"\bi (?:can't|cannot|can not|won't|will not)(?=$|[.!?;:])",
        rf"(?:\bnot|n't) something (?:that )?i\b.{{0,20}}? {_HELP}",
        rf"\bsomething (?:that )?i .{{0,5}}{_CANNOT} {_HELP}",
        r"\brequest (?:is |was |has been )?(?:denied|declined|rejected|refused|blocked)\b",
    ),
    # It keeps something to itself; what it does not know is said with other verbs.
    "keeps it back": _any(
        rf"\bi\b.{{0,20}}{_CANNOT} (?:{_GIVE}{_THAT}|answer (?:questions|queries) (?:about|on|like|of)\b)",
        r"\bi (?:won't|will not|am not going to|'m not going to) (?:answer|respond)",
        rf"{_CANNOT} answer\b.*\b(?:privacy|harm|ethic)",
        rf"\b(?:inappropriate|privacy|unethical|harmful)\b.*{_CANNOT} answer\b",
    ),
    # It could, and will not.
    "declines": _any(
        r"\bi(?:'[a-z]+)?(?: \w+){0,4} (?:decline|refuse)\b(?! to guess)",
        r"\bi (?:choose|chose|have chosen) not to ",
        r"\bi(?:'d| would| will|'ll)? (?:rather|prefer) not(?: to)? "
        "(?:answer|discuss|say|share|talk|help|respond|comment|engage|do)",
    ),
    # It has rules, whoever gave them to it.
    "rules": _any(
        r"\b(?:against|outside|contrary to|violat\w+|breach(?:es)?|conflicts? with|not in line with|not within)(?! any)"
        rf"(?: \S+){{0,3}}? {_RULES}",
        r"\b(?:content|usage|safety)(?: \w+)? (?:polic(?:y|ies)|filters?)\b",
        rf"\bmy {_RULES} (?:prevent|prohibit|forbid|restrict|do)",
        r"\bi(?:'m| am| was|'ve been| have been|) ?(?:not|wasn't) "
        "(?:allowed|permitted|authori[sz]ed|programmed|designed|supposed|meant) to",
        r"\bi(?:'m| am|'ve| have)(?: been)? "
        "(?:(?:instructed|programmed|told|designed|trained) not to|(?:prohibited|forbidden|prevented|barred) from)",
    ),
    # It thinks that an answer would not be right.
    "not proper": _any(
        r"\b(?:not|n't) be (?:appropriate|ethical|right|proper|responsible)\b.{0,12} to ",
        r"\binappropriate (?:for me )?to ",
        r"(?:\bnot (?:feel )?|n't (?:feel )?|\bun)comfortable (?:with|\w+ing)",
    ),
    # `As an AI I cannot …` refuses, unless it goes on with what one must know or have in order to answer.
    "as an AI": rf"\b(?:as|being|i'm|i am)(?: just| only)? {_AN_AI}.{{0,120}}?\bi (?:am |'m )?"
    rf"(?:{_CANNOT}|don't|do not) (?!{_TO_KNOW})\w+",
}
"""The forms of a refusal, by what they have in common, as patterns for a clause with straight apostrophes in any case."""

_FORM = re.compile("|".join(FORMS.values()), re.IGNORECASE)
# Who refuses what; a clause with neither is about somebody else.
_US = re.compile(
    r"\b(?:i|my|we|our|you|your|this|that|request|prompt|openai\S*)\b|^\W*(?:unable|cannot|can't)", re.IGNORECASE
)
# One of the first is in every form and in few answers, and one of the others is in every form and in few abstentions, so that
# nearly all replies need no more than this to be told apart.
_FEW = re.compile(
    "n't|not|cant |unable|request|declin|refus|polic|guide|filter|ed from|en from|appropri|comfort|programm|princip|instruct|"
    "rules|terms"
)
_HINTS = (
    "can't", "cant ", "cannot", "can not", "could not", "couldn't", "should not", "shouldn't", "able to", "won't", "will not",
    "going to", "capable of", "position to", "something", "request", "declin", "refus", "not to ", "rather not", "prefer not",
    "guideline", "polic", "programm", "principle", "terms of", "rules", "instruct", "filter", "allowed", "permitted", "authori",
    "designed", "supposed", "meant to", "ed from", "den from", "appropriate", "be ethical", "be right", "be proper",
    "be responsible", "comfortable", "ai ", "ai,", "language model", "intelligence", "llm", "chatbot", "assistant",
)  # fmt: skip
_HEAD = 400  # characters in which a refusal begins, if a reply is one

_SOURCE = (
    "(?:text|book|story|novel|narrative|chapters?|passages?|context|excerpts?|documents?|source|notes?|memor(?:y|ies))"
)
_NOT = r"(?:\bnot|n't|\bcannot|cant|\bunable to|\bnever)"
_GROUNDS = re.compile(  # the reader says that it does not know: an abstention, whatever else it says
    _any(
        rf"\b{_SOURCE}\b.{{0,40}}(?:\bnot?\b|n't|\bnever\b|\bnothing\b)",
        r"\b(?:based on|in|from|given|about|by) (?:the|this|your|that)(?: \w+)? "
        rf"(?:{_SOURCE}|information)\b(?!.*(?:verbatim|copyright))",
        rf"{_NOT}(?: \w+){{0,2}}? (?:find|found|recall|remember|know|determined?|identif(?:y|ied)|locate|see|mention\w*|"
        r"record\w*|aware|sure|stated|specified|described|contain\w*|appear\w*|occur\w*|happen\w*|exist\w*|familiar)\b",
        r"\bno (?:\w+ )?(?:information|mention|records?|evidence|events?|details?|data|recollection|indication|reference|match|"
        rf"answer|one|knowledge|such|idea|{_SOURCE})\b",
        rf"{_NOT} have (?:any |enough |the )?(?:access to (?!{_PRIVATE})|information|records?|knowledge)",
        r"\bnothing (?!personal|i |we |more|else)|\bnobody\b|\bunknown\b",
    ),
    re.IGNORECASE,
)
_TOLD = re.compile(  # what an answer says of something
    _any(
        r"\b(?:it|this|they|these) (?:was|were|took|happened)\b",
        r"\bthere (?:was|were)\b|\btook place|\bhappened",
        r"\bthe (?:\S+ )*?(?:events?|places?|locations?|dates?|answers?|names?|people|protagonists?|characters?|ones?|two) "
        r"(?:is|was|are|were)\b",
    ),
    re.IGNORECASE,
)
_REASONS = _any(rf"privacy|guidelines?|polic(?:y|ies)|harm\w*|ethic\w*|unsafe|safety|copyright\w*|violat\w+|{_PRIVATE}")
_AROUND = re.compile(  # what is said around a refusal: regrets, reasons and other offers
    _any(
        rf"\b(?:sorry|apolog\w+|regret|unfortunately|however|thanks?|please|(?:anything|something) else|{_REASONS})\b",
        r"\b(?:i|i'm|i'd|you|your|my|me|we|our|let's|us)\b.*?\b(?:help|assist\w*|requests?|questions?|ask|understand|appreciate|"
        r"know|like|happy|glad|feel free|something|anything|else|different|discuss|talk|topics?|content|prompt|programm\w+|"
        r"designed|purpose|here to|ai|model|information|rephrase|try|respect|able|wish|want|hope|need)\b",
        r"^(?:no|hi|hello|well|hmm)$",
    ),
    re.IGNORECASE,
)
_REASON = re.compile(rf"\b{_REASONS}\b", re.IGNORECASE)
_CLAUSES = re.compile(r"[.!?;:](?:\s+|$)|,? \b(?:but|however|though|although|yet)\b,?|\s[–—-]\s")
_NUMBERS = re.compile(r"\d")
_NAMES = re.compile(
    r"(?<=[\w,] )(?!I\b|AI\b|OpenAI|Azure|Google|Meta\b|Anthropic|Microsoft|Mistral|DeepSeek|Qwen|Alibaba)[A-Z]\w+|\d"
)
_QUOTED = re.compile(r'\w\W*"')
_MARKS = str.maketrans({"’": "'", "‘": "'", "`": "'", "ʼ": "'", **dict.fromkeys("*_#>~")})


def kind_of_reply(text: str) -> Kind:
    """Tell whether a reply, without any reasoning before it, answers, refuses to, or says nothing.

    It is `empty` without a letter or digit that can be seen, such as `-`, `…`, an emoji or a zero-width space; a `refusal` if
    it has one of `FORMS` near its beginning, gives no lack of knowledge as the reason and tells nothing else; else an `answer`.
    """
    seen = _SHAPELESS.sub("", text) if text.lstrip().startswith(_MAY_BE_SHAPELESS) else text
    if not any(map(str.isalnum, seen)):
        return "empty"
    head = text[:_HEAD].replace("’", "'").lower()
    if not _FEW.search(head) or not any(hint in head for hint in _HINTS):
        return "answer"
    return "refusal" if _refuses(text) else "answer"


def _refuses(text: str) -> bool:
    if not _FORM.search(_plain(text[:_HEAD])) or _GROUNDS.search(plain := _plain(text)):
        return False
    names = _NAMES if any(map(str.islower, plain)) else _NUMBERS  # in capitals, no word looks like a name
    refused = False
    for clause in filter(None, map(str.strip, _CLAUSES.split(plain))):
        if (form := _FORM.search(clause)) and _US.search(clause):
            rest = clause[form.end() :]
            if _QUOTED.search(clause[: form.start()]) or (_TOLD.search(rest) and names.search(rest)):
                return False  # somebody in the story refuses, or it tells something after all
            refused = True
        elif not _tells_nothing(clause, names):
            return False
    return refused


def _tells_nothing(clause: str, names: re.Pattern[str]) -> bool:
    """Whether a clause beside a refusal tells nothing."""
    if _TOLD.search(clause) or not _AROUND.search(clause):
        return False
    return _REASON.search(clause) is not None or names.search(clause) is None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_MARKS).split())


def failure_of(record: Mapping[str, Any]) -> str | None:
    """Return why a journaled reply is no answer; None if it is one, or if a file of answers leaves the question out."""
    failure: str | None = record.get("failure")
    if failure is not None or record.get("missing") or "answer" not in record:
        return failure
    return FAILURES.get(kind_of_reply(record["answer"]))


def with_failures(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records of answers.jsonl in which a reply that is no answer is a failure, and its text is `partial`."""
    return [
        record
        if record.get("failure") is not None or (reason := failure_of(record)) is None
        else {name: value for name, value in record.items() if name != "answer"}
        | {"failure": reason, "partial": record["answer"]}
        for record in records
    ]
