"""Every number about MemFail that an exhibit may show, computed from the files of a run or of a paper in the plainest way."""

import json
import math
from collections import Counter

import pyarrow.parquet as pq
from scipy.stats import t

from tests.paper.plain import Paper, mcnemar, share

K = 4
CONFIGS = ("coexisting_facts", "long_hop", "persona_retrieval")
SYSTEMS = {"floor": "none", "bm25": "verbatim-bm25", "all": "oracle", "flaky": "flaky.py:Flaky"}
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
ERRORS = (*STAGES, "reasoning")


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def questions_of(folder):
    return pq.read_table(folder / "questions.parquet").to_pylist()


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


def cell(questions):
    """The numbers of a run at one k, or of a part of its questions; the lexical reader counts words as tokens."""
    found = Counter(question["label"] for question in questions)
    failed, right = found["failed"], found["correct"]
    n, vacuous = len(questions) - failed, sum(question["vacuous"] for question in questions)
    answers = [question["answer_right"] for question in questions if question["answer_right"] is not None]
    memories = [memory for question in questions for memory in question["retrieved"]]
    words = sum(len(memory.split()) for memory in memories) / len(memories) if memories else None
    made_up = [question["vacuous"] and question["answer_right"] is False for question in questions]
    numbers = share(right, n, failed) | {"n": n, "n_failed": failed, "n_right": right}
    numbers |= {f"{error}_error": found[f"{error}_error"] / n for error in ERRORS}
    numbers |= {"success_earned": (right - vacuous) / (n - vacuous) if n > vacuous else None, "vacuous": vacuous}
    numbers |= {"vacuous_wrong": sum(made_up), "answer_accuracy": sum(answers) / len(answers)}
    numbers |= {"memories": len(memories) / len(questions), "tokens_per_question": None}
    return numbers | dict.fromkeys(("words_per_memory", "tokens_per_memory"), words)


def stages(questions):
    """What became of the questions, in numbers and as shares."""
    found = cell(questions)
    counts = {f"n_{error}_error": round(found[f"{error}_error"] * found["n"]) for error in ERRORS}
    return found | counts | {"n_success": found["n_right"], "success_rate": found["n_right"] / found["n"]}


def beside(questions):
    """What success alone does not say."""
    found, answers = cell(questions), Counter(question["answer_right"] for question in questions)
    earned, of = found["n_right"] - found["vacuous"], found["n"] - found["vacuous"]
    n_right, n_wrong, n_unknown = (answers[right] for right in (True, False, None))
    found |= {"n_earned": earned, "n_not_vacuous": of, **share(earned, of, found["n_failed"], "earned_")}
    found |= {"n_answers_right": n_right, "n_answers_wrong": n_wrong, "n_answers_unknown": n_unknown}
    return found | share(n_right, n_right + n_wrong, n_unknown, "answers_")


