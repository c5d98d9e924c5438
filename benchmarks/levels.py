"""How far one gets at each level of a book without understanding it, and how its prose compares with novels.

    python benchmarks/levels.py
    python benchmarks/levels.py --quick
    python benchmarks/levels.py --book very-long --levels 1 4
    python benchmarks/levels.py --novels folder/with/texts

By level: the share of the selected questions that a regular expression and the built-in reader answer exactly, the same
for a solver that sees only the paragraphs of the evidence, and figures on the prose: pronouns per word, different openings of
sentences, and the share of 4-grams and 8-grams of words that two chapters share. No answer is judged: an answer is exact
if its items are those of the dataset, in their order where an order is asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.dates import MONTHS, from_words
from epbench.tulving.events.universe import as_texts
from epbench.tulving.questions.generate import Question

DATE = re.compile(rf"(?:{'|'.join(MONTHS)}) \d\d, \d{{4}}")
TWO_CAPITALS = re.compile(r"\b[A-Z][\w'-]+ [A-Z][\w'-]+")


class RegularExpression:
    """Answers from what a search for names and dates finds in each chapter; it knows all names of the universe."""

    def __init__(self, chapters: Sequence[Chapter], names: dict[str, list[str]]) -> None:
        patterns = {letter: re.compile("|".join(map(re.escape, names[letter])), re.IGNORECASE) for letter in "sec"}
        written = {letter: {name.lower(): name for name in names[letter]} for letter in "sec"}
        self.found: list[dict[str, list[str]]] = []
        for chapter in chapters:
            found = {
                letter: list(dict.fromkeys(written[letter][name.lower()] for name in pattern.findall(chapter.text)))
                for letter, pattern in patterns.items()
            }
            found["t"] = list(dict.fromkeys(DATE.findall(chapter.text)))
            known = {name for letter in "sec" for name in found[letter]}
            others = [name for name in TWO_CAPITALS.findall(chapter.text) if not any(name in one for one in known)]
            found["others"] = [name for name in dict.fromkeys(others) if name.split()[0] not in MONTHS]
            found["text"] = [chapter.text]
            self.found.append(found)

    def answer(self, question: Question) -> list[str]:
        given = {"t": question.time, "s": question.space, "e": question.entity, "c": question.content}
        matches = [found for found in self.found if all(given[letter] in found[letter] for letter in question.cue)]
        return items_of(question, matches, lambda found: found["t"][:1])


_KEY = {
    "times": "t", "spaces": "s", "entities": "e", "contents": "c", "other_entities": "others", "full_details": "text",
}  # fmt: skip


def items_of(question, matches, dates):
    """The items of an answer from what is known of the matching chapters."""
    if question.get != "all":
        matches = sorted((one for one in matches if dates(one)), key=lambda one: from_words(dates(one)[0]))
        matches = matches[-1:] if question.get == "latest" else matches
    items = [item for one in matches for item in one[_KEY[question.trace]]]
    return items if question.get == "chronological" else list(dict.fromkeys(items))


def exact(answers: Iterable[Sequence[str]], questions: Sequence[Question]) -> float:
    right = [
        list(answer) == question.answer if question.get == "chronological" else set(answer) == set(question.answer)
        for answer, question in zip(answers, questions, strict=True)
    ]
    return sum(right) / len(right)


class Oracle:
    """Answers with the solver from the paragraphs of the evidence alone."""

    def __init__(self, data: BookData, universe) -> None:
        from epbench.tulving.questions.evidence import evidence_of
        from epbench.tulving.solving.solver import at_places
        from epbench.tulving.solving.statements import Statements

        self.chapters = {chapter.number: chapter for chapter in data.chapters}
        self.evidence_of, self.universe = evidence_of, universe
        self.by_place = at_places(
            Statements(universe).of_book([(chapter.number, chapter.text) for chapter in data.chapters])
        )
        self.names = {name for names in as_texts(universe).values() for name in names}

    def answer(self, question: Question) -> list[str]:
        from epbench.tulving.events.dates import in_words
        from epbench.tulving.solving.solver import Solver

        spots = sorted(self.evidence_of(question, self.chapters).spots)
        solver = Solver(one for spot in spots for one in self.by_place.get(spot, ()))
        matches = []
        for number in sorted({spot.number for spot in spots}):
            paragraphs = [
                self.chapters[number].text.split("\n\n")[spot.paragraph - 1] for spot in spots if spot.number == number
            ]
            day = solver.fact(number, "date")
            facts = {
                "s": solver.fact(number, "location"),
                "e": solver.fact(number, "entity"),
                "c": solver.fact(number, "content"),
            }
            found = {letter: [str(value)] if value else [] for letter, value in facts.items()}
            found["t"] = [in_words(day)] if day else []
            found["text"] = ["\n\n".join(paragraphs)]
            found["others"] = self.side_characters(" ".join(paragraphs), facts["e"])
            given = {"t": question.time, "s": question.space, "e": question.entity, "c": question.content}
            if all(given[letter] in found[letter] for letter in question.cue):
                matches.append(found)
        return items_of(question, matches, lambda found: found["t"])

    def side_characters(self, text: str, entity) -> list[str]:
        """Full names directly before a deed: who else was there did something."""
        deeds = {detail[0].lower() + detail[1:] for details in self.universe.details.values() for detail in details}
        return [
            name for name in dict.fromkeys(TWO_CAPITALS.findall(text))
            if name not in self.names and any(text.startswith(deed, text.index(name) + len(name) + 1) for deed in deeds)
        ]  # fmt: skip


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w'’]+", text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def prose(texts: Sequence[str]) -> dict[str, float]:
    """Figures on the prose of texts of similar length."""
    figures: dict[str, float] = {}
    words = [word for text in texts for word in re.findall(r"[\w'’]+", text.lower())]
    figures["words"] = len(words)
    figures["pronouns"] = sum(word in PRONOUNS for word in words) / len(words)
    openings = [
        tuple(re.findall(r"[\w'’]+", s.lower())[:3]) for text in texts for s in re.split(r"(?<=[.!?])\W+", text) if s
    ]
    figures["openings"] = len(set(openings)) / len(openings)
    for n in (4, 8):
        grams = [ngrams(text, n) for text in texts]
        spread = Counter(gram for found in grams for gram in found)
        shares = [sum(spread[gram] > 1 for gram in found) / len(found) for found in grams if found]
        figures[f"{n}-grams shared"] = sum(shares) / len(shares)
        figures[f"most spread {n}-gram"] = max(spread.values()) / len(texts)
        if n == 8:
            figures["_worst"] = [" ".join(gram) + f" {k}" for gram, k in spread.most_common(12)]
    return figures


PRONOUNS = frozenset(["he", "she", "him", "her", "his", "hers", "himself", "herself"])
