"""The configs by one model: rows, a report on how they came to be, and an estimate before anything is asked.

Paper: Section 4 and Appendix B. A config of which no row is left is an error; a row that is dropped is not.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.errors import BadInput
from epbench.journals.answers import fingerprint_of
from epbench.memfail.dataset.findings import Report
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.dataset.schema import LETTERS, Row, complete
from epbench.memfail.generation.asking import TEMPERATURE, TRIES, Asker, Planner
from epbench.memfail.generation.essays import conditional_rows, persona_rows
from epbench.memfail.generation.facts import coexisting_rows, revision_rows
from epbench.memfail.generation.long_hop import long_hop_rows
from epbench.memfail.templates.essays import EASY, HARD
from epbench.models.estimate import Estimate, check_window, estimate
from epbench.models.protocol import weights_of
from epbench.runs.checksums import version_of
from epbench.runs.usage import token_usage

MAX_TOKENS = 16_384  # of a reply: ten essays, and the thoughts of a model that reasons
FILE = "generation.json"
_PACKAGES = ("epbench", "datasketch", "openai", "transformers", "torch", "vllm")


def generate(asker: Asker, configs: Sequence[str], n: int, seed: int) -> dict[str, list[Row]]:
    """Return the completed rows of some of the `KNOWN` configs, at most n of each; the log tells what became of each.

    BadInput if n does not fit a config, or no row of one is left; RunFailed if requests got no answer.
    """
    least = len(LETTERS) if "long_hop" in configs else 1
    if n < least:
        why = " for long_hop, whose rows share their options" if least > 1 else ""
        raise BadInput(f"rows: expected at least {least}{why}, got {n}")
    drawn: dict[str, list[Row]] = {}
    if conditional := [config for config in configs if config in (EASY, HARD)]:
        drawn |= conditional_rows(asker, conditional, n, seed)
    drawn |= {config: rows_of(asker, n, seed) for config, rows_of in _ONE_BY_ONE.items() if config in configs}
    empty = [config for config in configs if not drawn[config]]
    if empty and not isinstance(asker, Planner):
        most = sorted(asker.log.rejections.items(), key=lambda of_check: -len(of_check[1]))[:3]
        reasons = ", ".join(f"{check} ({len(found)} times)" for check, found in most)
        example = most[0][1][0]["reason"] if most else "none"
        raise BadInput(
            f"{asker.model.name}: no row of {', '.join(empty)} is left of the {n} that were asked for, after {TRIES} tries "
            f"each; most failed {reasons}, such as: {example}; the replies are kept, choose another model or other prompts"
        )
    return {config: complete(config, drawn[config]) for config in configs}


_ONE_BY_ONE = {
    "coexisting_facts": coexisting_rows,
    "persona_retrieval": persona_rows,
    "long_hop": long_hop_rows,
    REVISION: revision_rows,
}


def plan(planner: Planner, configs: Sequence[str], n: int, seed: int) -> tuple[Estimate, str | None]:
    """Return what the first tries take if every row passes, and a warning if the model's window is unknown.

    Rows that later requests are about are stand-ins of usual length. BadInput if a prompt with its reply exceeds the
    window.
    """
    generate(planner, configs, n, seed)
    warning = check_window(planner.requests, planner.model, {})
    return estimate(planner.requests, planner.model), warning


def plan_lines(estimated: Estimate) -> list[str]:
    """Return an estimate as lines: the first tries, and the most that three tries can take."""
    prompt = estimated.uncached + estimated.cached
    return [
        f"first tries: {estimated.requests:,} requests, about {prompt:,} prompt tokens, at most "
        f"{estimated.completion:,} answer tokens; the longest prompt and answer take {estimated.longest:,}",
        f"at most, with {TRIES} tries each: {TRIES * estimated.requests:,} requests, and {TRIES} times as many tokens",
    ]


def about(asker: Asker, tables: Mapping[str, Sequence[Row]], n: int, seed: int, report: Report) -> dict[str, Any]:
    """Return the content of `generation.json`, from the rows that are left of n, and the validation report on them."""
    usage, versions = token_usage(asker.paid.values()), {"python": platform.python_version()}
    versions |= {package: found for package in _PACKAGES if (found := version_of(package))}
    dropped = {found["row"] for of_check in asker.log.rejections.values() for found in of_check if found["dropped"]}
    audits = {row for row in dropped if row.startswith("audit ")}
    return {
        "model": asker.model.name,
        **weights_of(asker.model),
        "served": usage["served"],
        "seed": seed,
        "rows_asked_for": n,
        "rows": {config: len(rows) for config, rows in tables.items()},
        "temperature": TEMPERATURE,
        "versions": versions,
        "prompt_hash": fingerprint_of(asker.prompts),
        "requests": usage["requests"],
        "tokens": {"in": usage["prefilled"] + usage["saved"], "out": usage["generated"]},
        "steps": [*asker.log.counts.values()],
        "dropped": sorted(dropped - audits),
        "audits_without_verdict": sorted(dropped & audits),
        "rejections": asker.log.rejections,
        "validation_failures": validation_failures(report),
    }


def validation_failures(report: Report) -> list[str]:
    """Return what in the validation report of generated rows should be zero and is not, one line each."""
    failures = []
    for config, findings in report.items():
        zero = [name for name in _SHOULD_BE_NONE if findings.get(name)]
        failures += [f"{config}: {name} is {findings[name]}" for name in zero]
        unequal = [column for column, n in findings.get("rows_equal_to_easy_in", {}).items() if n != findings["rows"]]
        failures += [f"{config}: {column} differs from Easy" for column in unequal]
    return failures


_SHOULD_BE_NONE = """
    repeated_units repeated_questions near_duplicate_pairs answer_against_condition rows_sharing_a_name
    name_not_in_question essays_of_another_length_than_the_paper_says explicit_connectives
    facts_naming_another_preference_of_the_row questions_naming_a_preference
    misleading_about_somebody_with_an_essay direct_about_an_ambiguous_name asked_name_not_in_question
    only_the_true_option_in_any_fact later_anchor_in_stem anchors_not_in_all_their_facts
    names_in_several_revision_rows subject_not_in_question value_in_question value_not_told value_leaks values_that_share_words
""".split()
