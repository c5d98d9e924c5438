"""Template rows into which the limits of the published rows are planted, in the same numbers.

Plain template rows have none of these limits. Comments say which finding of `epbench.memfail.dataset.findings` each planted
number produces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, count, pairwise
from typing import Any

from epbench.memfail.dataset.schema import CHOICES, LETTERS, OPTIONS_MARK, Row, chain_of
from epbench.memfail.dataset.word_rules import sentences
from epbench.memfail.templates.rows import make_rows

UNUSED = ("day_of_week", "social_setting", "completion_state", "scent", "conflict_state")
YES = {*range(31), 88}  # rows of Easy whose condition is met


@cache
def limited_rows() -> Mapping[str, list[Row]]:
    """Return the published columns of all five configs: 100 rows each, and 92 of long_hop."""
    easy = _easy()
    return {
        "conditional_facts_easy": easy,
        "conditional_facts_hard": _hard(easy),
        "coexisting_facts": _coexisting(),
        "persona_retrieval": _persona(),
        "long_hop": _long_hop(),
    }


def renamed(row: Row, old: str, new: str) -> Row:
    """Return a row in which some words are replaced everywhere."""
    changed: Row = json.loads(json.dumps(row, ensure_ascii=False).replace(old, new))
    return changed


def _easy() -> list[Row]:
    rows = make_rows("conditional_facts_easy", 100)
    rows = _sharing_names(rows, twos=12, fours=4)  # 76 entities, 40 rows sharing a name
    rows = [row | {"condition_type": _used(row["condition_type"])} for row in rows]
    rows = [_answered(row, i in YES, i in YES - {88}) for i, row in enumerate(rows)]
    rows[64]["question"] = rows[64]["question"].replace(rows[64]["entity"], "the friend")
    lengths = [5] * 2 + [6] * 53 + [7] * 45
    return [_of_length(row, n) for row, n in zip(rows, lengths, strict=True)]


def _hard(easy: list[Row]) -> list[Row]:
    rows = make_rows("conditional_facts_hard", 100, seed=1)
    rows = [renamed(row, row["entity"], f"{row['entity']} Junior") for row in rows]  # no entity of Easy
    rows = [renamed(row, row["condition"], f"{row['condition']} once more") for row in rows]
    rows = [renamed(row, row["behavior"], f"{row['behavior']} at length") for row in rows]
    rows = _sharing_names(rows, twos=13, fours=4)  # 75 entities, 42 rows sharing a name
    for i in (96, 97):
        rows[i] = renamed(rows[i], rows[i]["entity"], easy[i]["entity"])  # equal to Easy in 2 entities,
    for i in (98, 99):
        rows[i] = renamed(rows[i], rows[i]["condition"], easy[i]["condition"])  # and in 2 conditions
    equal = ("entity_category", "condition_type")
    rows = [row | {name: of_easy[name] for name in equal} for row, of_easy in zip(rows, easy, strict=True)]
    met = YES | set(range(32, 49))  # 49 yes, and 83 as in Easy
    answered_yes = met - {21} | {31}
    rows = [_answered(row, i in met, i in answered_yes) for i, row in enumerate(rows)]
    for i in (53, 64):
        rows[i]["question"] = rows[i]["question"].replace(rows[i]["entity"], "the friend")
    rows = [_of_length(row, n) for row, n in zip(rows, [8] * 73 + [9] * 27, strict=True)]
    for i, told in ((2, "Whenever it is so"), (32, "And if it is so"), (95, "It is only when it is so that")):
        essay = rows[i]["entity_facts"][0]
        last = sentences(essay)[0]
        rows[i]["entity_facts"] = [essay.replace(last, f"{told}, all is well.", 1)]
    return rows


def _sharing_names(rows: list[Row], twos: int, fours: int) -> list[Row]:
    """Let the first rows share names, in groups of two and then of four."""
    sizes = [2] * twos + [4] * fours
    leaders = [sum(sizes[:i]) for i, size in enumerate(sizes) for _ in range(size)]
    shared = [renamed(row, row["entity"], rows[leader]["entity"]) for row, leader in zip(rows, leaders, strict=False)]
    return [*shared, *rows[len(shared) :]]


def _used(condition_type: str) -> str:
    return "time_of_day" if condition_type in UNUSED else condition_type


def _answered(row: Row, met: bool, said: bool) -> Row:
    answer = f"{'Yes' if said else 'No'} — that is what is known."
    return row | {"condition_met": "yes" if met else "no", "ground_truth_answer": answer}


def _of_length(row: Row, n: int) -> Row:
    """Return a row whose essay has n sentences; those with entity, behavior or condition are kept."""
    told = sentences(row["entity_facts"][0])
    needed = [any(row[name] in text for name in ("entity", "behavior", "condition")) for text in told]
    spare = [i for i, kept in enumerate(needed) if not kept]
    dropped = set(spare[: max(0, len(told) - n)])
    kept = [text for i, text in enumerate(told) if i not in dropped]
    return row | {"entity_facts": [" ".join([*kept, *["There is no more to say."] * (n - len(kept))])]}


def _coexisting() -> list[Row]:
    pool = make_rows("coexisting_facts", 132)
    wanted = {2: 26, 3: 31, 4: 20, 5: 23}  # 340 facts
    rows = [row for size, n in wanted.items() for row in [r for r in pool if len(r["preferences"]) == size][:n]]
    several = {"journaling": 4, "meditation": 4, "japanese": 3, "mind mapping": 3, "photography": 3}
    several |= {f"pastime {letter}": 2 for letter in "abcdefghijklmn"}
    names = [name for name, n in several.items() for _ in range(n)]
    for i, name in enumerate(names):
        rows[i] = renamed(rows[i], rows[i]["preferences"][0], name)
    for row in rows[-12:]:  # facts that do not name their preference
        row["preference_facts"][1] = row["preference_facts"][1].replace(row["preferences"][1], "such things")
    return rows


def _persona() -> list[Row]:
    rows = make_rows("persona_retrieval", 100)
    # Number of essays per name. One name has a single essay, and its row has two direct questions.
    sizes = [1] + [2] * 3 + [3] * 10 + [4] * 5 + [5] * 7 + [8]
    leaders = [sum(sizes[:i]) for i, size in enumerate(sizes) for _ in range(size)]
    rows = [renamed(row, row["entity"], rows[leader]["entity"]) for row, leader in zip(rows, leaders, strict=True)]
    misleading = [1] + [0] * 16 + [1] * 27 + [2] * 39 + [3] * 17
    strangers = chain((f"Nobody Known{'abcdefghijklmnopqrst'[i]}" for i in range(20)), _in_turn(rows))
    return [
        row | {"questions": [_asked(row, j, j < n, strangers) for j in range(3)]}
        for row, n in zip(rows, misleading, strict=True)
    ]


def _in_turn(rows: list[Row]) -> Iterator[str]:
    for i in count():
        yield rows[(i + 60) % len(rows)]["entity"]


def _asked(row: Row, number: int, is_misleading: bool, strangers: Iterator[str]) -> dict[str, Any]:
    other = next(name for name in strangers if name != row["entity"]) if is_misleading else None
    of_template = row["questions"][number]
    text = of_template["text"].replace(of_template["distractor"] or row["entity"], other or row["entity"])
    return {"text": text, "is_misleading": is_misleading, "distractor": other, "ground_truth_answer": "as it is told"}


def _long_hop() -> list[Row]:
    pool = make_rows("long_hop", 100)
    wanted = {1: 31, 2: 32, 3: 29}
    rows = [row for hops, n in wanted.items() for row in [r for r in pool if r["hop_count"] == hops][:n]]
    # Anchors of several chains are in the middle of chains, so that heads and true answers stay distinct.
    several = {"feel nostalgic": 3, "jitters": 2, "call my mom": 2, "lose track of time": 2, "feel energized": 2}
    several |= {"feel confident": 2}
    for i, name in enumerate(name for name, n in several.items() for _ in range(n)):
        rows[i] = renamed(rows[i], rows[i]["chain_2"], name)
    for row in rows[20:23]:  # an anchor that is missing from its fact
        row["fact_1"] = row["fact_1"].replace(row["chain_2"], "do so")
    named = [i for i, row in enumerate(rows) if " I " not in f" {row['fact_1']} "]
    for i in named[37:]:  # one name in question and facts in 37 rows
        rows[i] = _nameless(rows[i])
    letters = [letter for letter, n in zip(LETTERS, (16, 15, 24, 19, 18), strict=True) for _ in range(n)]
    return [_with_options(row, letters[i], _wrong(rows, i)) for i, row in enumerate(rows)]


def _nameless(row: Row) -> Row:
    """Return a row whose first fact does not give the name, so that no name leads through the chain."""
    person = next(words for words in _names(row["fact_1"]) if words in row["fact_2"])
    return row | {"fact_1": row["fact_1"].replace(person, "somebody")}


def _names(text: str) -> list[str]:
    words = text.split()
    pairs = (" ".join(pair).strip(".,?!’") for pair in pairwise(words))
    return [pair for pair in pairs if pair.istitle()]


def _wrong(rows: list[Row], i: int) -> list[str]:
    """Return wrong options: in 68 rows none is in any fact, in 21 the true one is longest, in 7 one is true elsewhere."""
    others = [f"nap {letter} {i}" for letter in "wxyz"]
    if i >= 21:
        others[0] = f"walk slowly all around the large old village pond in row {i}"
    if i >= 68:
        others[1] = rows[i - 60]["chain_1"]
    if i >= 85:
        others[2] = chain_of(rows[i - 80])[-1]
    return others


def _with_options(row: Row, letter: str, wrong: list[str]) -> Row:
    options = list(wrong)
    options.insert(LETTERS.index(letter), row["ground_truth_answer"])
    stem = row["graded_question"].split(OPTIONS_MARK)[0]
    listed = "\n".join(f"{x}. {option}" for x, option in zip(LETTERS, options, strict=True))
    choices = dict(zip(CHOICES, options, strict=True))
    return row | choices | {"correct_choice": letter, "graded_question": f"{stem}{OPTIONS_MARK}{listed}"}
