"""Every number about MemFail that an exhibit may show, computed from the files of a run or of a paper in the plainest way."""

import json
import math
from collections import Counter

import pyarrow.parquet as pq
from scipy.stats import t

from tests.paper.plain import ENDS, MARKUP, Paper, lines_of, mcnemar, share

K = 4
CONFIGS = ("coexisting_facts", "long_hop", "persona_retrieval")
SYSTEMS = {"floor": "none", "bm25": "verbatim-bm25", "all": "oracle", "flaky": f"flaky{MARKUP}.py:Flaky"}
"""Runs without memory, with a searching one, with all, and with one that fails at times."""
LABELS = {name: system if name == "flaky" else f"{system} (baseline)" for name, system in SYSTEMS.items()}
FOLDERS = {label: name for name, label in LABELS.items()}
SIZES = {
    "coexisting_facts": ("n_facts", lambda row: len(row["preferences"])),
    "long_hop": ("hops", lambda row: row["hop_count"]),
}
FLAKY = """
from epbench.memories.example import KeywordMemory

class Flaky(KeywordMemory):
    def retrieve_memories(self, query, conversation, k):
        if len(query) % 5 == 0:
            raise RuntimeError("lost")
        return super().retrieve_memories(query, conversation, k)
"""
STAGES = ("storage", "summary", "retrieval")


def labels(folder, rows):
    """From the journals, by id of a question, its label; for configs whose rows ask one question."""
    answers = {record["id"].split("@")[0]: record for record in lines_of(folder / "answers.jsonl")}
    verdicts = {}
    for record in lines_of(folder / "judgements.jsonl"):
        if not record.get("left_out"):
            assert verdicts.setdefault((record["kind"], record["id"]), record["verdict"]) is record["verdict"]
    found = {}
    for row in rows:
        answer, number = answers.get(row["id"], {}).get("answer"), len(row.get("preferences", ()))
        facts = [f"{row['id']}/{i}" for i in range(number or row["hop_count"] + 1)]
        # Of each fact the first stage that failed; of the question the first among these
        lost = [next((stage for stage in STAGES if not verdicts.get((stage, fact), False)), "") for fact in facts]
        first = next((stage for stage in STAGES if stage in lost), None)
        right = verdicts.get(("reasoning", row["id"]))
        if "correct_choice" in row and answer is not None:
            right = json.loads(answer)["choice"] == row["correct_choice"]
        label = f"{first}_error" if first else "correct" if right else "reasoning_error"
        found[row["id"]] = "failed" if answer is None else label
    return found


def numbers_of(questions):
    """All numbers of a run at one k, or of a part of its questions; the lexical reader counts words as tokens."""
    counts, answers = Counter(q["label"] for q in questions), Counter(q["answer_right"] for q in questions)
    failed, right, vacuous = counts["failed"], counts["correct"], sum(q["vacuous"] for q in questions)
    n_right, n_wrong, unknown = (answers[of] for of in (True, False, None))
    n, memories = len(questions) - failed, [memory for q in questions for memory in q["retrieved"]]
    words = sum(len(memory.split()) for memory in memories) / len(memories) if memories else None
    earned, of = right - vacuous, n - vacuous
    found = {"k": K, "n": n, "n_failed": failed, "n_right": right, "n_success": right, "success_rate": right / n}
    for error in (f"{stage}_error" for stage in (*STAGES, "reasoning")):
        found |= {error: counts[error] / n, f"n_{error}": counts[error]}
    found |= {"success_earned": earned / of if of else None, "n_earned": earned, "n_not_vacuous": of}
    made_up = sum(q["vacuous"] and q["answer_right"] is False for q in questions)
    found |= {"vacuous": vacuous, "vacuous_wrong": made_up}
    found |= {"n_answers_right": n_right, "n_answers_wrong": n_wrong, "n_answers_unknown": unknown}
    found |= {"answer_accuracy": n_right / (n_right + n_wrong), "memories": len(memories) / len(questions)}
    found |= {"words_per_memory": words, "tokens_per_memory": words, "tokens_per_question": None}
    found |= share(right, n, failed) | share(earned, of, failed, "earned_")
    return found | share(n_right, n_right + n_wrong, unknown, "answers_")


