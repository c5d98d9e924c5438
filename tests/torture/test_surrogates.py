"""Half a surrogate pair in input, which JSON can represent and UTF-8 cannot, becomes U+FFFD in all results."""

import json

import pyarrow.parquet as pq

from tests.scripts.in_process import script
from tests.torture.archives import small_archive, zipped

EVALUATE = "eval_scripts/tulving.py"


def results(folder):
    tables = [pq.read_table(path).to_pylist() for path in folder.rglob("*.parquet")]
    texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    return "".join([*texts, *(json.dumps(table, ensure_ascii=False) for table in tables)])


def test_in_your_own_answers(short_book, tmp_path):
    from epbench.tulving.dataset.load import load_book

    ids = [row["id"] for row in load_book(str(short_book)).rows[:5]]
    lines = [json.dumps({"id": id_, "answer": "A smile \ud83d and \ud83d\ude00."}) for id_ in ids]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    done = script(EVALUATE, "--dataset", short_book, "--answers", tmp_path / "answers.jsonl", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "A smile \ufffd and \U0001f600." in (tmp_path / "out/answers.jsonl").read_text("utf-8")


def test_in_a_published_archive(tmp_path):
    files = small_archive()
    for path in files:
        if path.endswith(("raw_answers/0.json", "raw_answers/3.json")):
            files[path] = json.dumps("A smile \ud83d.").encode()
        elif path.endswith("evaluated_answers/1.json"):
            verdict = json.loads(files[path]) | {"explanation": "\udc00", "predicted_items": ["\ud83d"]}
            files[path] = json.dumps(verdict).encode()
    (tmp_path / "archive.zip").write_bytes(zipped(files.items()))
    done = script(EVALUATE, "--released", tmp_path / "archive.zip", "--out", tmp_path / "out")
    assert done.returncode == 0 and "1 runs scored, 0 not scored" in done.stdout, done.stderr
    shown = results(tmp_path / "out")
    assert "A smile \ufffd." in shown and '["\ufffd"]' in shown
