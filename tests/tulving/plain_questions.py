"""What questions.parquet must hold, computed anew in plain Python from the rows of a dataset and the journals of a run."""

import hashlib
import itertools
import json

OF_ROW = (
    "id", "template", "cue", "time", "space", "entity", "content", "trace", "get", "bin", "n_chapters", "origin",
    "question", "chapters",
)  # fmt: skip


def records_in(path):
    """The last record of each key."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {record["key"]: record for record in map(json.loads, lines)}


def plain_questions(folder, rows, repeats=1):
    """By id and repeat, in the order of the rows: every column, or None in place of a question that has no verdict."""
    judge = json.loads((folder / "run.json").read_text())["judge"]
    answers = {(r["id"], r["repeat"]): r for r in records_in(folder / "answers.jsonl").values() if "answer" in r}
    judgements = records_in(folder / "judgements.jsonl")
    found = {}
    for row, repeat in itertools.product(rows, range(repeats)):
        answer = answers.get((row["id"], repeat))
        verdict = judgements.get(_key(judge, row, answer)) if answer else None
        found[row["id"], repeat] = _question(row, repeat, answer, verdict) if verdict and "items" in verdict else None
    return found


def _key(judge, row, answer):
    if judge["prompt_hash"] == "published":
        return answer["key"]
    asked = (row["question"], row["trace"], row["get"], row["answer"])
    parts = (judge["name"], judge["prompt_hash"], *asked, answer["answer"])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def _question(row, repeat, answer, verdict):
    scores = [min(1, max(0, score)) for score in verdict["scores"]]
    truth = list(dict.fromkeys(row["answer"]))
    found = sum(scores[row["answer"].index(item)] for item in truth)
    n = len(set(verdict["items"]))
    capped = min(n, len(truth)) if truth else n
    return {name: row[name] for name in OF_ROW} | {
        "repeat": repeat, "reference": row["answer"], "answer": answer["answer"], "items": verdict["items"],
        "scores": scores, "order": verdict["order"], "reason": verdict["reason"],
        "precision": min(1, found / capped) if capped else None, "recall": found / len(truth) if truth else None,
        "f1": _f1(found, capped, len(truth)), "harsh_f1": _f1(found, n, len(truth)),
        "tau": _tau(verdict["order"], truth) if row["get"] == "chronological" and len(truth) > 1 else None,
    }  # fmt: skip


def _f1(found, n, n_true):
    if n == 0 or n_true == 0:
        return float(n == n_true)
    precision, recall = found / n, found / n_true
    return min(1, 2 * precision * recall / (precision + recall)) if found else 0.0


def _tau(order, truth):
    """Concordant less discordant pairs over all pairs, as there are no ties."""
    places = [truth.index(item) for item in dict.fromkeys(order) if item in truth]
    if len(places) < len(truth):
        return None
    pairs = list(itertools.combinations(places, 2))
    return sum(1 if first < second else -1 for first, second in pairs) / len(pairs)
