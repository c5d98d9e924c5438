"""What shortcuts get right on the rows alone, without a memory system and without a model.

Paper: Section 4, which wants questions that need the stored texts to be understood and combined. A shortcut compares words
(without small words and endings, see `content_of`). Where it scores well, a system's score says little about understanding.
Ties count as the share of the tied choices that is right, so a score is the expected value of a guess among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from epbench.memfail.dataset.load import facts_to_store, questions_of
from epbench.memfail.dataset.revision import REVISION, values_of
from epbench.memfail.dataset.schema import CHOICES, LETTERS, Row
from epbench.memfail.dataset.word_rules import content_of, sentences, stands_in
from epbench.retrieval.load import Bm25

K = 5  # texts that a search brings back, as in the paper's smallest setting of most tasks (Section 5)

RULES: Mapping[str, str] = {
    "word_overlap": "decided by word overlap",
    "bm25_at_5": f"all gold texts among the first {K} that BM25 finds",
    "option_in_a_fact": "decided by which options appear in a stored fact",
    "last_value": "the value that was said last",
    "first_value": "the value that was said first",
    "never_known": "always saying that it is not known",
}

# On the published rows. Measured by `python builders/memfail.py --source DIR --out OUT`, which writes them into
# OUT/memfail/validation.json.
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "conditional_facts_easy": {"word_overlap": 0.58, "bm25_at_5": 1.0},
    "conditional_facts_hard": {"word_overlap": 0.65, "bm25_at_5": 0.99},
    "coexisting_facts": {"word_overlap": 0.0, "bm25_at_5": 0.0},
    "persona_retrieval": {"word_overlap": 0.1818, "bm25_at_5": 0.986},
    "long_hop": {"word_overlap": 0.8478, "bm25_at_5": 0.1413, "option_in_a_fact": 0.8641},
}


def shortcuts(config: str, rows: Sequence[Row]) -> dict[str, float]:
    """Return the score of each shortcut, 0 to 1, by its name in `RULES`, on completed rows that are stored together."""
    scores = {"word_overlap": _OVERLAP.get(config, _conditional)(config, rows), "bm25_at_5": _bm25(config, rows)}
    if config == REVISION:
        scores |= _constant(rows)
    if config == "long_hop":
        stored = "\n".join(fact.text for fact in facts_to_store(config, rows)).lower()
        scores["option_in_a_fact"] = fmean(_option_in_a_fact(row, stored) for row in rows)
    return {name: round(score, 4) for name, score in scores.items()}


def _conditional(config: str, rows: Sequence[Row]) -> float:
    """Say yes where the situation of the question has at least a third of the words of the condition, without the name."""
    right = []
    for row in rows:
        condition = content_of(row["condition"]) - content_of(row["entity"])
        shared = condition & content_of(row["question_context"])
        right.append((bool(shared) and len(shared) >= len(condition) / 3) == (row["answer_polarity"] == "yes"))
    return fmean(right)


def _coexisting(config: str, rows: Sequence[Row]) -> float:
    """Take the facts that share the most words with the question, as many as it needs: are they the facts of the row?"""
    facts = [(row["id"], content_of(fact)) for row in rows for fact in row["preference_facts"]]
    right = []
    for row in rows:
        asked = content_of(row["question"])
        shared = sorted(((len(words & asked), id_ == row["id"]) for id_, words in facts), reverse=True)
        least = shared[len(row["preferences"]) - 1][0]
        # All facts that share that many words are the row's own ones, of which there are just enough.
        right.append(least > 0 and all(from_row for n, from_row in shared if n >= least))
    return fmean(right)


def _persona(config: str, rows: Sequence[Row]) -> float:
    """Answer a direct question by the sentence that shares most words with it, in the essay that shares most words."""
    essays = [(content_of(row["entity_facts"][0]), row["entity_facts"][0]) for row in rows]
    right = []
    for question in questions_of(config, rows):
        if question.kind == "direct":
            asked = content_of(question.text)
            _, essay = max(essays, key=lambda essay: len(essay[0] & asked))
            essay_sentences = sentences(essay)
            best = _best([(len(content_of(sentence) & asked),) for sentence in essay_sentences])
            answer = content_of(question.reference)
            right.append(fmean(len(answer & content_of(essay_sentences[i])) >= len(answer) / 2 for i in best))
    return fmean(right) if right else 0.0


def _long_hop(config: str, rows: Sequence[Row]) -> float:
    """Choose the option with the largest share of its words in one fact, and of such facts that with most of the stem's."""
    facts = [content_of(fact.text) for fact in facts_to_store(config, rows)]
    right = []
    for row in rows:
        options, stem = [content_of(row[choice]) for choice in CHOICES], content_of(row["stem"])
        best = _best(
            [max((len(option & fact) / len(option), len(stem & fact)) for fact in facts) for option in options]
        )
        right.append((LETTERS.index(row["correct_choice"]) in best) / len(best))
    return fmean(right)


def _revision(config: str, rows: Sequence[Row]) -> float:
    """Answer by the value in the sentence about that person that shares most words with the question, wherever it stands."""
    right = []
    for row in rows:
        texts = [said["text"] for said in row["statements"]]
        for asked in row["questions"]:
            fact, words = row["facts"][asked["fact"]], content_of(asked["text"])
            about = [sentence for text in texts if fact["subject"] in text for sentence in sentences(text)]
            best = _best([(len(content_of(sentence) & words),) for sentence in about])
            told = [next((v for v in values_of(row) if stands_in(v, about[i])), None) for i in best]
            right.append(fmean(value == asked["ground_truth_answer"] for value in told))
    return fmean(right)


def _constant(rows: Sequence[Row]) -> dict[str, float]:
    """What answering each question of `revision` in one way gets right, whatever became of the fact."""
    asked = [(question, row["facts"][question["fact"]]) for row in rows for question in row["questions"]]
    return {
        "last_value": fmean(
            (fact["now"] or fact["first"]) == question["ground_truth_answer"] for question, fact in asked
        ),
        "first_value": fmean(fact["first"] == question["ground_truth_answer"] for question, fact in asked),
        "never_known": fmean(question["kind"] == "forgotten" for question, _ in asked),
    }


def _option_in_a_fact(row: Row, stored: str) -> float:
    """Choose among the options that appear in any stored fact literally, or among all if none does."""
    letters = [letter for letter, choice in zip(LETTERS, CHOICES, strict=True) if row[choice].lower() in stored]
    return (row["correct_choice"] in (letters or LETTERS)) / len(letters or LETTERS)


def _bm25(config: str, rows: Sequence[Row]) -> float:
    """The share of questions whose gold texts are all among the first `K` that BM25 finds; misleading ones have none."""
    facts = facts_to_store(config, rows)
    questions = [question for question in questions_of(config, rows) if question.kind != "misleading"]
    hit_lists = Bm25([fact.text for fact in facts]).search([question.query for question in questions], K)
    right = [
        {gold.fact for gold in question.gold} <= {facts[i].id for i in hits}
        for question, hits in zip(questions, hit_lists, strict=True)
    ]
    return fmean(right) if right else 0.0


def _best(scores: Sequence[tuple[float, ...]]) -> list[int]:
    return [i for i, score in enumerate(scores) if score == max(scores)]


_OVERLAP: Mapping[str, Callable[[str, Sequence[Row]], float]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
    REVISION: _revision,
}
