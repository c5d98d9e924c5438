"""The choice of examples: the same from any file in any order, without what is left out, and with the held-out ones apart."""

import hashlib
import json
import os
import random
import subprocess
import sys

import pytest

from epbench.finetuning.instructions import (
    LEFT_OUT,
    Example,
    examples_of,
    find_source,
    load_instructions,
    toy_instructions,
)
from epbench.finetuning.tokens import SampleTokens
from epbench.progress import no_progress
from tests.finetuning.made_rows import row, rows, write_rows
from tests.finetuning.tiny_tokenizers import tokenizer_with
from tests.hub.hub_double import HubDouble, Repo
from tests.refusals import refusal


@pytest.fixture(scope="module")
def tokens():
    return SampleTokens(tokenizer_with("llama"), 2000)


def load(path, tokens, n=10, n_held_out=4, seed=27, learn="text", **more):
    return load_instructions(str(path), n, seed=seed, tokens=tokens, learn=learn, n_held_out=n_held_out, **more)


def ids_of(chosen):
    return [sample.id for sample in chosen.samples], [sample.id for sample in chosen.held_out]


def by_the_rule(contents, seed):
    """Ids of all rows in the order in which they are taken."""
    roles = {"human": "user", "gpt": "assistant"}

    def number(content):
        talk = [{"role": roles[turn["from"]], "content": turn["value"]} for turn in content["conversations"]]
        return hashlib.sha256(json.dumps([seed, talk]).encode()).hexdigest()

    return [f"instruction/{number[:16]}" for number in sorted(map(number, contents))]


def test_rows_are_taken_in_the_order_of_their_numbers_whatever_their_order_and_format(tmp_path, tokens):
    one = load(write_rows(tmp_path / "rows.parquet", rows(40)), tokens)
    order = by_the_rule(rows(40), 27)
    assert ids_of(one) == (order[:10], order[10:14])  # the next are held out
    assert all(sample.kind == "instruction" and sample.n_learned for sample in [*one.samples, *one.held_out])
    shuffled = random.Random(1).sample(rows(40), 40)
    other = load(write_rows(tmp_path / "rows.json", shuffled), tokens)
    write_rows(tmp_path / "folder" / "train-0.jsonl", shuffled[:9])
    write_rows(tmp_path / "folder" / "train-1.jsonl", shuffled[9:])
    third = load(tmp_path / "folder", tokens)
    assert one.samples == other.samples == third.samples and one.held_out == other.held_out == third.held_out
    assert one.facts | {"source": ""} == other.facts | {"source": ""} == third.facts | {"source": ""}
    assert ids_of(load(tmp_path / "folder", tokens, seed=28)) != ids_of(third)


def test_the_facts_count_what_is_left_out(tmp_path, tokens):
    content = [
        *rows(20),
        *(row(f"q{i}", "a", name) for i, name in enumerate(["joke", "Stylized_Response", "stylized  response"])),
        *(row(f"Q{i}", "a", name) for i, name in enumerate(LEFT_OUT)),
        row("unanswered", ""),
        rows(20)[3] | {"category": "another"},
        rows(20)[3],
    ]
    path = write_rows(tmp_path / "rows.jsonl", content)
    facts = load(path, tokens).facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["categories_left_out"] == dict.fromkeys(LEFT_OUT, 1) | {"joke": 2, "stylized response": 3}
    assert {name: facts[name] for name in ("source", "n", "held_out", "seed", "rows", "without_answer", "repeated")} == {
        "source": path, "n": 10, "held_out": 4, "seed": 27, "rows": len(content), "without_answer": 1, "repeated": 2,
    }  # fmt: skip
    assert facts["too_long"] == facts["not_written"] == 0 and "revision" not in facts
    assert facts["fingerprint"] != load(path, tokens, seed=1).facts["fingerprint"]


