"""Coexisting-Facts from templates: facts about preferences that are true side by side.

Paper: Section 4, task 2. A category is a kind of thing on an occasion (`hats on stage`). No preference is named in another
row, so exactly the facts of a row answer its question. The questions of the harder rows describe the occasion and ask for
the category in other words: they share no word of meaning with the facts.
"""

from __future__ import annotations

from itertools import product

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import bank, fill, pairs, spread

PREFERENCES = (2, 3, 4, 5)


def coexisting_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows with 2, 3, 4 and 5 preferences, each number equally often.

    Args:
        n: Number of rows.
        seed: Seed of all draws.
        harder: Whether questions avoid the words of the facts.

    Raises:
        BadInput: There are fewer than n categories.
    """
    stream = RandomStream("memfail preferences", seed, n)
    content = bank("coexisting")
    scenarios = bank("coexisting_harder")
    groups = {
        category: group
        for group in content["groups"]
        for category in group["categories"]
        if not harder or category in scenarios["asks"]
    }
    occasions = {
        category: stream.sample([*group["occasions"]], len(group["occasions"])) for category, group in groups.items()
    }
    kinds = {category: stream.sample(group["kinds"], len(group["kinds"])) for category, group in groups.items()}
    # Every frame and reason meet once on an occasion, or facts would differ by the name of the thing alone.
    wordings = [*product(content["frames"], content["reasons"])]
    decks = {
        occasion: stream.sample(wordings, len(wordings))
        for group in content["groups"]
        for occasion in group["occasions"]
    }
    drawn = pairs([*groups], range(min(map(len, occasions.values()))), n, stream, "categories of preferences")
    rows = []
    for (category, number), size in zip(drawn, spread(PREFERENCES, n, stream), strict=True):
        occasion = occasions[category][number]
        names = [f"{kinds[category].pop()} {groups[category]['categories'][category]}" for _ in range(size)]
        facts = []
        for name in names:
            frame, reason = decks[occasion].pop()
            facts.append(fill(frame, {"name": name, "occasion": occasion, "reason": reason}, stream))
        if harder:
            scene = {"scene": scenarios["scenes"][occasion], "ask": scenarios["asks"][category]}
        else:
            scene = {"scene": groups[category]["occasions"][occasion], "category": category}
        rows.append(
            {
                "preference_category": f"{category} {occasion}",
                "preferences": names,
                "preference_facts": facts,
                "question": fill(stream.pick((scenarios if harder else content)["questions"]), scene, stream),
                "ground_truth_answer": ", ".join(names),
            }
        )
    return rows
