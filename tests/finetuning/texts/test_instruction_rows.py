"""Published rows as conversations, from files, folders and a Hub on loopback."""

import json
import os
import subprocess
import sys

import pytest

from epbench.errors import BadInput
from epbench.finetuning.texts.instruction_rows import Example, examples_of, find_source
from epbench.progress import no_progress
from tests.finetuning.texts.made_rows import row, rows, write_rows
from tests.hub.hub_double import HubDouble, Repo

ASKED = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
SYSTEM = {"role": "system", "content": "Be good."}


def read(path):
    return list(examples_of(find_source(str(path)).files, no_progress))


def turns(*pairs):
    return {"conversations": [{"from": who, "value": text} for who, text in pairs]}


@pytest.mark.parametrize(
    ("content", "example"),
    [
        (row("Why?", "So."), Example("general", ASKED)),
        (row("Why?", "So.", None, system_prompt="Be good."), Example("", [SYSTEM, *ASKED])),
        (row("Why?", "So.", None, system_prompt=" "), Example("", ASKED)),
        ({"messages": ASKED}, Example("", ASKED)),
        ({"messages": [SYSTEM, *ASKED], "conversations": None}, Example("", [SYSTEM, *ASKED])),
        (
            turns(("system", "Be good."), ("human", "Why?"), ("gpt", "So.")) | {"system_prompt": "No."},
            Example("", [SYSTEM, *ASKED]),
        ),
        (turns(("system", "\n"), ("human", "Why?"), ("gpt", "So."), ("human", "And?")), Example("", ASKED)),
        (turns(("human", "Why?")), Example("", [])),
        (turns(("human", "Why?"), ("gpt", "So."), ("human", "And?"), ("gpt", " ")), Example("", [])),
        (turns(), Example("", [])),
    ],
)
def test_a_row_is_a_conversation_up_to_its_last_answer(tmp_path, content, example):
    assert read(write_rows(tmp_path / "rows.jsonl", [content])) == [example]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.json"])
def test_every_format_has_the_same_rows(tmp_path, name):
    expected = [
        Example(one["category"] or "", [{"role": "user", "content": q["value"]}, {"role": "assistant", "content": a["value"]}])
        for one in rows(50)
        for q, a in [one["conversations"]]
    ]  # fmt: skip
    assert read(write_rows(tmp_path / name, rows(50))) == expected


def test_half_a_surrogate_pair_is_replaced(tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps(row("a\ud83d", "b\ud83d")))
    assert [message["content"] for message in read(tmp_path / "rows.jsonl")[0].messages] == ["a\ufffd", "b\ufffd"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"text": "a"}, "expected the field 'conversations' or 'messages', found 'text'"),
        (row("a", None), "field 'conversations[1].value': expected a text, found None"),
        (turns(("tool", "a")), "field 'conversations[0].from': expected system, human, user, gpt, assistant, found 'tool'"),
        ({"messages": [{"role": "user"}]}, "field 'messages[0].content': expected a text, found nothing"),
        ({"messages": "a"}, "field 'messages': expected a list, found 'a'"),
        (row("a", "b", 3), "field 'category': expected a text or null, found 3"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path, content, message):
    path = write_rows(tmp_path / "rows.json", [*rows(2), content])
    separator = ": " if message.startswith("expected") else ", "
    with pytest.raises(BadInput) as error:
        read(path)
    assert str(error.value) == f"{path}, row 2{separator}{message}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"no", "{path}: not a readable Parquet file"),
        ("a.jsonl", b'{"messages": "\xff"}', "{path}: not text in UTF-8 (invalid start byte)"),
        ("a.json", None, "{path}: expected a file that can be read (No such file or directory)"),
        (
            "a.csv",
            b"no",
            "{path}: expected a file of examples (*.parquet, *.jsonl, *.json), found another kind of file",
        ),
        ("folder/a.csv", b"no", "{folder}: expected files of examples (*.parquet, *.jsonl, *.json), found none"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if content is not None:
        path.write_bytes(content)
    source = path.parent if "/" in name else path
    with pytest.raises(BadInput) as error:
        read(source)
    assert str(error.value).startswith(message.format(path=path, folder=path.parent)) and "\n" not in str(error.value)


def test_of_a_folder_the_training_files_of_the_first_format_are_read(tmp_path):
    for name in (
        "data/train-1.parquet",
        "data/train-0.parquet",
        "data/test-0.parquet",
        "more.jsonl",
        ".cache/train.parquet",
    ):
        write_rows(tmp_path / name, rows(1))
    (tmp_path / "dataset_info.json").write_text("{}")
    names = [str(path.relative_to(tmp_path)) for path in find_source(str(tmp_path)).files]
    assert names == ["data/train-0.parquet", "data/train-1.parquet"]
    assert [path.name for path in find_source(str(tmp_path / "data")).files] == ["train-0.parquet", "train-1.parquet"]
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    assert [path.name for path in find_source(str(tmp_path)).files] == ["more.jsonl"]
    (tmp_path / "more.jsonl").unlink()
    with pytest.raises(BadInput, match="found none$"):
        find_source(str(tmp_path))


def test_what_is_not_in_the_cache_cannot_be_had_offline():
    with pytest.raises(BadInput) as error:
        find_source("lab/not-there")
    assert str(error.value).startswith("instructions 'lab/not-there': neither a file nor a folder, and not to be had")
    assert str(error.value).endswith("name a file or folder of such examples, or train without them")
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_dataset_of_the_hub_is_downloaded_once_and_then_found_offline(tmp_path):
    code = """
from epbench.finetuning.texts.instruction_rows import *
from epbench.progress import no_progress
source = find_source("lab/talk")
print([path.name for path in source.files], source.revision, len(list(examples_of(source.files, no_progress))))
"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    own = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}

    def run(**env):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=clean | own | env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
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
