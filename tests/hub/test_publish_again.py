"""What a second publication does: nothing, what is missing, or a clear refusal. The Hub is a double on loopback."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hub.diaries import PUBLISH, Python, diary
from tests.hub.hub_double import SIGNATURE, TOKEN, Cut, HubDouble, Refusal

REPO = ("datasets", "lab/diary")
COMMIT = "POST /api/datasets/lab/diary/commit/main"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return diary(tmp_path, [["old"]])[0]


@pytest.mark.slow
def test_the_same_again_makes_no_commit(hub: HubDouble, python: Python, folder: Path):
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    first, sent = python(*push), len(hub.uploads)
    second = python(*push)
    assert first.stdout == f"uploaded: {hub.url}/datasets/lab/diary (3 new), tag v0.1.0\n"
    assert second.stdout == f"unchanged: {hub.url}/datasets/lab/diary, tag v0.1.0\n", second.stderr
    assert len(hub.repos[REPO].commits) == 2  # the one of the Hub itself, and ours
    assert len(hub.uploads) == sent == 2


@pytest.mark.slow
def test_other_rows_need_another_version_or_force(hub: HubDouble, python: Python, folder: Path, tmp_path: Path):
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert python(*push).returncode == 0
    repo, first = hub.repos[REPO], hub.repos[REPO].head
    diary(tmp_path, [["new"], ["newer"]])
    done = python(*push)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"lab/diary: the tag v0.1.0 is on other content than {folder} (commit {first[:7]}" in done.stderr
    assert "raise the version, or give --force" in done.stderr
    assert (repo.head, repo.tags) == (first, {"v0.1.0": first})

    readme = folder / "README.md"
    readme.write_text(readme.read_text("utf-8").replace("version: 0.1.0", "version: 0.2.0"), "utf-8")
    done = python(*push)
    assert "(2 changed), tag v0.2.0" in done.stdout, done.stderr
    assert repo.tags == {"v0.1.0": first, "v0.2.0": repo.head}

    diary(tmp_path, [["newest"]])
    assert python(*push, "--force").returncode == 0
    assert repo.tags["v0.1.0"] == repo.head and len(repo.commits) == 4


def test_a_card_without_a_version_gets_no_tag(hub: HubDouble, python: Python, folder: Path):
    readme = folder / "README.md"
    text = readme.read_text("utf-8")
    readme.write_text(text.replace("version: 0.1.0\n", ""), "utf-8")
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert "without a tag, as its README.md has no version" in done.stdout
    assert hub.repos[REPO].tags == {}
    readme.write_text(text.replace("version: 0.1.0\n", "version: 1 of 2\n"), "utf-8")
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert done.returncode == 2 and "field 'version': expected one such as 0.1.0, found '1 of 2'" in done.stderr


def test_rows_of_a_config_that_is_gone_are_deleted_and_foreign_files_stay(hub: HubDouble, python: Python, folder: Path):
    rows = {"old/test-00000-of-00001.parquet": b"PAR1", "notes.md": b"theirs"}
    hub.publish(*REPO, rows)
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert "(3 new, 1 deleted)" in done.stdout, done.stderr
    assert hub.repos[REPO].files.keys() - {"notes.md"} == {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.slow
def test_a_broken_connection_is_mended_in_the_same_run(hub: HubDouble, python: Python, folder: Path):
    hub.cut_uploads = 1
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert done.returncode == 0, done.stderr
    assert sum(request.startswith("PUT") for request in hub.requests) == 3 and len(hub.uploads) == 2
    assert "Signature" not in done.stderr


@pytest.mark.slow
def test_a_refused_upload_is_continued_by_the_next_run(hub: HubDouble, python: Python, folder: Path):
    def refuse_the_second(request: str) -> None:
        if request.startswith("PUT") and hub.uploads:
            raise Refusal(403, "Request has expired")

    hub.before = refuse_the_second
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    done = python(*push, HF_HUB_DISABLE_PROGRESS_BARS="1")
    assert (done.returncode, done.stdout, done.stderr.count("error: lab/diary: the Hub failed")) == (1, "", 1)
    assert "give the same command again" in done.stderr and "403" in done.stderr
    assert TOKEN not in done.stderr and SIGNATURE not in done.stderr
    assert len(hub.repos[REPO].commits) == 1 and len(hub.uploads) == 1
    hub.before = lambda request: None
    assert python(*push).returncode == 0
    assert len(hub.uploads) == len(set(hub.uploads)) == 2  # only what was missing has been sent
    assert hub.repos[REPO].tags == {"v0.1.0": hub.repos[REPO].head}


@pytest.mark.slow
def test_a_connection_that_stays_broken_is_one_line_and_the_next_run_continues(
    hub: HubDouble, python: Python, folder: Path
):
    hub.cut_uploads = 100
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    done = python(*push, HF_HUB_DISABLE_PROGRESS_BARS="1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "Signature" not in done.stderr and len(hub.repos[REPO].commits) == 1
    hub.cut_uploads = 0
    assert python(*push).returncode == 0 and len(hub.uploads) == 2


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["PUT", COMMIT, "POST /api/datasets/lab/diary/tag/"])
def test_a_killed_publication_is_continued(moment: str, hub: HubDouble, python: Python, folder: Path):
    child: list[subprocess.Popen[bytes]] = []
    uploads = itertools.count()

    def kill(request: str) -> None:
        if not request.startswith(moment) or (moment == "PUT" and next(uploads) == 0):
            return
        while not child or (moment == "PUT" and not hub.uploads):  # the first upload is complete, the second never is
            time.sleep(0.01)
        child[0].send_signal(signal.SIGKILL)
        raise Cut

    hub.before = kill
    push = [str(PUBLISH), str(folder), "--to", "hub", "--namespace", "lab"]
    child.append(
        subprocess.Popen(
            [sys.executable, *push],
            env=os.environ | hub.environment(folder.parent / "killed"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )
    assert child[0].wait(60) == -signal.SIGKILL
    hub.before = lambda request: None
    repo = hub.repos[REPO]
    assert repo.tags == {} and len(repo.commits) == (2 if "tag" in moment else 1)
    done = python(*push)
    assert done.returncode == 0, done.stderr
    assert ("unchanged" if "tag" in moment else "uploaded") in done.stdout
    assert len(repo.commits) == 2 and repo.tags == {"v0.1.0": repo.head}
    assert len(hub.uploads) == len(set(hub.uploads)) == 2


def test_a_commit_of_somebody_else_stays(hub: HubDouble, python: Python, folder: Path):
    def interfere(request: str) -> None:
        if request == COMMIT and hub.requests.count(COMMIT) == 1:
            hub.repos[REPO].add("notes.md", b"theirs")

    hub.before = interfere
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert done.returncode == 0, done.stderr
    repo = hub.repos[REPO]
    assert hub.requests.count(COMMIT) == 2 and len(repo.commits) == 3
    assert repo.files["notes.md"] == b"theirs" and repo.files["README.md"] == (folder / "README.md").read_bytes()


@pytest.mark.slow
def test_a_change_of_the_same_file_by_somebody_else_is_not_overwritten(hub: HubDouble, python: Python, folder: Path):
    def interfere(request: str) -> None:
        if request == COMMIT and hub.requests.count(COMMIT) == 1:
            hub.repos[REPO].add("README.md", b"theirs")

    hub.before = interfere
    push = (PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    done = python(*push)
    assert (done.returncode, done.stdout) == (1, "")
    assert "lab/diary: somebody else has changed README.md during the upload" in done.stderr
    assert hub.repos[REPO].files == {"README.md": b"theirs"}
    assert python(*push).returncode == 0
    assert hub.repos[REPO].files["README.md"] == (folder / "README.md").read_bytes()


def test_somebody_who_never_stops_is_said(hub: HubDouble, python: Python, folder: Path):
    hub.before = lambda request: (
        hub.repos[REPO].add("notes.md", str(len(hub.requests)).encode()) if request == COMMIT else None
    )
    done = python(PUBLISH, folder, "--to", "hub", "--namespace", "lab")
    assert done.returncode == 1 and "somebody else keeps committing" in done.stderr
    assert hub.requests.count(COMMIT) == 3
