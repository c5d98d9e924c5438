"""The validation report: counts of whatever in the rows of a store limits the meaning of a score on them.

Paper: Sections 4 and 5, Table 2, Appendix B. Every number is counted in the rows. What the paper says about its own rows is
not repeated here, except for the essay lengths and the word list that it promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from epbench.memfail.dataset.questions import facts_to_store, questions_of
from epbench.memfail.dataset.schema import Row
from epbench.memfail.validation.by_config import Findings, findings_of_config
from epbench.memfail.validation.shortcuts import shortcuts
from epbench.memfail.validation.text_statistics import overlaps

Report = dict[str, Findings]

PAIRED = ("entity_category", "condition_type", "entity", "condition", "behavior", "question", "condition_met")


def validate(tables: Mapping[str, Sequence[Row]], count_tokens: Callable[[str], int] | None = None) -> Report:
    """Count the limits of each config.

    Args:
        tables: The completed rows of each config; every config is one store.
        count_tokens: Counts the tokens of a text. If it is None, only words are counted.

    Returns:
        By config and name of the finding: numbers, shares from 0 to 1, lists of row ids, and counts by value.
        `epbench.memfail.dataset.card.LABELS` says what each name means.
    """
    report: Report = {}
    for config, rows in tables.items():
        report[config] = {
            **_common(config, rows, count_tokens),
            **findings_of_config(config, rows),
            "shortcuts": shortcuts(config, rows),
        }
    easy, hard = (tables.get(f"conditional_facts_{level}") for level in ("easy", "hard"))
    if easy and hard:
        report["conditional_facts_hard"]["rows_equal_to_easy_in"] = {
            column: sum(a[column] == b[column] for a, b in zip(easy, hard, strict=False)) for column in PAIRED
        }
    return report


def floor_of(findings: Findings) -> float:
    """Return the share of questions, from 0 to 1, that can be answered without any memory.

    It is reached by the best constant answer or by always abstaining.
    """
    floors = (
        "always_the_same_answer",
        "right_with_an_empty_memory",
        "always_the_same_letter",
        "always_the_longest_option",
    )
    return max((findings[name] for name in floors if name in findings), default=0.0)


def _common(config: str, rows: Sequence[Row], count_tokens: Callable[[str], int] | None) -> Findings:
    facts, questions = facts_to_store(config, rows), questions_of(config, rows)
    lengths = [len(fact.text.split()) for fact in facts]
    largest, near = overlaps([fact.text for fact in facts])
    findings: Findings = {
        "rows": len(rows),
        "units": len(facts),
        "questions": len(questions),
        "words_per_unit": {"least": min(lengths), "mean": round(sum(lengths) / len(lengths), 1), "most": max(lengths)},
        "repeated_units": len(facts) - len({fact.text for fact in facts}),
        "repeated_questions": len(questions) - len({question.text for question in questions}),
        "largest_overlap": round(largest, 3),
        "near_duplicate_pairs": near,
    }
    if count_tokens:
        findings["tokens_per_row"] = _tokens_per_row(config, rows, count_tokens)
    return findings


def _tokens_per_row(config: str, rows: Sequence[Row], count_tokens: Callable[[str], int]) -> dict[str, float]:
    """Return the mean tokens of all stored texts and questions of a row, by size of the row where Table 2 does so."""
    tokens: Counter[str] = Counter()
    group: dict[str, str] = {}
    for fact in facts_to_store(config, rows):
        tokens[fact.row] += count_tokens(fact.text)
    for question in questions_of(config, rows):
        tokens[question.row] += count_tokens(question.text)
        group[question.row] = question.group if config in ("coexisting_facts", "long_hop") else "all"
    counts = Counter(group.values())
    return {
        name: round(sum(tokens[row] for row in group if group[row] == name) / counts[name], 2)
        for name in sorted(counts)
    }
