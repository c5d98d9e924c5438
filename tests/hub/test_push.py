"""Publishing on the Hub, against a double of it, and loading from there with the libraries of the users."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from epbench import __version__
from epbench.errors import BadInput
from epbench.hub import push
from epbench.hub.dataset_folder import Config
from epbench.hub.push import dataset_push
from epbench.metric_folders import metric_names
from tests.hub.diaries import PUBLISH, Python, diary
from tests.hub.hub_double import HubDouble

LOAD_DATASET = """
import json
from datasets import load_dataset

loaded = [load_dataset("lab/diary"), load_dataset("lab/diary", "second")]
shown = [{split: [rows.features.to_dict(), rows.to_list()] for split, rows in splits.items()} for splits in loaded]
print(json.dumps(shown))
"""
PUSH_METRIC = """
from epbench.hub.push import metric_push, push

print(push(metric_push("episodic_f1", "lab")).address)
"""
LOAD_OTHERWISE = """
import json
from datasets import get_dataset_config_names, load_dataset

streamed = load_dataset("lab/diary", split="test", streaming=True)
tagged = load_dataset("lab/diary", split="test", revision="v0.1.0")
print(json.dumps([get_dataset_config_names("lab/diary"), [row["id"] for row in streamed], tagged["id"][:]]))
"""
LOAD_METRIC = """
import json
import evaluate