@pytest.mark.slow
def test_what_is_too_long_or_spells_a_special_token_is_passed_over_and_the_source_read_again_if_need_be(tmp_path):
    short = SampleTokens(tokenizer_with("llama"), 200)
    good = rows(14)
    content = [*good, *(row(f"{i}", "word " * 400) for i in range(150)), *(row(f"{i}", "</s>") for i in range(50))]
    chosen = load(write_rows(tmp_path / "rows.jsonl", content), short)
    order = by_the_rule(good, 27)
    assert ids_of(chosen) == (order[:10], order[10:])
    everything = by_the_rule(content, 27)
    passed = everything.index(order[-1]) + 1 - len(good)
    assert passed > 100 and chosen.facts["too_long"] + chosen.facts["not_written"] == passed
    assert chosen.facts["not_written"] > 0 < chosen.facts["too_long"]
    unlimited = SampleTokens(tokenizer_with("llama"))
    assert load(tmp_path / "rows.jsonl", unlimited).facts["too_long"] == 0


def test_too_few_examples_are_refused_with_numbers(tmp_path, tokens):
    path = write_rows(tmp_path / "rows.jsonl", [*rows(12), row("joke", "a", "joke"), row("bad", "</s>")])
    bad = by_the_rule([row("bad", "</s>")], 27)[0]
    assert refusal(load, path, tokens) == (
        f"instructions '{path}': expected 10 examples and 4 to hold out, found 12 in all (rows 14, "
        "categories_left_out {'joke': 1}, without_answer 0, repeated 0, too_long 0, not_written 1; "
        f"sample {bad}: message 1 (assistant), character 0: expected plain text, found '</s>', which is a special token of "
        "this model)"
    )
    said = "too_long 12, not_written 1; an example may have 4 tokens"
    assert said in refusal(load, path, SampleTokens(tokens.tokenizer, 4))


def test_made_examples_differ_and_their_answers_are_right(tokens):
    chosen = load_instructions(None, 20, seed=3, tokens=tokens, learn="text", n_held_out=5)
    assert (len(chosen.samples), len(chosen.held_out), chosen.facts["source"]) == (20, 5, "made by rules")
    assert not set(ids_of(chosen)[0]) & set(ids_of(chosen)[1]) and chosen.facts["rows"] == 25
    made = toy_instructions(500, 1)
    assert len({str(messages) for messages in made}) == 500 and made[:100] == toy_instructions(100, 1)
    assert {len(messages) for messages in made} == {2, 3, 4, 5}
    checked = set()
    for messages in made:
        turns = messages[messages[0]["role"] == "system" :]
        for task, answer in zip(turns[::2], turns[1::2], strict=True):
            assert (task["role"], answer["role"]) == ("user", "assistant")
            words = task["content"].rstrip("?").replace(",", "").split()
            expected = {
                "Repeat": lambda words: " ".join(words[3:]),
                "How": lambda words: str(len(words[-2])),
                "Sort": lambda words: ", ".join(sorted(words[7:])),
                "What": lambda words: str(int(words[2]) + int(words[4])),
                "Which": lambda words: words[-1],
            }[words[0]](words)
            assert answer["content"] == expected
            checked.add(words[0])
    assert len(checked) == 5


ASKED = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
SYSTEM = {"role": "system", "content": "Be good."}


def read(path):
    return list(examples_of(find_source(str(path))[0], no_progress))


def turns(*pairs):
    return {"conversations": [{"from": who, "value": text} for who, text in pairs]}


