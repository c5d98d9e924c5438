"""The text of MemFail's dataset card, including the findings of the validation report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.hub.card import card
from epbench.hub.dataset_folder import Config
from epbench.hub.responsible_use import ResponsibleUse
from epbench.memfail.dataset.findings import Report
from epbench.memfail.dataset.shortcuts import PUBLISHED, RULES

_COLUMNS = """## Configs

| config | stored | asked | columns that we add |
|---|---|---|---|
| `conditional_facts_easy` | one essay per row that states a rule in one sentence | would the behavior occur now? | \
`answer_polarity`: yes or no, whichever the answer begins with |
| `conditional_facts_hard` | one essay per row that spreads the rule over several sentences | the same | the same |
| `coexisting_facts` | 2 to 5 separate facts per row | which preferences apply, all of them | |
| `persona_retrieval` | one essay per row | three questions per row, some about another person (`is_misleading`) | \
`n_essays_of_entity`, `n_essays_of_asked_name` (one number per question): how many essays in the store are about that \
name |
| `long_hop` | the 2 to 4 facts of a chain, each separately | a multiple-choice question about the end of the chain | \
`stem`: the question without options; `n_options_in_facts`: how many options appear in any stored fact; `option_leak`: \
whether only the true option does |

All texts of a config go into one store. `id` is stable. The other columns keep their published names; lists are lists,
and the facts and anchors that shorter chains lack are null.
"""

_USE = """## Use

```python
from datasets import load_dataset

rows = load_dataset("epbench/memfail", "{config}", split="test")
```

Evaluate a memory system on it with `eval_scripts/memfail.py` of the package. The metric `memory_failures` counts labels
on its own.
"""

_LIMITS = """## What limits a score

The builder counted these numbers in the rows. `validation.json`, next to this card, has the same numbers with the ids of
all rows concerned.
"""

_SHORTCUTS = """## What shortcuts get right

Rules that only compare words were applied to the rows alone, without a memory system and without a model. Where such a rule
scores well, a system's score says little about understanding. Word overlap means: in `conditional_facts_*`, yes if the
question's situation has at least a third of the words of the condition; in `coexisting_facts`, that the facts that share the
most words with the question are exactly the row's own; in `persona_retrieval`, that the sentence that shares the most words
with a direct question holds the answer; in `long_hop`, the option that stands most fully in one fact, and among several the
one whose fact shares the most words with the question. Small words are left out. A guess among five options has 0.2, a
constant yes or no has about 0.5.

| config | shortcut | these rows | published rows |
|---|---|---|---|
{scores}
"""

_HARDER_MADE = (
    "These are the harder rows: questions have to be answered by inference. A situation and a condition share no word of "
    "meaning (`on weekdays`, and it is Saturday), or are a number and a bound on it. Questions about preferences describe an "
    "occasion and share no word of meaning with the facts. Five essays at a time tell the same aspects with other values, "
    "about people with one family name, which the people of misleading questions share too; questions about them avoid the "
    "words of the essays. The chains are about moods, feelings and what follows from them; at least five at a time share a "
    "person, and the wrong options of each are the ends of the others."
)

_HARDER_LIMITS = (
    "The truths still appear in the stored texts word for word, so that rules can judge whether a text was stored and found. "
    "The rule-based reader cannot infer: even with the gold texts before it, as with the system `oracle`, it answers many "
    "questions of these rows wrongly, which says nothing about the memory. Use a model as the reader. Observations imply "
    "their conditions by common knowledge, in our opinion and not by a rule. Compare scores only with scores of other "
    "systems on these rows."
)

_SOURCE = """## Source

