"""From which similarity on a phrase names an item: the thresholds of the judge `minilm`, and how they were found.

    python benchmarks/similarity.py
    python benchmarks/similarity.py --model st-folder

Items of the three universes that have no paraphrase in the calibration set are named in other words
(similarity_paraphrases.toml) or by their names, in answers of several wordings, and compared with every item of their
universe. Prints for places and contents, for descriptions and names, how often the right item (found) and another one
(false) is at least so similar; `<` marks the thresholds in use. The last line is one JSON object with the same numbers
at the thresholds. A description may be false once in a hundred comparisons for 1, and three times for 0.5. An answer that
is wrong mostly names another item of the book, so names may be false once and twice in a thousand.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

CARRIERS = (
    "{}",
    "1. {}",
    "I believe the answer is {}.",
    "In the chapter I have in mind, it happened at {}, if I am right.",
    "The narrator mentions {} here.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a sentence-transformers model (minilm)")
    model = parser.parse_args().model

    from epbench.errors import BadInput
    from epbench.retrieval.embedders import SentenceTransformerEmbedder
    from epbench.tulving.judging.similarity import DESCRIBED, NAMED

    try:
        embedder = SentenceTransformerEmbedder(model)
    except BadInput as error:
        print(f"left out: {error}")
        return
    print(f"similarity by {embedder.name}")
    numbers = {}
    for trace in ("contents", "spaces"):
        found, false = compared(embedder, trace)
        for sort, thresholds in (("described", DESCRIBED[trace]), ("named", NAMED[trace])):
            print(f"\n{trace}, {sort}: {len(found[sort])} right pairs, {len(false[sort])} others")
            for step in range(30, 81):
                least = step / 100
                used = least in thresholds
                if used or step % 5 == 0:
                    shares = share(found[sort], least), share(false[sort], least)
                    print(f"  {least:.2f}  found {shares[0]:.3f}  false {shares[1]:.4f}{'  <' if used else ''}")
                    if used:
                        numbers[f"{trace} {sort} {least}"] = shares
    print(json.dumps(numbers))


def share(values: list[float], least: float) -> float:
    return sum(value >= least for value in values) / len(values) if values else 0.0


def compared(embedder, trace: str) -> tuple[Mapping[str, list[float]], Mapping[str, list[float]]]:
    """Similarities of the right pairs and of all others, by whether the answer describes or names something."""
    from epbench.tulving.judging.lexical import normal
    from epbench.tulving.judging.similarity import Similarities, phrases_of

    similarities = Similarities(embedder)
    cases = list(answers(trace))
    similarities.prepare(
        (normal(item), phrase.words)
        for _, answer, items in cases
        for phrase in phrases_of(answer, "")
        for item in items
    )
    found, false = defaultdict(list), defaultdict(list)
    for right, answer, items in cases:
        sorts = defaultdict(list)
        for phrase in phrases_of(answer, ""):
            sorts["named" if phrase.is_name else "described"].append(phrase.words)
        for item in items:
            for sort, phrases in sorts.items():
                best = max(similarities.between(normal(item), phrase) for phrase in phrases)
                (found if item == right else false)[sort].append(best)
    return found, false


def answers(trace: str) -> Iterator[tuple[str, str, list[str]]]:
    """The item meant, an answer, and all items of its universe: first paraphrases, then names as they are."""
    from epbench.tulving.events.universe_files import read_universe_files

    paraphrases = tomllib.loads(Path(__file__).with_name("similarity_paraphrases.toml").read_text("utf-8"))[trace]
    for universe, listed in paraphrases.items():
        files = read_universe_files(universe)
        items = sorted(files.details if trace == "contents" else files.locations)
        for number, (item, words) in enumerate(listed.items()):
            yield item, CARRIERS[number % len(CARRIERS)].format(words), items
        for number, item in enumerate(items):
            others = [other for other in items if other != item]
            yield item, CARRIERS[number % len(CARRIERS)].format(item), others


if __name__ == "__main__":
    main()