@pytest.mark.parametrize(
    ("content", "example"),
    [
        (row("Why?", "So."), Example("general", ASKED)),
        (row("Why?", "So.", None, system_prompt="Be good."), Example("", [SYSTEM, *ASKED])),
        ({"messages": ASKED}, Example("", ASKED)),
        ({"messages": [SYSTEM, *ASKED], "conversations": None}, Example("", [SYSTEM, *ASKED])),
        (
            turns(("system", "Be good."), ("human", "Why?"), ("gpt", "So.")) | {"system_prompt": "No."},
            Example("", [SYSTEM, *ASKED]),
        ),
        (turns(("system", "\n"), ("human", "Why?"), ("gpt", "So."), ("human", "And?")), Example("", ASKED)),
        (turns(("human", "Why?"), ("gpt", "So."), ("human", "And?"), ("gpt", " ")), Example("", [])),
        (turns(), Example("", [])),
    ],
)
def test_a_row_is_a_conversation_up_to_its_last_answer(tmp_path, content, example):
    assert read(write_rows(tmp_path / "rows.jsonl", [content])) == [example]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"text": "a"}, "expected the field 'conversations' or 'messages', found 'text'"),
        (row("a", None), "field 'conversations[1].value': expected a text, found None"),
        (turns(("tool", "a")), "field 'conversations[0].from': expected system, human, user, gpt, assistant, found 'tool'"),
        ({"messages": [{"role": "user"}]}, "field 'messages[0].content': expected a text, found nothing"),
        (row("a", "b", 3), "field 'category': expected a text or null, found 3"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path, content, message):
    path = write_rows(tmp_path / "rows.json", [*rows(2), content])
    separator = ": " if message.startswith("expected") else ", "
    assert refusal(read, path) == f"{path}, row 2{separator}{message}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"no", "not a readable Parquet file"),
        ("a.jsonl", b'{"messages": "\xff"}', "not text in UTF-8 (invalid start byte)"),
        ("a.json", None, "expected a file that can be read (No such file or directory)"),
        ("a.csv", b"no", "expected a file of examples (*.parquet, *.jsonl, *.json), found another kind of file"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert refusal(read, path).startswith(f"{path}: {message}")


def test_of_a_folder_the_training_files_of_the_first_format_are_read(tmp_path):
    parts = ("data/train-1.parquet", "data/train-0.parquet", "data/test-0.parquet", ".cache/train.parquet")
    for name in (*parts, "more.jsonl"):
        write_rows(tmp_path / name, rows(1))
    (tmp_path / "dataset_info.json").write_text("{}")
    names = [str(path.relative_to(tmp_path)) for path in find_source(str(tmp_path))[0]]
    assert names == ["data/train-0.parquet", "data/train-1.parquet"]
    assert [path.name for path in find_source(str(tmp_path / "data"))[0]] == ["train-0.parquet", "train-1.parquet"]
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    assert [path.name for path in find_source(str(tmp_path))[0]] == ["more.jsonl"]
    (tmp_path / "more.jsonl").unlink()
    assert refusal(read, tmp_path) == f"{tmp_path}: expected files of examples (*.parquet, *.jsonl, *.json), found none"


def test_what_is_not_in_the_cache_cannot_be_had_offline():
    said = refusal(read, "lab/not-there")
    assert said.startswith("instructions 'lab/not-there': neither a file nor a folder, and not to be had")
    assert said.endswith("name a file or folder of such examples, or train without them")


@pytest.mark.slow
def test_a_dataset_of_the_hub_is_downloaded_once_and_then_found_offline(tmp_path):
    code = """
from epbench.finetuning.instructions import *
from epbench.progress import no_progress
files, revision = find_source("lab/talk")
print([path.name for path in files], revision, len(list(examples_of(files, no_progress))))
"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    own = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}

    def run(**env):
        command, env = [sys.executable, "-c", code], clean | own | env
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with HubDouble("lab") as hub:
        write_rows(tmp_path / "rows.json", rows(7))
        repo = Repo({"organization": "lab", "name": "talk", "type": "dataset"})
        repo.commits.append(
            {"README.md": b"# Talk", "talk.json": (tmp_path / "rows.json").read_bytes(), "big.bin": b"0"}
        )
        hub.repos["datasets", "lab/talk"] = repo
        expected = f"['talk.json'] {repo.sha(1)} 7\n"
        assert run(HF_ENDPOINT=hub.url) == expected
        assert not any("big.bin" in request for request in hub.requests)
    assert run(HF_HUB_OFFLINE="1") == expected
