"""The validation report: counts of whatever in the rows limits the meaning of a score on them.

Paper: Sections 4 and 5, Table 2, Appendix B. Every number is counted in the rows. What the paper says about its own rows is
not repeated here, except for the essay lengths and the word list that it promises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from epbench.files.json_files import read_json
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import facts_to_store, questions_of
from epbench.memfail.dataset.revision import REVISION, leaks, values_of
from epbench.memfail.dataset.schema import CHOICES, SENTENCES, Row, chain_of, facts_of
from epbench.memfail.dataset.shortcuts import shortcuts
from epbench.memfail.dataset.word_rules import (
    connectives,
    content_of,
    overlaps,
    sentences,
    stands_in,
    stands_literally_in,
)

Findings = dict[str, Any]
Report = dict[str, Findings]

PAIRED = ("entity_category", "condition_type", "entity", "condition", "behavior", "question", "condition_met")


def validate(tables: Mapping[str, Sequence[Row]], count_tokens: Callable[[str], int] | None = None) -> Report:
    """Count the limits of each config, whose completed rows are one store, and the tokens if something counts them.

    By config and name of the finding, which `data/findings.toml` explains, there are numbers, shares from 0 to 1, lists
    of row ids, and counts by value.
    """
    report: Report = {}
    for config, rows in tables.items():
        report[config] = {
            **_common(config, rows, count_tokens),
            **_OF_CONFIG.get(config, _conditional)(config, rows),
            "shortcuts": shortcuts(config, rows),
        }
    easy, hard = (tables.get(f"conditional_facts_{level}") for level in ("easy", "hard"))
    if easy and hard:
        report["conditional_facts_hard"]["rows_equal_to_easy_in"] = {
            column: sum(a[column] == b[column] for a, b in zip(easy, hard, strict=False)) for column in PAIRED
        }
    return report


def floor_of(findings: Findings) -> float:
    """Return the share of questions, 0 to 1, that the best constant answer, or always abstaining, gets right without memory."""
    floors = "always_the_same_answer right_with_an_empty_memory always_the_same_letter always_the_longest_option"
    return max((findings[name] for name in floors.split() if name in findings), default=0.0)


def condition_types() -> Sequence[str]:
    """Return the 32 condition types (paper: Table 3)."""
    return tuple(read_json(packaged("epbench.memfail", "conditional.json"))["states"])


def _common(config: str, rows: Sequence[Row], count_tokens: Callable[[str], int] | None) -> Findings:
    facts, questions = facts_to_store(config, rows), questions_of(config, rows)
    lengths = [len(fact.text.split()) for fact in facts]
    largest, near = overlaps([fact.text for fact in facts])
    return {
        "rows": len(rows),
        "units": len(facts),
        "questions": len(questions),
        "words_per_unit": {"least": min(lengths), "mean": round(sum(lengths) / len(lengths), 1), "most": max(lengths)},
        "repeated_units": len(facts) - len({fact.text for fact in facts}),
        "repeated_questions": len(questions) - len({question.text for question in questions}),
        "largest_overlap": round(largest, 3),
        "near_duplicate_pairs": near,
        **({"tokens_per_row": _tokens_per_row(config, rows, count_tokens)} if count_tokens else {}),
    }


def _tokens_per_row(config: str, rows: Sequence[Row], count_tokens: Callable[[str], int]) -> dict[str, float]:
    """The mean tokens of all stored texts and questions of a row, by size of the row where Table 2 does so."""
    by_size, questions = config in ("coexisting_facts", "long_hop"), questions_of(config, rows)
    tokens: Counter[str] = Counter()
    texts = [(fact.row, fact.text) for fact in facts_to_store(config, rows)]
    for row, text in (*texts, *((question.row, question.text) for question in questions)):
        tokens[row] += count_tokens(text)
    sizes: dict[str, list[int]] = {}
    for row, group in {question.row: question.group if by_size else "all" for question in questions}.items():
        sizes.setdefault(group, []).append(tokens[row])
    return {group: round(fmean(sizes[group]), 2) for group in sorted(sizes)}


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
        "behavior_word_for_word": sum(stands_literally_in(row["behavior"], _essay(row)) for row in rows),
        "condition_word_for_word": sum(stands_literally_in(row["condition"], _essay(row)) for row in rows),
        **_sentences(config, rows),
    }
    if config == "conditional_facts_hard":
        findings["explicit_connectives"] = {row["id"]: words for row in rows if (words := connectives(_essay(row)))}
    return findings


def _coexisting(config: str, rows: Sequence[Row]) -> Findings:
    stored = [(row, *of) for row in rows for of in zip(row["preferences"], row["preference_facts"], strict=True)]
    used = Counter(name.lower() for row in rows for name in row["preferences"])
    return {
        "rows_by_size": _counts(len(row["preferences"]) for row in rows),
        "facts_by_size": _counts(len(row["preferences"]) for row, _, _ in stored),
        "categories": len({row["preference_category"] for row in rows}),
        "preference_word_for_word": sum(name.lower() in fact.lower() for _, name, fact in stored),
        "facts_naming_another_preference_of_the_row": sum(
            any(stands_literally_in(other, fact) for other in row["preferences"] if other != name)
            for row, name, fact in stored
        ),
        "questions_naming_a_preference": sum(
            any(stands_literally_in(name, row["question"]) for name in row["preferences"]) for row in rows
        ),
        "names_in_several_rows": {name: n for name, n in used.most_common() if n > 1},
        "answers_that_list_the_names": sum(row["ground_truth_answer"] == ", ".join(row["preferences"]) for row in rows),
    }


def _persona(config: str, rows: Sequence[Row]) -> Findings:
    asked = [(row, *of) for row in rows for of in zip(row["questions"], row["n_essays_of_asked_name"], strict=True)]
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
            stands_literally_in(question["ground_truth_answer"], _essay(row)) for row, question, _ in direct
        ),
        **_sentences(config, rows),
    }


def _long_hop(config: str, rows: Sequence[Row]) -> Findings:
    used = Counter(anchor for row in rows for anchor in {anchor.lower() for anchor in chain_of(row)})
    options = [[row[choice] for choice in CHOICES] for row in rows]
    longest = sum(max(of_row, key=len) == row["ground_truth_answer"] for row, of_row in zip(rows, options, strict=True))
    letters = Counter(row["correct_choice"] for row in rows)
    answers = [row["ground_truth_answer"].lower() for row in rows]
    wrong = {o.lower() for answer, of in zip(answers, options, strict=True) for o in of if o.lower() != answer}
    return {
        "rows_by_hops": _counts(row["hop_count"] for row in rows),
        "facts_by_hops": _counts(row["hop_count"] for row in rows for _ in facts_of(row)),
        "letters": _counts(row["correct_choice"] for row in rows),
        "always_the_same_letter": _ratio(max(letters.values()), len(rows)),
        "always_the_longest_option": _ratio(longest, len(rows)),
        "only_the_true_option_in_any_fact": sum(row["option_leak"] for row in rows),
        "one_name_in_question_and_facts": sum(_names_one_person(row) for row in rows),
        "head_not_in_stem": _ids(rows, lambda row: chain_of(row)[0].lower() not in row["stem"].lower()),
        "later_anchor_in_stem": _ids(
            rows, lambda row: any(stands_literally_in(a, row["stem"]) for a in chain_of(row)[1:])
        ),
        "anchors_not_in_all_their_facts": _ids(rows, _lacks_an_anchor),
        "anchors_of_several_chains": {anchor: n for anchor, n in used.most_common() if n > 1},
        "true_answers_that_are_wrong_elsewhere": len(wrong.intersection(answers)),
    }


def _names_one_person(row: Row) -> bool:
    """Whether the question and every fact share a name, which then leads to the whole chain by itself."""
    names = [set(re.findall(r"\b[A-Z]\w+", text)) for text in (row["stem"], *facts_of(row))]
    return bool(set.intersection(*names))


def _lacks_an_anchor(row: Row) -> bool:
    """Whether an anchor is not in one of the one or two facts next to it (Appendix B.6)."""
    links = zip(pairwise(chain_of(row)), facts_of(row), strict=True)
    return any(anchor.lower() not in fact.lower() for link, fact in links for anchor in link)


def _revision(config: str, rows: Sequence[Row]) -> Findings:
    used = Counter(name for row in rows for name in row["subjects"])
    kinds = Counter(question["kind"] for row in rows for question in row["questions"])
    return {
        "facts_by_fate": _counts(fact["fate"] for row in rows for fact in row["facts"]),
        "messages_by_act": _counts(said["act"] for row in rows for said in row["statements"]),
        "questions_by_kind": _counts(question["kind"] for row in rows for question in row["questions"]),
        "right_with_an_empty_memory": _ratio(kinds["forgotten"], kinds.total()),
        "names_in_several_revision_rows": sum(n > 1 for n in used.values()),
        "subject_not_in_question": _ids(
            rows, lambda row: any(fact["subject"] not in q["text"] for q, fact in _asked(row))
        ),
        "value_in_question": _ids(
            rows, lambda row: any(stands_in(value, q["text"]) for q, _ in _asked(row) for value in values_of(row))
        ),
        "value_not_told": _ids(rows, _leaves_a_value_out),
        "value_leaks": _ids(rows, lambda row: any(leaks(row))),
        "values_that_share_words": _ids(rows, _shares_words),
    }


def _asked(row: Row) -> list[tuple[Row, Row]]:
    return [(question, row["facts"][question["fact"]]) for question in row["questions"]]


def _leaves_a_value_out(row: Row) -> bool:
    told = [(said["text"], i) for said in row["statements"] if said["act"] == "tells" for i in said["facts"]]
    return not all(stands_in(row["facts"][i]["first"], text) for text, i in told)


def _shares_words(row: Row) -> bool:
    words = Counter(word for value in values_of(row) for word in content_of(value))
    return max(words.values()) > 1


_OF_CONFIG: dict[str, Callable[[str, Sequence[Row]], Findings]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
    REVISION: _revision,
}


def _essay(row: Row) -> str:
    return str(row["entity_facts"][0])


def _sentences(config: str, rows: Sequence[Row]) -> Findings:
    low, high = SENTENCES[config]
    lengths = [len(sentences(_essay(row))) for row in rows]
    return {
        "essays_by_sentences": _counts(lengths),
        "essays_of_another_length_than_the_paper_says": sum(not low <= n <= high for n in lengths),
    }


def _ids(rows: Sequence[Row], test: Callable[[Row], bool]) -> list[str]:
    return [row["id"] for row in rows if test(row)]


def _counts(values: Iterable[object]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items(), key=lambda item: str(item[0]).zfill(3))}


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