metric = evaluate.load("lab/episodic_f1")
print(json.dumps(metric.compute(predictions=[["7 May 2024", "x"], []], references=[["May 7, 2024"], ["a", "b"]])))
"""


def as_loaded(config: Config) -> Mapping[str, Any]:
    return {config.split: [config.stored_features.to_dict(), config.table.to_pylist()]}


def printed_json(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(part in done.stderr for part in said), done.stderr
    assert "hf_" not in done.stderr + done.stdout and "Signature" not in done.stderr
    assert "uploaded" not in done.stdout


@pytest.mark.slow
def test_pushed_dataset_loads_with_the_same_rows(hub: HubDouble, python: Python, tmp_path: Path):
    folder, configs = diary(tmp_path / "out", [["a", "b"], [], None])
    (folder / "eval.yaml").write_text("name: Diary\n")
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab", "--private")
    assert done.stdout == f"uploaded: {hub.url}/datasets/lab/diary (4 new), tag v0.1.0\n", done.stderr
    repo = hub.repos["datasets", "lab/diary"]
    assert repo.created_with["visibility"] == "private"
    assert repo.files == {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    assert printed_json(python("-c", LOAD_DATASET)) == [as_loaded(config) for config in configs]


@pytest.mark.slow
def test_published_dataset_is_streamed_and_found_by_tag_and_config(hub: HubDouble, python: Python, tmp_path: Path):
    hub.page = 2
    for version, answers in (("0.1.0", [["a"]]), ("0.2.0", [["a"], ["b"]])):
        folder, _ = diary(tmp_path, answers)
        readme = folder / "README.md"
        readme.write_text(readme.read_text("utf-8").replace("version: 0.1.0", f"version: {version}"), "utf-8")
        assert python(PUBLISH, folder, "--to", "hub", "--namespace", "lab").returncode == 0
    assert printed_json(python("-c", LOAD_OTHERWISE)) == [["first", "second"], ["q0", "q1"], ["q0"]]


@pytest.mark.slow
def test_pushed_metric_computes(hub: HubDouble, python: Python):
    for disable_xet in ("1", "0"):  # the client has another way of uploading with Xet, also for files that are no Xet
        done = python("-c", PUSH_METRIC, HF_HUB_DISABLE_XET=disable_xet)
        assert (done.returncode, done.stdout) == (0, f"{hub.url}/spaces/lab/episodic_f1\n"), done.stderr
    space = hub.repos["spaces", "lab/episodic_f1"]
    assert len(space.commits) == 2  # the second push found nothing to change
    assert space.tags == {f"epbench-{__version__}": space.head}
    assert space.created_with["sdk"] == "gradio"
    assert set(space.files) == {"README.md", "app.py", "episodic_f1.py", "requirements.txt"}
    tagged = LOAD_METRIC.replace('"lab/episodic_f1"', f'"lab/episodic_f1", revision="epbench-{__version__}"')
    for code in (LOAD_METRIC, tagged):
        assert printed_json(python("-c", code))["per_question"] == [
            {"f1": 1.0, "precision": 1.0, "recall": 1.0},
            {"f1": 0.0, "precision": None, "recall": 0.0},
        ]


@pytest.mark.parametrize("token", ["hf_anotherTokenThatMustNotBePrintedEither", ""], ids=["wrong", "missing"])
def test_without_a_valid_token_one_line_says_so(token: str, hub: HubDouble, python: Python, tmp_path: Path):
    folder, _ = diary(tmp_path, [["a"]])
    done = python(PUBLISH, folder, "--metrics", "--to", "hub", "--namespace", "lab", HF_TOKEN=token)
    assert_refused(done, "lab/diary", "401", "hf auth login")
    assert not hub.repos


def test_namespace_of_others_is_refused_in_one_line(hub: HubDouble, python: Python, tmp_path: Path):
    folder, _ = diary(tmp_path, [["a"]])
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "elsewhere")
    assert_refused(done, "elsewhere/diary", "403", "You don't have the rights to write")
    assert not hub.repos


@pytest.mark.slow
def test_repository_that_may_no_longer_be_written_stays_as_it_is(hub: HubDouble, python: Python, tmp_path: Path):
    push = (PUBLISH, tmp_path / "diary", "--to", "hub", "--namespace", "lab")
    diary(tmp_path, [["old"]])
    assert python(*push).returncode == 0
    hub.writable.clear()
    diary(tmp_path, [["new"]])
    assert_refused(python(*push, "--force"), "lab/diary", "403")
    assert len(hub.repos["datasets", "lab/diary"].commits) == 2


def test_hub_out_of_reach_is_said_in_one_line(python: Python, tmp_path: Path):
    folder, _ = diary(tmp_path, [["a"]])
    with HubDouble("lab") as gone:
        pass
    assert_refused(python(PUBLISH, folder, "--to", "hub", "--namespace", "lab", HF_ENDPOINT=gone.url), "lab/diary")


@pytest.mark.slow
def test_dry_run_lists_the_differences_and_changes_nothing(hub: HubDouble, python: Python, tmp_path: Path):
    folder, _ = diary(tmp_path, [["a"]])
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    done = python(*push, "--metrics", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("a new repository") == 1 + len(metric_names())
    assert "lab/diary on the Hub (dataset, a new repository)" in done.stdout and "tag v0.1.0: new" in done.stdout
    assert hub.repos == {}
    assert python(*push).returncode == 0
    (folder / "notes.txt").write_text("12345")
    (folder / "second/train-00000-of-00001.parquet").rename(folder / "second/train-00000-of-00002.parquet")
    size = (folder / "second/train-00000-of-00002.parquet").stat().st_size / 1000
    done = python(*push, "--dry-run")
    assert [line.split() for line in done.stdout.splitlines()[2:6]] == [
        ["unchanged", f"{(folder / 'README.md').stat().st_size / 1000:,.1f}", "kB", "README.md"],
        ["new", "0.0", "kB", "notes.txt"],
        ["new", f"{size:,.1f}", "kB", "second/train-00000-of-00002.parquet"],
        ["deleted", f"{size:,.1f}", "kB", "second/train-00000-of-00001.parquet"],
    ]
    assert "needs --force: lab/diary: the tag v0.1.0 is on other content" in done.stdout
    assert len(hub.repos["datasets", "lab/diary"].commits) == 2
    assert not any(request.startswith(("POST", "PUT")) for request in hub.requests[-4:])


@pytest.mark.slow
@pytest.mark.parametrize(("line", "flags"), [("license: unknown\n", ()), ("", ("--dry-run",))])
def test_rows_without_a_licence_are_kept_from_the_hub(
    line: str, flags: Sequence[str], hub: HubDouble, python: Python, tmp_path: Path
):
    good, _ = diary(tmp_path / "ours", [["a"]])
    theirs, _ = diary(tmp_path, [["b"]])
    readme = theirs / "README.md"
    readme.write_text(readme.read_text("utf-8").replace("license: mit\n", line), "utf-8")
    done = python(PUBLISH, good, theirs, "--to", "hub", "--namespace", "lab", *flags)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert f"{readme}, field 'license': expected the licence under which these rows may" in done.stderr
    assert f", found {'unknown' if line else 'nothing'}; without a licence" in done.stderr
    assert hub.requests == []
    assert python(PUBLISH, theirs, "--to", "cache", "--namespace", "lab").returncode == 0


def test_a_folder_that_is_not_a_dataset_is_refused_before_anything_is_sent(
    hub: HubDouble, python: Python, tmp_path: Path
):
    good, _ = diary(tmp_path, [["a"]])
    (tmp_path / "empty").mkdir()
    done = python(PUBLISH, good, tmp_path / "empty", "--to", "hub", "--namespace", "lab")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "empty is not a dataset folder" in done.stderr
    assert hub.requests == []


@pytest.mark.parametrize("place", ["notes.txt", "first/test-00001.parquet", "folder"])
def test_a_link_out_of_the_folder_is_refused_before_any_request(tmp_path: Path, place: str):
    folder, _ = diary(tmp_path, [["a"]])
    (tmp_path / "private").mkdir()
    (tmp_path / "private.txt").write_text("secret")
    (folder / place).symlink_to(tmp_path / ("private" if place == "folder" else "private.txt"))
    with pytest.raises(
        BadInput, match=rf"{place}: expected a file inside .*/diary, found a link to {tmp_path}/private"
    ):
        dataset_push(folder, "lab")


def test_a_link_within_the_folder_is_uploaded_as_its_content(tmp_path: Path):
    folder, _ = diary(tmp_path, [["a"]])
    (folder / "READ.md").symlink_to("README.md")
    assert "READ.md" in push._files(folder, "dataset")
