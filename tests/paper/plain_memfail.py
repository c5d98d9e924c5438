"""Every number about MemFail that an exhibit may show, computed from the files of a run or of a paper in the plainest way."""

import json
import math
from statistics import fmean
from typing import ClassVar

import pyarrow.parquet as pq
from scipy.stats import t

from epbench.memfail.dataset.load import load_memfail
from tests.paper.plain import MARKUP, Paper, agrees, estimate, lines_of, mcnemar, smallest, wilson

K = 4
CONFIGS = ("coexisting_facts", "long_hop", "persona_retrieval")
SYSTEMS = {"floor": "none", "bm25": "verbatim-bm25", "all": "oracle", "flaky": f"flaky{MARKUP}.py:Flaky"}
"""Runs without memory, with a searching one, with all, and with one that fails at times."""
LABELS = {name: system if name == "flaky" else f"{system} (baseline)" for name, system in SYSTEMS.items()}
SIZES = ("n_facts", "hops")  # how large a row of a config is; of persona_retrieval it does not vary
FLAKY = """
from epbench.memories.example import KeywordMemory

class Flaky(KeywordMemory):
    def retrieve_memories(self, query, conversation, k):
        if len(query) % 5 == 0:
            raise RuntimeError("lost")
        return super().retrieve_memories(query, conversation, k)
"""
STAGES = ("storage", "summary", "retrieval")


def sizes_of(row):
    return dict(zip(SIZES, (len(row.get("preferences", ())), row.get("hop_count", 0)), strict=True))


def labels(folder, rows):
    """From the journals, by id of a question, its label; for configs whose rows ask one question."""
    answers = {record["id"].split("@")[0]: record for record in lines_of(folder / "answers.jsonl")}
    verdicts = {}
    for record in lines_of(folder / "judgements.jsonl"):
        if not record.get("left_out"):
            assert verdicts.setdefault((record["kind"], record["id"]), record["verdict"]) is record["verdict"]
    found = {}
    for row in rows:
        answer, (n_facts, hops) = answers.get(row["id"], {}).get("answer"), sizes_of(row).values()
        n = n_facts or hops + 1
        # A stage has failed if it is the first that failed of any fact; of these the first is that of the question
        facts = [[verdicts.get((stage, f"{row['id']}/{i}"), False) for stage in STAGES] for i in range(n)]
        lost = [fact.index(False) for fact in facts if False in fact]
        right = verdicts.get(("reasoning", row["id"]))
        if "correct_choice" in row and answer is not None:
            right = json.loads(answer)["choice"] == row["correct_choice"]
        label = f"{STAGES[min(lost)]}_error" if lost else "correct" if right else "reasoning_error"
        found[row["id"]] = "failed" if answer is None else label
    return found


def numbers_of(questions):
    """All numbers of a run at one k, or of a part of its questions; the lexical reader counts words as tokens."""
    labels, answers = [q["label"] for q in questions], [q["answer_right"] for q in questions]
    right = [None if label == "failed" else label == "correct" for label in labels]
    earned = [is_right for is_right, q in zip(right, questions, strict=True) if not q["vacuous"]]
    found = estimate(answers, "answers_", wilson) | estimate(earned, "earned_", wilson) | estimate(right, "", wilson)
    of_earned, judged, asked = ([one for one in of if one is not None] for of in (earned, answers, right))
    for error in (f"{stage}_error" for stage in (*STAGES, "reasoning")):
        found |= {error: labels.count(error) / len(asked), f"n_{error}": labels.count(error)}
    found |= {"k": K, "n_right": sum(asked), "n_success": sum(asked), "success_rate": fmean(asked)}
    found |= {"n_earned": sum(of_earned), "n_not_vacuous": len(of_earned)}
    found |= {"success_earned": fmean(of_earned) if of_earned else None}
    made_up = sum(q["vacuous"] and q["answer_right"] is False for q in questions)
    found |= {"vacuous": len(right) - len(earned), "vacuous_wrong": made_up}
    found |= {"n_answers_right": sum(judged), "n_answers_wrong": judged.count(False)}
    found |= {"n_answers_unknown": answers.count(None), "answer_accuracy": fmean(judged)}
    memories = [len(memory.split()) for q in questions for memory in q["retrieved"]]
    found |= dict.fromkeys(("words_per_memory", "tokens_per_memory"), fmean(memories) if memories else None)
    return found | {"memories": len(memories) / len(questions), "tokens_per_question": None}