class MemFail(Paper):
    """The runs in a folder, the rows of their dataset by config, and the files of a paper."""

    EXPECTED = (
        *("Table 2", "Figure 1", "Figure 1, beside success", "Figure 3", "Figure 4", "Figure 9, no model inside"),
        *("Differences", "Scaling in N", "Scaling in K", "Tokens and cost", "Leaderboard, MemFail"),
    )
    ALONE = tuple(f"Figure {number}" for number in (2, 5, 6, 7, 8, 9))  # no system of these runs has a model inside
    MISSING = ("Figure 3, tokens per question",)
    NAMING = (
        *"config label source system system_model model judge shown questions stage size generator".split(),
        *("label_first", "label_second", "origin", "memory", "about"),
    )

    def __init__(self, found, folder, rows):
        super().__init__(found)
        self.folder, self.rows = folder, rows

    def of_run(self, label, config):
        """The questions, from the table of a run, which is compared with the journals."""
        return pq.read_table(self.folder / FOLDERS[label] / config / "questions.parquet").to_pylist()

    def expected(self, name, exhibit):
        """Of one's own rows; `test_memfail` has numbers of the paper."""
        others = {"Table 2": self.of_rows, "Tokens and cost": self.of_stage, "Leaderboard, MemFail": self.of_standing}
        make = others.get(name, self.of_pair if name == "Differences" else self.of_questions)
        least = len(exhibit.records)
        yield from ((row, make(row, least)) for row in exhibit.records if row["source"] == "own")

    def of_questions(self, record, _):
        kind, questions = record.get("questions", "all"), self.of_run(record["label"], record["config"])
        column, size_of = SIZES.get(record["config"], ("", None))
        if column in record:
            ids = {row["id"] for row in self.rows[record["config"]] if size_of(row) == record[column]}
            questions = [q for q in questions if q["id"] in ids]
        found = numbers_of([q for q in questions if kind in ("all", q["kind"])])
        whole = kind == "all" and column not in record  # for all questions alone tokens are counted
        return found | {column: record.get(column)} | ({} if whole else {"tokens_per_memory": None})

    def of_rows(self, record, _):
        """The rest is counted in tests of datasets."""
        rows, config = self.rows[record["config"]], record["config"]
        if record["size"]:
            rows = [row for row in rows if SIZES[config][1](row) == int(record["size"].split(" = ")[1])]
        if config == "persona_retrieval":
            asked = [question["is_misleading"] for row in rows for question in row["questions"]]
            return record | {"misleading": sum(asked) / len(asked), "questions": len(asked)}
        found = record | {"rows": len(rows), "questions": len(rows)}
        if config == "coexisting_facts":
            words = sum(len(text.split()) for row in rows for text in [*row["preference_facts"], row["question"]])
            found |= {"tokens": words / len(rows), "facts": sum(len(row["preferences"]) for row in rows)}
        return found

    def of_pair(self, record, comparisons):
        """McNemar's exact test and the smallest difference, by hand; the bootstrap is tested elsewhere."""
        sides, ends = ("first", "second"), {name: record[name] for name in ("low", "high")}
        runs = [self.of_run(record[f"label_{side}"], record["config"]) for side in sides]
        one, other = ({q["id"]: q["success"] for q in questions} for questions in runs)
        test, *rates = mcnemar([(one[id_], other[id_]) for id_ in one if None not in (one[id_], other[id_])])
        n, difference = test["n"], rates[0] - rates[1]
        rate = min(max(sum(rates) / 2, 0.5 / n), 1 - 0.5 / n)
        assert record["low"] <= difference <= record["high"]
        found = {"k": K, "n": n, "p": test["p"], "better": test["wins"], "worse": test["losses"], "equal": test["ties"]}
        for side, of, success in zip(sides, (one, other), rates, strict=True):
            found |= {f"n_failed_{side}": list(of.values()).count(None), f"success_{side}": success}
        for name, alpha in (("smallest_difference", 0.05), ("smallest_difference_corrected", 0.05 / comparisons)):
            errors = t.ppf(1 - alpha / 2, n - 1) + t.ppf(0.8, n - 1)
            found[name] = min(1.0, errors * math.sqrt(2 * rate * (1 - rate) / n))
        return found | ends | {"difference": difference}

    def of_stage(self, record, _):
        folder = self.folder / FOLDERS[record["label"]] / record["config"]
        usage = json.loads((folder / "usage.json").read_text("utf-8"))[record["stage"]]
        journal = {"answering": "answers.jsonl", "judging": "judgements.jsonl"}.get(record["stage"])
        none = 0 if record["label"].endswith("(baseline)") or journal else None  # a baseline asks no model
        found = {name: usage.get(name, none) for name in ("calls", "tokens_in", "tokens_out", "retries")}
        if journal:
            found |= {"calls": len(lines_of(folder / journal)), "retries": None}
        return found | {"embedding": 0, "seconds": usage["seconds"], "cost": None, "cost_of_run": None}

    def of_standing(self, record, _):
        """A score for each config, with the floor of the run without memory and the ceiling of the oracle on the same rows."""
        expected, asked = {}, 0
        for config in self.rows:
            questions = self.of_run(record["label"], config)
            found, asked = numbers_of(questions), asked + len(questions)
            misleading = sum(q["kind"] == "misleading" for q in questions) / len(questions)
            floor, ceiling = (numbers_of(self.of_run(LABELS[name], config))["mean"] for name in ("floor", "all"))
            values = {name: found[name] for name in ENDS} | {"floor": max(misleading, floor)}
            values["ceiling"] = 1.0 if record["label"] == LABELS["all"] else ceiling
            highest = found["mean"] if found["highest"] is None else found["highest"]
            values["below_floor"] = int(highest < values["floor"])
            expected |= {f"{config}_{name}": value for name, value in values.items()}
        assert record["n_asked"] == asked and record["mean_mean"] is None  # two configs have no run here
        return record | expected
