"""The findings that only one config has, such as the hops of a chain or the balance of its answers.

Paper: Section 4, Table 3, Appendix B.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from epbench.memfail.dataset.schema import CHOICES, Row, chain_of, facts_of
from epbench.memfail.templates.conditional import condition_types
from epbench.memfail.validation.text_statistics import connectives, sentences, stands_in

Findings = dict[str, Any]

# Sentences per essay that the paper promises (Section 4).
PROMISED_SENTENCES = {
    "conditional_facts_easy": (5, 8),
    "conditional_facts_hard": (8, 12),
    "persona_retrieval": (10, 15),
}


def findings_of_config(config: str, rows: Sequence[Row]) -> Findings:
    """Return the findings that are specific to a config, by name.

    Args:
        config: One of `epbench.memfail.dataset.types.CONFIGS`.
        rows: Completed rows, all stored together.
    """
    return _OF_CONFIG.get(config, _conditional)(config, rows)


def _conditional(config: str, rows: Sequence[Row]) -> Findings:
    names = Counter(row["entity"] for row in rows)
    types = {row["condition_type"] for row in rows}
    answers = Counter(row["answer_polarity"] for row in rows)  # not the conditions: answers are what is judged
    findings: Findings = {
        "answers": _counts(row["condition_met"] for row in rows),
        "always_the_same_answer": _ratio(max(answers["yes"], answers["no"]), len(rows)),
        "answer_against_condition": _ids(rows, lambda row: row["answer_polarity"] != row["condition_met"]),
        "entities": len(names),
        "rows_sharing_a_name": sum(n for n in names.values() if n > 1),
        "name_not_in_question": _ids(rows, lambda row: row["entity"] not in row["question"]),
        "condition_types": len(types),
        "unused_condition_types": [name for name in condition_types() if name not in types],
        "behavior_word_for_word": sum(stands_in(row["behavior"], _essay(row)) for row in rows),
        "condition_word_for_word": sum(stands_in(row["condition"], _essay(row)) for row in rows),
        **_sentences(config, rows),
    }
    if config == "conditional_facts_hard":
        findings["explicit_connectives"] = {row["id"]: found for row in rows if (found := connectives(_essay(row)))}
    return findings


def _coexisting(config: str, rows: Sequence[Row]) -> Findings:
    stored = [
        (row, name, fact)
        for row in rows
        for name, fact in zip(row["preferences"], row["preference_facts"], strict=True)
    ]
    used = Counter(name.lower() for row in rows for name in row["preferences"])
    return {
        "rows_by_size": _counts(len(row["preferences"]) for row in rows),
        "facts_by_size": _counts(len(row["preferences"]) for row, _, _ in stored),
        "categories": len({row["preference_category"] for row in rows}),
        "preference_word_for_word": sum(name.lower() in fact.lower() for _, name, fact in stored),
        "facts_naming_another_preference_of_the_row": sum(
            any(stands_in(other, fact) for other in row["preferences"] if other != name) for row, name, fact in stored
        ),
        "questions_naming_a_preference": sum(
            any(stands_in(name, row["question"]) for name in row["preferences"]) for row in rows
        ),
        "names_in_several_rows": {name: n for name, n in used.most_common() if n > 1},
        "answers_that_list_the_names": sum(row["ground_truth_answer"] == ", ".join(row["preferences"]) for row in rows),
    }


def _persona(config: str, rows: Sequence[Row]) -> Findings:
    asked = [
        (row, question, essays)
        for row in rows
        for question, essays in zip(row["questions"], row["n_essays_of_asked_name"], strict=True)
    ]
    direct = [(row, question, essays) for row, question, essays in asked if not question["is_misleading"]]
    misleading = [essays for _, question, essays in asked if question["is_misleading"]]
    return {
        "direct": len(direct),
        "misleading": len(misleading),
        "right_with_an_empty_memory": _ratio(len(misleading), len(asked)),
        "misleading_per_row": _counts(sum(question["is_misleading"] for question in row["questions"]) for row in rows),
        "entities": len({row["entity"] for row in rows}),
        "misleading_about_somebody_with_an_essay": sum(essays > 0 for essays in misleading),
        "misleading_about_somebody_unknown": sum(essays == 0 for essays in misleading),
        "direct_about_an_ambiguous_name": sum(essays > 1 for _, _, essays in direct),
        "essays_per_directly_asked_name": _ratio(sum(essays for _, _, essays in direct), len(direct)),
        "asked_name_not_in_question": sum(
            (question["distractor"] or row["entity"]) not in question["text"] for row, question, _ in asked
        ),
        "true_answer_word_for_word": sum(
            stands_in(question["ground_truth_answer"], _essay(row)) for row, question, _ in direct
        ),
        **_sentences(config, rows),
    }


def _long_hop(config: str, rows: Sequence[Row]) -> Findings:
    used = Counter(anchor for row in rows for anchor in {anchor.lower() for anchor in chain_of(row)})
    options = [[row[choice] for choice in CHOICES] for row in rows]
    longest = sum(max(of_row, key=len) == row["ground_truth_answer"] for row, of_row in zip(rows, options, strict=True))
    answers = [row["ground_truth_answer"].lower() for row in rows]
    wrong = {
        option.lower()
        for answer, of_row in zip(answers, options, strict=True)
        for option in of_row
        if option.lower() != answer
    }
    return {
        "rows_by_hops": _counts(row["hop_count"] for row in rows),
        "facts_by_hops": _counts(row["hop_count"] for row in rows for _ in facts_of(row)),
        "letters": _counts(row["correct_choice"] for row in rows),
        "always_the_same_letter": _largest_share(row["correct_choice"] for row in rows),
        "always_the_longest_option": _ratio(longest, len(rows)),
        "only_the_true_option_in_any_fact": sum(row["option_leak"] for row in rows),
        "one_name_in_question_and_facts": sum(_names_one_person(row) for row in rows),
        "head_not_in_stem": _ids(rows, lambda row: chain_of(row)[0].lower() not in row["stem"].lower()),
        "later_anchor_in_stem": _ids(rows, lambda row: any(stands_in(a, row["stem"]) for a in chain_of(row)[1:])),
        "anchors_not_in_all_their_facts": _ids(rows, lambda row: not _anchors_in_facts(row)),
        "anchors_of_several_chains": {anchor: n for anchor, n in used.most_common() if n > 1},
        "true_answers_that_are_wrong_elsewhere": len(wrong.intersection(answers)),
    }


def _names_one_person(row: Row) -> bool:
    """Return whether the question and every fact share a name, which then leads to the whole chain by itself."""
    names = [set(re.findall(r"\b[A-Z]\w+", text)) for text in (row["stem"], *facts_of(row))]
    return bool(set.intersection(*names))


def _anchors_in_facts(row: Row) -> bool:
    """Return whether every anchor appears in the one or two facts next to it (Appendix B.6)."""
    links = zip(pairwise(chain_of(row)), facts_of(row), strict=True)
    return all(anchor.lower() in fact.lower() for link, fact in links for anchor in link)


_OF_CONFIG: dict[str, Callable[[str, Sequence[Row]], Findings]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
}


def _essay(row: Row) -> str:
    essay: str = row["entity_facts"][0]
    return essay


def _sentences(config: str, rows: Sequence[Row]) -> Findings:
    low, high = PROMISED_SENTENCES[config]
    lengths = [len(sentences(_essay(row))) for row in rows]
    return {
        "essays_by_sentences": _counts(lengths),
        "essays_of_another_length_than_the_paper_says": sum(not low <= n <= high for n in lengths),
    }


def _ids(rows: Sequence[Row], test: Callable[[Row], bool]) -> list[str]:
    return [row["id"] for row in rows if test(row)]


def _counts(values: Iterable[object]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items(), key=lambda item: str(item[0]).zfill(3))}


def _largest_share(values: Iterable[object]) -> float:
    counts = Counter(values)
    return _ratio(max(counts.values()), counts.total())


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