The tasks and their failure modes are those of I. Garg, N. Kolhe, D. Song and X. Zhao, *MemFail: Stress-Testing Failure
Modes of LLM Memory Systems*, 2026, [arXiv 2605.26667](https://arxiv.org/abs/2605.26667). {wording}

```bibtex
@misc{{garg2026memfail,
  title = {{MemFail: Stress-Testing Failure Modes of LLM Memory Systems}},
  author = {{Garg, Ishir and Kolhe, Neel and Song, Dawn and Zhao, Xuandong}},
  eprint = {{2605.26667}},
  archivePrefix = {{arXiv}},
  year = {{2026}},
  url = {{https://arxiv.org/abs/2605.26667}}
}}
```
"""

LABELS: Mapping[str, str] = {
    "rows": "rows",
    "shortcuts": "shares that shortcuts get right",
    "units": "stored texts",
    "questions": "questions",
    "words_per_unit": "words per stored text",
    "tokens_per_row": "tokens per row, texts and questions (cl100k_base)",
    "repeated_units": "texts stored twice",
    "repeated_questions": "questions asked twice",
    "largest_overlap": "largest overlap of two stored texts (Jaccard index of word trigrams)",
    "near_duplicate_pairs": "pairs of stored texts with an overlap of 0.7 or more",
    "answers": "condition met",
    "always_the_same_answer": "right by always answering the same",
    "answer_against_condition": "rows whose answer is yes although the condition is not met, or no although it is",
    "entities": "distinct entity names",
    "rows_sharing_a_name": "rows that share their name with another row",
    "name_not_in_question": "rows whose question does not give the full name",
    "condition_types": "condition types",
    "unused_condition_types": "condition types of the paper that no row has",
    "behavior_word_for_word": "essays that state the behavior word for word",
    "condition_word_for_word": "essays that state the condition word for word",
    "essays_by_sentences": "essays by number of sentences",
    "essays_of_another_length_than_the_paper_says": "essays shorter or longer than the paper says",
    "explicit_connectives": "essays with a connective that the paper forbids",
    "rows_equal_to_easy_in": "rows equal to the Easy row of the same number, by column",
    "rows_by_size": "rows by number of preferences",
    "facts_by_size": "facts by number of preferences",
    "categories": "categories",
    "preference_word_for_word": "facts that name their preference word for word",
    "facts_naming_another_preference_of_the_row": "facts that name another preference of their row",
    "questions_naming_a_preference": "questions that name a preference",
    "names_in_several_rows": "preferences that appear in several rows",
    "answers_that_list_the_names": "answers that list the preferences exactly",
    "direct": "direct questions",
    "misleading": "misleading questions",
    "right_with_an_empty_memory": "right with an empty memory, by always abstaining",
    "misleading_per_row": "rows by number of misleading questions",
    "misleading_about_somebody_with_an_essay": "misleading questions about a person with a stored essay",
    "misleading_about_somebody_unknown": "misleading questions about a person without a stored essay",
    "direct_about_an_ambiguous_name": "direct questions about a name that several essays share",
    "essays_per_directly_asked_name": "mean number of essays per name in direct questions",
    "asked_name_not_in_question": "questions that do not give the full name",
    "true_answer_word_for_word": "direct questions whose answer appears in the essay word for word",
    "rows_by_hops": "rows by hops",
    "facts_by_hops": "facts by hops",
    "letters": "letter of the true option",
    "always_the_same_letter": "right by always choosing the same letter",
    "always_the_longest_option": "right by always choosing the longest option",
    "only_the_true_option_in_any_fact": "rows in which only the true option appears in any stored fact",
    "one_name_in_question_and_facts": "rows whose question and facts share one name, which leads to the fact with the answer",
    "head_not_in_stem": "rows whose question does not contain the first anchor literally",
    "later_anchor_in_stem": "rows whose question gives a later anchor away",
    "anchors_not_in_all_their_facts": "rows with an anchor that is missing from a fact next to it",
    "anchors_of_several_chains": "anchors that appear in several chains",
    "true_answers_that_are_wrong_elsewhere": "true answers that are wrong options in other rows",
}


def made_card(command: str, configs: Sequence[Config], report: Report, harder: bool = False) -> str:
    """Return the README.md of rows from templates.

    Args:
        command: The command that makes them.
        configs: The configs of the dataset.
        report: The report of `validate`.
        harder: Whether the rows are the harder ones.
    """
    made = (
        f"By `{command}`, from our own templates and lists, without a language model. By construction, names are "
        "unique in a store, people named in misleading questions have no essay, answers and letters are balanced, "
        "row i of Easy and Hard states the same rule, no anchor appears in two chains, and all options appear in stored "
        "facts."
    )
    wording = "Names, wording and rows are ours."
    if harder:
        use = _responsible_use(_BY_RULES, _HARDER_LIMITS)
        return _card(configs, report, f"{made} {_HARDER_MADE}", _HARDER_LIMITS, wording, "mit", use)
    limits = (
        "Templates are plainer and more alike than the prose of a model, and what a question needs appears in the texts "
        "word for word, so that rules can judge it. Rules that only compare words answer many of the questions, as the next "
        "section shows; the builder also makes harder rows, which need inference. Compare scores only with "
        "scores of other systems on these rows, not with scores on the published rows. Half of the chains of `long_hop` are "
        "told in the first person, half are about a named person, whose name leads to every fact of the chain."
    )
    return _card(configs, report, made, limits, wording, "mit", _responsible_use(_BY_RULES, limits))


def generated_card(command: str, configs: Sequence[Config], report: Report, generation: Mapping[str, Any]) -> str:
    """Return the README.md of rows that a language model wrote.

    Args:
        command: The command that asks for them.
        configs: The configs of the dataset.
        report: The report of `validate`.
        generation: The content of `generation.json`.
    """
    tokens, rejections = generation["tokens"], generation["rejections"]
    rejected = "\n".join(f"| `{check}` | {len(found)} |" for check, found in sorted(rejections.items()))
    steps = "\n".join(f"| {step['step']} | {step['before']} | {step['after']} |" for step in generation["steps"])
    failures = "; ".join(generation["validation_failures"])
    made = (
        f"By `{command}`: the model {generation['model']} wrote the texts for specifications that were drawn with seed "
        f"{generation['seed']}, in {generation['requests']:,} requests with {tokens['in']:,} tokens in and "
        f"{tokens['out']:,} out (prompts `{generation['prompt_hash']}`). Every row passed the checks of its config, and row "
        "i of Easy and Hard states the same rule if both are here. `generation.json`, next to this card, lists every "
        "rejection with its reason, and the versions of the packages.\n\n"
        f"| step | rows in | rows out |\n|---|---|---|\n{steps}\n\n"
        f"| check | rejections, tries included |\n|---|---|\n{rejected or '| none | 0 |'}\n\n"
        f"Dropped rows: {_listed(generation['dropped'])}."
    )
    limits = (
        "A model wrote the rows, and rules checked them: names, lengths, shared words, and yes or no. Whether a text makes "
        "sense, and whether a question can be guessed without its text, nobody has checked. "
        + (f"The validation report finds faults: {failures}." if failures else "The validation report finds no fault.")
    )
    wording = (
        "Names and prompts are ours, the texts are the model's, so its terms apply and the licence here is `unknown`."
    )
    use = _responsible_use(f"the language model {generation['model']} wrote the texts for drawn specifications", limits)
    return _card(configs, report, made, limits, wording, "unknown", use)


def released_card(
    command: str, source: str, digests: Mapping[str, str], configs: Sequence[Config], report: Report
) -> str:
    """Return the README.md of converted published rows.

    Args:
        command: The command that converts them.
        source: Where the rows come from, in words.
        digests: SHA-256 of the file of each config.
        configs: The configs of the dataset.
        report: The report of `validate`.
    """
    files = "\n".join(f"| `{config}` | `{digest}` |" for config, digest in digests.items())
    made = (
        f"Converted from the published rows ({source}) by `{command}`; the texts are "
        f"unchanged.\n\n| config | SHA-256 of its file |\n|---|---|\n{files}"
    )
    limits = (
        "The rows were written by language models and are kept as they are, errors included: read the next section "
        "before you interpret a score. If names are ambiguous, evaluate with one store per row, which asks the "
        "questions as they were meant."
    )
    wording = (
        "The rows are theirs. Their repository has no licence file, so the licence here is `unknown`: use this folder "
        "yourself, but do not pass it on."
    )
    use = _responsible_use("the authors of the paper had language models write the texts", limits)
    return _card(configs, report, made, limits, wording, "unknown", use)


_BY_RULES = "rules composed the texts from templates and lists"


def _responsible_use(writer: str, limits: str) -> ResponsibleUse:
    return ResponsibleUse(
        collection=f"Nothing was collected: {writer}.",
        collection_types=["Others"],
        annotation="Nobody annotated anything. The right answers were fixed before the texts were written.",
        personal="None is intended: people and facts are invented. That a real person has one of the names is chance.",
        biases=(
            "English only, about everyday life, in the style of the templates or of the model that wrote it. The section on "
            "what limits a score counts how often each answer is right."
        ),
        limitations=limits,
        uses=(
            "To find at which stage a memory system loses what it was told. Not to train models that are measured on it, "
            "and not as a source of facts about people."
        ),
        impact=(
            "Systems that remember better can be more useful, and keep more about their users; a high score says nothing "
            "about whether a system should remember, or forgets when it is asked to."
        ),
        maintenance=(
            "The same command gives the same rows again if no model writes them. Other rows or columns get a higher "
            "version and a tag of their own on the Hub; older tags stay."
        ),
    )


def _card(
    configs: Sequence[Config],
    report: Report,
    made: str,
    limits: str,
    wording: str,
    license: str,
    use: ResponsibleUse,
) -> str:
    text = "\n".join(
        [
            "# memfail: where does a memory system fail?\n",
            "A memory system is told texts one by one, and then asked questions that need one or more of them. Whether",
            "each text was stored, kept its details, was retrieved and was used shows at which stage the system fails.\n",
            _COLUMNS,
            _USE.format(config=configs[0].name),
            f"## How it was made\n\n{made}\n",
            f"## Limits\n\n{limits}\n",
            _SHORTCUTS.format(scores=_shortcut_rows(report)),
            _LIMITS,
            *(_findings(config.name, report[config.name]) for config in configs),
            _SOURCE.format(wording=wording),
        ]
    )
    return card(
        configs,
        text,
        pretty_name="epbench memfail: where a memory system fails",
        license=license,
        tags=["memory-systems", "retrieval", "synthetic"],
        responsible_use=use,
    )


def _shortcut_rows(report: Report) -> str:
    return "\n".join(
        f"| `{config}` | {RULES[name]} | {score:.2f} | {PUBLISHED[config][name]:.2f} |"
        for config, findings in report.items()
        for name, score in findings["shortcuts"].items()
    )


def _findings(config: str, findings: Mapping[str, Any]) -> str:
    rows = [f"| {LABELS[name]} | {_shown(value)} |" for name, value in findings.items()]
    return "\n".join([f"### {config}\n", "| | |", "|---|---|", *rows, ""])


def _shown(value: Any) -> str:
    """Return a finding as a table cell; long lists are cut and counted."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return _listed([str(item) for item in value])
    if isinstance(value, dict):
        return _listed([f"{name}: {', '.join(n) if isinstance(n, list) else n}" for name, n in value.items()])
    return str(value)


def _listed(items: Sequence[str], most: int = 8) -> str:
    more = [f"… ({len(items)} in all)"] if len(items) > most else []
    return ", ".join([*items[:most], *more]) or "none"