class MemFail(Paper):
    """The runs in a folder, and the rows of their dataset by config."""

    ALONE = tuple(f"Figure {number}" for number in (2, 5, 6, 7, 8, 9))  # no system of these runs has a model inside
    MISSING = ("Figure 3, tokens per question",)
    WHOLE = ("Figure 1", "Figure 1, beside success", "Figure 9, no model inside", "Scaling in N", "Scaling in K")

    def __init__(self, found, folder):
        super().__init__(found)
        self.rows = {config: load_memfail(str(folder / "d/memfail"), config).rows for config in CONFIGS}
        self.runs = {(of, config): folder / name / config for name, of in LABELS.items() for config in CONFIGS}
        self.asked = {}
        for (label, config), run in self.runs.items():
            sizes = {row["id"]: sizes_of(row) for row in self.rows[config]}
            questions = pq.read_table(run / "questions.parquet").to_pylist()  # which are compared with the journals
            self.asked[label, config] = [q | sizes.get(q["id"], {}) for q in questions]

    def asked_in(self, name, row):
        """In Figure 9 those about personas twice, in all and by their kind."""
        is_twice = name.startswith("Figure 9") and row["config"] == "persona_retrieval"
        return len(self.asked[row["label"], row["config"]]) * (2 if is_twice else 1)

    def questions(self, row):
        kind, questions = row.get("questions", "all"), self.asked[row["label"], row["config"]]
        asked = [q for q in questions if agrees(row, q, SIZES) and kind in ("all", q["kind"])]
        found = numbers_of(asked) | {name: row.get(name) for name in SIZES}
        is_whole = row.keys().isdisjoint(SIZES) and kind == "all"
        return found if is_whole else found | {"tokens_per_memory": None}  # counted for all questions alone

    def sizes(self, row):
        """The rest is counted in tests of datasets."""
        rows, config = self.rows[row["config"]], row["config"]
        if row["size"]:
            rows = [one for one in rows if int(row["size"].split(" = ")[1]) in sizes_of(one).values()]
        questions = [question for one in rows for question in one.get("questions", [one])]
        found = row | {"rows": len(rows), "questions": len(questions)}
        if config == "persona_retrieval":
            found |= {"misleading": fmean(question["is_misleading"] for question in questions)}
        if config == "coexisting_facts":
            words = [len(text.split()) for one in rows for text in (*one["preference_facts"], one["question"])]
            found |= {"tokens": sum(words) / len(rows), "facts": sum(len(one["preferences"]) for one in rows)}
        return found

    def differences(self, row):
        """McNemar's exact test and the smallest difference, by hand; the bootstrap is tested elsewhere."""
        runs = [self.asked[row[f"label_{side}"], row["config"]] for side in ("first", "second")]
        one, other = ([q["success"] for q in questions] for questions in runs)
        test = mcnemar([pair for pair in zip(one, other, strict=True) if None not in pair])
        n, first, second = (test[name] for name in ("n", "first_mean", "second_mean"))
        rate = min(max((first + second) / 2, 0.5 / n), 1 - 0.5 / n)
        sd, comparisons = math.sqrt(2 * rate * (1 - rate)), len(self.exhibits["Differences"].records)
        assert row["low"] <= first - second <= row["high"]
        found = {"k": K, "n": n, "p": test["p"], "low": row["low"], "high": row["high"]}
        found |= {"better": test["wins"], "worse": test["losses"], "equal": test["ties"], "difference": first - second}
        for side, success, of in (("first", first, one), ("second", second, other)):
            found |= {f"success_{side}": success, f"n_failed_{side}": of.count(None)}
        for name, alpha in (("", 0.05), ("_corrected", 0.05 / comparisons)):
            found[f"smallest_difference{name}"] = min(1.0, smallest(sd, n, alpha, t(n - 1)))
        return found

    def stage(self, row):
        folder = self.runs[row["label"], row["config"]]
        usage = json.loads((folder / "usage.json").read_text("utf-8"))[row["stage"]]
        journal = {"answering": "answers.jsonl", "judging": "judgements.jsonl"}.get(row["stage"])
        none = 0 if row["label"].endswith("(baseline)") or journal else None  # a baseline asks no model
        found = {name: usage.get(name, none) for name in ("calls", "tokens_in", "tokens_out", "retries")}
        if journal:
            found |= {"calls": len(lines_of(folder / journal)), "retries": None}
        return found | {"embedding": 0, "seconds": usage["seconds"], "cost": None, "cost_of_run": None}

    def standing(self, row):
        """A score for each config, with the floor of the run without memory and the ceiling of the oracle on the same rows."""
        expected = row | {"n_asked": 0, "mean_mean": None}  # two configs have no run here
        for config in self.rows:
            runs = [self.asked[label, config] for label in (row["label"], LABELS["floor"], LABELS["all"])]
            found, floor, ceiling = map(numbers_of, runs)
            values = {of: found[of] for of in ("mean", "low", "high", "lowest", "highest")}
            values["ceiling"] = 1.0 if row["label"] == LABELS["all"] else ceiling["mean"]
            values["floor"] = max(fmean(q["kind"] == "misleading" for q in runs[0]), floor["mean"])
            values["below_floor"] = int((found["highest"] or found["mean"]) < values["floor"])
            expected |= {f"{config}_{name}": value for name, value in values.items()}
            expected["n_asked"] += len(runs[0])
        return expected

    EXPECTED: ClassVar = {
        **dict.fromkeys(("Figure 1", "Figure 1, beside success", "Figure 3", "Figure 4"), questions),
        **dict.fromkeys(("Figure 9, no model inside", "Scaling in N", "Scaling in K"), questions),
        "Table 2": sizes,
        "Differences": differences,
        "Tokens and cost": stage,
        "Leaderboard, MemFail": standing,
    }
