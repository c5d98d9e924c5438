"""Publishing on the Hub, against a double of it: what arrives, what a second publication does, and what is refused."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from huggingface_hub import constants

from epbench import __version__
from epbench.errors import BadInput
from epbench.hub import push
from epbench.hub.install import planned_install
from epbench.hub.push import dataset_push, metric_push
from epbench.metric_folders import metric_names
from tests.hub.conftest import PUBLISH, diary
from tests.hub.hub_double import SIGNATURE, TOKEN, Cut, HubDouble, Refusal
from tests.scripts.run_files import files_below

REPO = ("datasets", "lab/diary")
COMMIT = "POST /api/datasets/lab/diary/commit/main"
LOAD_DATASET = """
import json
from datasets import get_dataset_config_names, load_dataset

loaded = [load_dataset("lab/diary"), load_dataset("lab/diary", "second")]
shown = [{split: [rows.features.to_dict(), rows.to_list()] for split, rows in splits.items()} for splits in loaded]
streamed = [row["id"] for row in load_dataset("lab/diary", split="test", streaming=True)]
tagged = load_dataset("lab/diary", split="test", revision="v0.1.0")["id"][:]
print(json.dumps([shown, get_dataset_config_names("lab/diary"), streamed, tagged]))
"""
LOAD_METRIC = """
import json
import sys

sys.modules["transformers"] = None  # no metric needs it, and it takes long to import
import evaluate