class MemFail(Paper):
    """The runs in a folder, the rows of their dataset by config, and the files of a paper."""

    NAMING = frozenset(
        "config label source system system_model model judge shown questions stage size generator label_first label_second "
        "origin memory about".split()
    )

    def __init__(self, found, folder, rows):
        super().__init__(found)
        self.folder, self.rows = folder, rows

    def of_run(self, label, config):
        return questions_of(self.folder / FOLDERS[label] / config)

    def expected(self, name, exhibit):
        """Of one's own rows; `test_memfail` has numbers of the paper."""
        yield from ((row, self.numbers(name, row, exhibit)) for row in exhibit.records if row["source"] == "own")

    def numbers(self, name, record, exhibit):
        others = {"Table 2": self.of_rows, "Tokens and cost": self.of_stage, "Leaderboard, MemFail": self.of_standing}
        if name in others:
            return others[name](record)
        if name == "Differences":
            return self.of_pair(record, exhibit)
        kind = record.get("questions", "all")
        questions = [q for q in self.of_run(record["label"], record["config"]) if kind in ("all", q["kind"])]
        if name.startswith("Scaling"):
            column, size_of = SIZES[record["config"]]
            ids = {row["id"] for row in self.rows[record["config"]] if size_of(row) == record[column]}
            part = {"k": K, column: record[column], "tokens_per_memory": None}  # counted for all questions alone
            return cell([q for q in questions if q["id"] in ids]) | part
        plain = stages if "n_success" in record else beside if "n_earned" in record else cell
        return plain(questions) | {"k": K} | ({} if kind == "all" else {"tokens_per_memory": None})

    def of_rows(self, record):
        """The rest is counted in tests of datasets."""
        rows, config = self.rows[record["config"]], record["config"]
        if record["size"]:
            rows = [row for row in rows if SIZES[config][1](row) == int(record["size"].split(" = ")[1])]
        if config == "persona_retrieval":
            asked = [question for row in rows for question in row["questions"]]
            misleading = sum(question["is_misleading"] for question in asked) / len(asked)
            return record | {"misleading": misleading, "questions": len(asked)}
        found = record | {"rows": len(rows), "questions": len(rows)}
        if config == "coexisting_facts":
            words = sum(len(text.split()) for row in rows for text in [*row["preference_facts"], row["question"]])
            found |= {"tokens": words / len(rows), "facts": sum(len(row["preferences"]) for row in rows)}
        return found

    def of_pair(self, record, exhibit):
        """McNemar's exact test and the smallest difference, by hand; the bootstrap is tested elsewhere."""
        runs = [self.of_run(record[f"label_{side}"], record["config"]) for side in ("first", "second")]
        one, other = ({q["id"]: q["success"] for q in questions} for questions in runs)
        test, *rates = mcnemar([(one[id_], other[id_]) for id_ in one if None not in (one[id_], other[id_])])
        n = test["n"]
        rate = min(max(sum(rates) / 2, 0.5 / n), 1 - 0.5 / n)

        def smallest(alpha):
            return min(1.0, (t.ppf(1 - alpha / 2, n - 1) + t.ppf(0.8, n - 1)) * math.sqrt(2 * rate * (1 - rate) / n))

        assert record["low"] <= record["difference"] <= record["high"]
        found = {"k": K, "n": n, "p": test["p"], "better": test["wins"], "worse": test["losses"], "equal": test["ties"]}
        found |= {f"n_failed_{side}": list(of.values()).count(None) for side, of in (("first", one), ("second", other))}
        found |= {"success_first": rates[0], "success_second": rates[1], "difference": rates[0] - rates[1]}
        least = {"smallest_difference": smallest(0.05)}
        least["smallest_difference_corrected"] = smallest(0.05 / len(exhibit.records))
        return found | least | {"low": record["low"], "high": record["high"]}

    def of_stage(self, record):
        folder = self.folder / FOLDERS[record["label"]] / record["config"]
        usage = json.loads((folder / "usage.json").read_text("utf-8"))[record["stage"]]
        journal = {"answering": "answers.jsonl", "judging": "judgements.jsonl"}.get(record["stage"])
        none = 0 if record["label"].endswith("(baseline)") or journal else None  # a baseline asks no model
        calls = len(lines_of(folder / journal)) if journal else usage.get("calls", none)
        tokens = {name: usage.get(name, none) for name in ("tokens_in", "tokens_out")}
        found = {
            "calls": calls,
            **tokens,
            "embedding": 0,
            "seconds": usage["seconds"],
            "cost": None,
            "cost_of_run": None,
        }
        return found | {"retries": None if journal else usage.get("retries", none)}

    def of_standing(self, record):
        """A score for each config, with the floor of the run without memory and the ceiling of the oracle on the same rows."""
        expected, asked = {}, 0
        for config in self.rows:
            questions = self.of_run(record["label"], config)
            found, asked = cell(questions), asked + len(questions)
            misleading = sum(q["kind"] == "misleading" for q in questions) / len(questions)
            floor = max(misleading, cell(self.of_run(LABELS["floor"], config))["mean"])
            ceiling = 1.0 if record["label"] == LABELS["all"] else cell(self.of_run(LABELS["all"], config))["mean"]
            highest = found["mean"] if found["highest"] is None else found["highest"]
            names = ("mean", "low", "high", "lowest", "highest")
            values = {name: found[name] for name in names} | {"floor": floor, "ceiling": ceiling}
            expected |= {f"{config}_{name}": value for name, value in values.items()}
            expected[f"{config}_below_floor"] = int(highest < floor)
        assert record["n_asked"] == asked and record["mean_mean"] is None  # two configs have no run here
        return record | expected


OF_PAPERS = {f"Figure {number}" for number in (2, 5, 6, 7, 8, 9)}
"""Those that have no row of these runs, whose systems have no model inside."""
EXPECTED = ("Table 2", "Figure 1", "Figure 1, beside success", "Figure 3", "Figure 4", "Figure 9, no model inside")
EXPECTED += ("Differences", "Scaling in N", "Scaling in K", "Tokens and cost", "Leaderboard, MemFail")
