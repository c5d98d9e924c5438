"""How far one gets at each level of a book without understanding it, and how its prose compares with novels.

    python benchmarks/levels.py
    python benchmarks/levels.py --quick
    python benchmarks/levels.py --book very-long --levels 1 5
    python benchmarks/levels.py --universe ward --seed 4
    python benchmarks/levels.py --novels folder/with/texts

By level: the seconds for the book and its questions; the share of the selected questions, and of those that have an answer,
that are answered exactly by a program that knows names, dates and English (`level_program.py`, whose authors had read books
and cards alone; tuned on seed 1 of the default universe and seed 2 of the news, and some of its weights fitted on their
truth), by the same program if it follows references one link deep, by the built-in reader, and by a solver that is shown only
the paragraphs of the evidence; and figures on the prose: pronouns per word, different openings among all sentences, the share
of a chapter's 4-grams and 8-grams of words that another chapter has, too, and the share of chapters that have the commonest
8-gram. No answer is judged: an answer is exact if its items are those of the dataset, in their order where an order is asked
for. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from level_program import Program

from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.dates import from_words, in_words
from epbench.tulving.events.universe import Universe, as_texts
from epbench.tulving.levels.plan import LEVELS
from epbench.tulving.questions.evidence import evidence_of
from epbench.tulving.questions.generate import Question
from epbench.tulving.reader import answer_question, read_story
from epbench.tulving.solving.solver import Solver, at_places
from epbench.tulving.solving.statements import Statements

TWO_CAPITALS = re.compile(r"\b(?!The )[A-Z][\w'-]+ [A-Z][\w'-]+")


_KEY = {
    "times": "t", "spaces": "s", "entities": "e", "contents": "c", "other_entities": "others", "full_details": "text",
    "causes": "c", "states": "nothing",
}  # fmt: skip


Found = Mapping[str, list[str]]


def items_of(question: Question, matches: list[Found], dates: Callable[[Found], list[str]]) -> list[str]:
    """The items of an answer from what is known of the matching chapters."""
    if question.get != "all":
        matches = sorted((one for one in matches if dates(one)), key=lambda one: from_words(dates(one)[0]))
        matches = matches[-1:] if question.get == "latest" else matches
    items = [item for one in matches for item in one.get(_KEY[question.trace], [])]
    return items if question.get == "chronological" else list(dict.fromkeys(items))


def exact(answers: Iterable[Sequence[str]], questions: Sequence[Question]) -> float:
    right = [
        list(answer) == question.answer if question.get == "chronological" else set(answer) == set(question.answer)
        for answer, question in zip(answers, questions, strict=True)
    ]
    return sum(right) / len(right)


class Oracle:
    """Answers with the solver from the paragraphs of the evidence alone."""

    def __init__(self, data: BookData, universe: Universe) -> None:
        self.chapters = {chapter.number: chapter for chapter in data.chapters}
        statements = Statements(universe).of_book([(chapter.number, chapter.text) for chapter in data.chapters])
        self.by_place = at_places(statements)
        self.names = {name for names in as_texts(universe).values() for name in names}
        self.deeds = {one[0].lower() + one[1:] for details in universe.details.values() for one in details}

    def answer(self, question: Question) -> list[str]:
        spots = sorted(evidence_of(question, self.chapters).spots)
        solver = Solver(one for spot in spots for one in self.by_place.get(spot, ()))
        chapters = [self.known(number, spots, solver) for number in sorted({spot.number for spot in spots})]
        if question.trace == "states":
            until = from_words(question.time) if question.time else None
            return self.lost([one for one in chapters if one["e"] == [question.entity]], until)
        given = {"t": question.time, "s": question.space, "e": question.entity, "c": question.content}
        matches = [one for one in chapters if all(given[letter] in one[letter] for letter in question.cue)]
        if question.trace == "causes":
            matches = [one for one in matches if one["barred"]]
        return items_of(question, matches, lambda found: found["t"])

    def known(self, number: int, spots: Sequence[Any], solver: Solver) -> dict[str, list[str]]:
        """What the solver finds out on a chapter."""
        paragraphs = self.chapters[number].text.split("\n\n")
        shown = [paragraphs[spot.paragraph - 1] for spot in spots if spot.number == number]
        day = solver.fact(number, "date")
        facts = {"s": "location", "e": "entity", "c": "content"}
        found = {letter: [str(value)] if (value := solver.fact(number, fact)) else [] for letter, fact in facts.items()}
        said = [one for spot in spots if spot.number == number for one in self.by_place.get(spot, ())]
        changed = [(one.kind, str(one.value)) for one in said if one.kind in ("lost", "found", "barred")]
        return found | {
            "t": [in_words(day)] if day and not isinstance(day, str) else [],
            "text": ["\n\n".join(shown)],
            "others": self.side_characters(" ".join(shown)),
            "barred": [kind for kind, _ in changed if kind == "barred"],
            **{of: [thing for kind, thing in changed if kind == of] for of in ("lost", "found")},
        }

    def lost(self, chapters: list[dict[str, list[str]]], until: Any) -> list[str]:
        """What was lost and not found again, from the chapters whose days are known."""
        dated = sorted((from_words(one["t"][0]), one["found"], one["lost"]) for one in chapters if one["t"])
        missing: dict[str, None] = {}
        for day, found, lost in dated:
            if until is None or day <= until:
                missing |= dict.fromkeys(lost)
                for thing in found:
                    missing.pop(thing, None)
        return list(missing)

    def side_characters(self, text: str) -> list[str]:
        """Full names directly before a deed: who else was there did something."""
        found = [
            match[0]
            for match in TWO_CAPITALS.finditer(text)
            if match[0] not in self.names and any(text.startswith(deed, match.end() + 1) for deed in self.deeds)
        ]
        return list(dict.fromkeys(found))


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w'’]+", text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def prose(texts: Sequence[str]) -> dict[str, float]:
    """Figures on the prose of texts of similar length."""
    words = [word for text in texts for word in re.findall(r"[\w'’]+", text.lower())]
    sentences = [one for text in texts for one in re.split(r"(?<=[.!?])\W+", text) if one]
    openings = [tuple(re.findall(r"[\w'’]+", one.lower())[:3]) for one in sentences]
    figures = {
        "pronouns per word": sum(word in PRONOUNS for word in words) / len(words),
        "different openings": len(set(openings)) / len(openings),
    }
    for n in (4, 8):
        grams = [ngrams(text, n) for text in texts]
        spread = Counter(gram for found in grams for gram in found)
        shares = [sum(spread[gram] > 1 for gram in found) / len(found) for found in grams if found]
        figures[f"shared {n}-grams"] = sum(shares) / len(shares)
    figures["commonest 8-gram"] = max(spread.values()) / len(texts)
    return figures


PRONOUNS = frozenset(["he", "she", "him", "her", "his", "hers", "himself", "herself"])


def novels(folder: Path, words: int, n: int) -> list[str]:
    """Stretches of novels as long as chapters, spread over all texts."""
    stretches = []
    for path in sorted(folder.rglob("*.txt")):
        text = path.read_text("utf-8", errors="replace").split()
        stretches += [" ".join(text[at : at + words]) for at in range(0, len(text) - words, words)]
    step = max(1, len(stretches) // n)
    return stretches[::step][:n]


def of_level(book: str, universe: str, level: int, seed: int) -> dict[str, float]:
    """All figures of one book."""
    start = time.perf_counter()
    recipe = Recipe(book, universe, level=level, seed=seed)
    outline = draw_outline(recipe)
    data = make_book(recipe, outline)
    figures = {"seconds": time.perf_counter() - start, "chapters": float(len(data.chapters))}

    cues = {"t": "time", "s": "space", "e": "entity", "c": "content"}
    names = {letter: sorted({v for q in data.questions if (v := getattr(q, cue))}) for letter, cue in cues.items()}
    program, one_link = (Program(data.book(), names, one_link=short) for short in (False, True))
    story = read_story(data.book())
    readers: dict[str, Callable[[Question], list[str]]] = {
        "program": lambda question: program.answer(question._asdict()),
        "program, one link": lambda question: one_link.answer(question._asdict()),
        "built-in reader": lambda question: listed(answer_question(story, question.question), question),
    }
    if level > 1:
        readers["solver, evidence alone"] = Oracle(data, outline.universe).answer
    answerable = [question for question in data.selected if question.answer]
    for name, answer in readers.items():
        said = {question.id: answer(question) for question in data.selected}
        figures[name] = exact((said[question.id] for question in data.selected), data.selected)
        figures[f"{name}, with an answer"] = exact((said[question.id] for question in answerable), answerable)
    return figures | prose([chapter.text for chapter in data.chapters])


def listed(answer: str, question: Question) -> list[str]:
    """The items of an answer of the built-in reader."""
    if question.trace == "full_details":
        return [] if answer.startswith("The text does not say") else [answer]
    return [line.removeprefix("- ") for line in answer.splitlines() if line.startswith("- ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", default="long")
    parser.add_argument("--universe", default="default", help="one with scenes (default)")
    parser.add_argument("--seed", type=int, default=0, help="of the book (0)")
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS))
    parser.add_argument("--novels", type=Path, help="a folder with texts of novels to compare with")
    parser.add_argument("--quick", action="store_true", help="the short book")
    args = parser.parse_args()

    from rich.console import Console
    from rich.table import Table

    book = "short" if args.quick else args.book
    columns = {f"level {level}": of_level(book, args.universe, level, args.seed) for level in args.levels}
    if args.novels:
        columns["novels"] = prose(novels(args.novels, 430, 200))
    console = Console()
    console.print(f"Python {platform.python_version()}, {book} book of the universe {args.universe}, seed {args.seed}")
    table = Table("", *columns)
    for name in dict.fromkeys(name for figures in columns.values() for name in figures):
        table.add_row(name, *(f"{figures[name]:.3f}" if name in figures else "–" for figures in columns.values()))
    console.print(table)
    rounded = {column: {name: round(value, 4) for name, value in one.items()} for column, one in columns.items()}
    print(json.dumps({"book": book, "universe": args.universe, "seed": args.seed, "levels": rounded}))


if __name__ == "__main__":
    main()