answers = {"predictions": [["7 May 2024", "x"], []], "references": [["May 7, 2024"], ["a", "b"]]}
metrics = [evaluate.load("lab/episodic_f1"), evaluate.load("lab/episodic_f1", revision=sys.argv[1])]
print(json.dumps([metric.compute(**answers)["per_question"] for metric in metrics]))
"""


@pytest.fixture
def folder(tmp_path):
    return diary(tmp_path, [["old"]])[0]


def reword(folder, old, new):
    readme = folder / "README.md"
    readme.write_text(readme.read_text("utf-8").replace(old, new), "utf-8")


def as_loaded(config):
    return {config.split: [config.stored_features.to_dict(), config.table.to_pylist()]}


def printed_json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_pushed_dataset_loads_by_config_streamed_and_by_tag(hub, python, upload, tmp_path):
    hub.page = 2
    folder, _ = diary(tmp_path, [["a"]])
    (folder / "eval.yaml").write_text("name: Diary\n")
    done = upload(folder, "--private")
    assert done.stdout == f"uploaded: {hub.url}/datasets/lab/diary (4 new), tag v0.1.0\n", done.stderr
    assert hub.repos[REPO].created_with["visibility"] == "private"
    assert hub.repos[REPO].files == files_below(folder)
    folder, configs = diary(tmp_path, [["a", "b"], [], None])
    reword(folder, "version: 0.1.0", "version: 0.2.0")
    assert upload(folder).returncode == 0
    loaded = [as_loaded(config) for config in configs]
    assert printed_json(python("-c", LOAD_DATASET)) == [loaded, ["first", "second"], ["q0", "q1", "q2"], ["q0"]]


@pytest.mark.slow
def test_pushed_metric_computes(hub, python, upload, monkeypatch):
    for disable_xet in (True, False):  # with Xet, the client uploads in another way, also files that are no Xet
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", disable_xet)
        assert push.push(metric_push("episodic_f1", "lab")).address == f"{hub.url}/spaces/lab/episodic_f1"
    space = hub.repos["spaces", "lab/episodic_f1"]
    assert len(space.commits) == 2  # the second push found nothing to change
    assert space.tags == {f"epbench-{__version__}": space.head}
    assert space.created_with["sdk"] == "static"
    assert set(space.files) == {"README.md", "index.html", "episodic_f1.py", "formulas.py", "requirements.txt"}
    found = {"f1": 1.0, "precision": 1.0, "recall": 1.0}, {"f1": 0.0, "precision": None, "recall": 0.0}
    assert printed_json(python("-c", LOAD_METRIC, f"epbench-{__version__}")) == [[*found]] * 2


def test_dry_run_lists_the_differences_and_changes_nothing(hub, upload, folder):
    done = upload(folder, "--metrics", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("a new repository") == 1 + len(metric_names())
    assert "lab/diary on the Hub (dataset, a new repository)" in done.stdout and "tag v0.1.0: new" in done.stdout
    assert hub.repos == {}
    assert upload(folder).returncode == 0
    (folder / "notes.txt").write_text("12345")
    rows = (folder / "second/train-00000-of-00001.parquet").rename(folder / "second/train-00000-of-00002.parquet")
    size = f"{rows.stat().st_size / 1000:,.1f}"
    before = len(hub.requests)
    done = upload(folder, "--dry-run")
    assert [line.split() for line in done.stdout.splitlines()[2:6]] == [
        ["unchanged", f"{(folder / 'README.md').stat().st_size / 1000:,.1f}", "kB", "README.md"],
        ["new", "0.0", "kB", "notes.txt"],
        ["new", size, "kB", "second/train-00000-of-00002.parquet"],
        ["deleted", size, "kB", "second/train-00000-of-00001.parquet"],
    ]
    assert "needs --force: lab/diary: the tag v0.1.0 is on other content" in done.stdout
    assert len(hub.repos[REPO].commits) == 2
    assert not any(request.startswith(("POST", "PUT")) for request in hub.requests[before:])


def test_the_same_again_makes_no_commit_and_other_rows_need_another_version_or_force(hub, upload, folder, tmp_path):
    assert upload(folder).stdout == f"uploaded: {hub.url}/datasets/lab/diary (3 new), tag v0.1.0\n"
    assert upload(folder).stdout == f"unchanged: {hub.url}/datasets/lab/diary, tag v0.1.0\n"
    repo, first = hub.repos[REPO], hub.repos[REPO].head
    assert len(repo.commits) == 2 == len(hub.uploads)  # the commit of the Hub itself, and ours
    diary(tmp_path, [["new"], ["newer"]])
    done = upload(folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"lab/diary: the tag v0.1.0 is on other content than {folder} (commit {first[:7]}" in done.stderr
    assert "raise the version, or give --force" in done.stderr
    assert (repo.head, repo.tags) == (first, {"v0.1.0": first})

    reword(folder, "version: 0.1.0", "version: 0.2.0")
    done = upload(folder)
    assert "(2 changed), tag v0.2.0" in done.stdout, done.stderr
    assert repo.tags == {"v0.1.0": first, "v0.2.0": repo.head}

    diary(tmp_path, [["newest"]])
    assert upload(folder, "--force").returncode == 0
    assert repo.tags["v0.1.0"] == repo.head and len(repo.commits) == 4


def test_foreign_files_stay_and_a_card_without_a_version_gets_no_tag(hub, upload, folder):
    hub.publish(*REPO, {"old/test-00000-of-00001.parquet": b"PAR1", "notes.md": b"theirs"})
    reword(folder, "version: 0.1.0\n", "")
    said = upload(folder).stdout
    assert "(3 new, 1 deleted)" in said and "without a tag, as its README.md has no version" in said
    assert hub.repos[REPO].files == files_below(folder) | {"notes.md": b"theirs"}
    assert hub.repos[REPO].tags == {}
    reword(folder, "license: mit\n", "license: mit\nversion: 1 of 2\n")
    done = upload(folder)
    assert done.returncode == 2 and "field 'version': expected one such as 0.1.0, found '1 of 2'" in done.stderr


@pytest.mark.slow
@pytest.mark.nightly
def test_a_broken_connection_is_mended_or_said_in_one_line(hub, upload, folder):
    hub.cut_uploads = 100
    done = upload(folder)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "Signature" not in done.stderr and len(hub.repos[REPO].commits) == 1
    hub.cut_uploads, before = 1, len(hub.requests)
    done = upload(folder)
    assert done.returncode == 0 and "Signature" not in done.stderr, done.stderr
    assert sum(request.startswith("PUT") for request in hub.requests[before:]) == 3 and len(hub.uploads) == 2


def test_a_refused_upload_is_continued_by_the_next_run(hub, upload, folder):
    uploads = itertools.count()

    def refuse_the_second(request):
        if request.startswith("PUT") and next(uploads):
            while not hub.uploads:  # the first is complete before
                time.sleep(0.01)
            raise Refusal(403, "Request has expired")

    hub.before = refuse_the_second
    done = upload(folder)
    assert (done.returncode, done.stdout, done.stderr.count("error: lab/diary: the Hub failed")) == (1, "", 1)
    assert "give the same command again" in done.stderr and "403" in done.stderr
    assert TOKEN not in done.stderr and SIGNATURE not in done.stderr
    assert len(hub.repos[REPO].commits) == 1 and len(hub.uploads) == 1
    hub.before = lambda request: None
    assert upload(folder).returncode == 0
    assert len(hub.uploads) == len(set(hub.uploads)) == 2  # only what was missing has been sent
    assert hub.repos[REPO].tags == {"v0.1.0": hub.repos[REPO].head}


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["PUT", pytest.param(COMMIT, marks=pytest.mark.nightly), "POST /api/datasets/lab/diary/tag/"]
)
def test_a_killed_publication_is_continued(moment, hub, upload, folder):
    child = []
    uploads = itertools.count()

    def kill(request):
        if not request.startswith(moment) or (moment == "PUT" and next(uploads) == 0):
            return
        while not child or (moment == "PUT" and not hub.uploads):  # the first upload is complete, the second never is
            time.sleep(0.01)
        child[0].send_signal(signal.SIGKILL)
        raise Cut

    hub.before = kill
    command = [sys.executable, PUBLISH, folder, "--to", "hub", "--namespace", "lab"]
    environ = os.environ | hub.environment(folder.parent / "killed")
    child.append(subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert child[0].wait(60) == -signal.SIGKILL
    hub.before = lambda request: None
    repo = hub.repos[REPO]
    assert repo.tags == {} and len(repo.commits) == (2 if "tag" in moment else 1)
    done = upload(folder)
    assert done.returncode == 0, done.stderr
    assert ("unchanged" if "tag" in moment else "uploaded") in done.stdout
    assert len(repo.commits) == 2 and repo.tags == {"v0.1.0": repo.head}
    assert len(hub.uploads) == len(set(hub.uploads)) == 2


@pytest.mark.parametrize(
    ("path", "always", "commits", "message"),
    [
        ("notes.md", False, 2, ""),
        ("README.md", False, 1, "lab/diary: somebody else has changed README.md"),
        ("notes.md", True, 3, "somebody else keeps committing"),
    ],
)
def test_a_commit_of_somebody_else_at_the_same_time_is_not_overwritten(
    hub, upload, folder, path, always, commits, message
):
    def interfere(request):
        if request == COMMIT and (always or hub.requests.count(COMMIT) == 1):
            hub.repos[REPO].add(path, str(len(hub.requests)).encode())

    hub.before = interfere
    done = upload(folder)
    assert (done.returncode, message in done.stderr) == (1 if message else 0, True), done.stderr
    assert (hub.requests.count(COMMIT) == commits and not message) or done.stdout == ""
    theirs = hub.repos[REPO].files[path]
    assert theirs.isdigit() and hub.repos[REPO].files == ({} if message else files_below(folder)) | {path: theirs}
    if path == "README.md":  # looked at, and replaced on purpose
        assert upload(folder).returncode == 0 and hub.repos[REPO].files == files_below(folder)


@pytest.mark.parametrize(
    ("flags", "token", "reached", "said"),
    [
        (("--metrics",), "hf_anotherTokenThatMustNotBePrinted", True, ("lab/diary", "401", "hf auth login")),
        (("--namespace", "elsewhere"), TOKEN, True, ("elsewhere/diary", "403", "You don't have the rights to write")),
        ((), TOKEN, False, ("lab/diary",)),
    ],
    ids=["wrong token", "others' namespace", "out of reach"],
)
def test_a_hub_that_does_not_take_it_is_in_one_line(hub, upload, folder, monkeypatch, flags, token, reached, said):
    monkeypatch.setenv("HF_TOKEN", token)
    with HubDouble() as gone:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url if reached else gone.url)
    done = upload(folder, *flags)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and done.stderr.startswith("error: "), done.stderr
    assert all(part in done.stderr for part in said), done.stderr
    assert "hf_" not in done.stderr + done.stdout and "uploaded" not in done.stdout and not hub.repos


def test_rows_without_a_licence_are_kept_from_the_hub(hub, upload, folder, tmp_path):
    theirs, _ = diary(tmp_path / "theirs", [["b"]])
    for line, flags, found in (("license: unknown\n", (), "unknown"), ("", ("--dry-run",), "nothing")):
        reword(theirs, "license: mit\n" if line else "license: unknown\n", line)
        done = upload(folder, theirs, *flags)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
        assert f"{theirs / 'README.md'}, field 'license': expected the licence under which these rows" in done.stderr
        assert f", found {found}; without a licence" in done.stderr
    assert hub.requests == []
    assert planned_install(theirs, "lab").changes


def test_what_is_no_dataset_or_links_elsewhere_is_refused_before_any_request(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="empty is not a dataset folder"):
        dataset_push(tmp_path / "empty", "lab")
    (tmp_path / "private").mkdir()
    for place in ("notes.txt", "first/test-00001.parquet"):
        (folder / place).symlink_to(tmp_path / "private")
        said = rf"{place}: expected a file inside .*/diary, found a link to {tmp_path}/private"
        with pytest.raises(BadInput, match=said):
            dataset_push(folder, "lab")
        (folder / place).unlink()
    (folder / "READ.md").symlink_to("README.md")
    assert "READ.md" in push._files(folder, "dataset")  # within the folder, it is uploaded as its content
