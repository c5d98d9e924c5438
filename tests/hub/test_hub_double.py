"""The Hub of the tests answers as the Hub does where a wrong answer would hide a fault of ours."""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import Python
from tests.hub.hub_double import SIGNATURE, TOKEN, HubDouble
from tests.hub.hub_store import Repo

CONTENT = b"0123456789"


def asked(
    hub: HubDouble, path: str, method: str = "GET", body: bytes | None = None, token: str | None = TOKEN, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of an answer."""
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    url = path if path.startswith("http") else hub.url + path
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method)) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)


def commit(parent: str, **value: Any) -> bytes:
    lines = [{"key": "header", "value": {"summary": "x", "parentCommit": parent}}, *([value] if value else [])]
    return b"\n".join(json.dumps(line).encode() for line in lines)


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"), ("bytes=-3", 206, b"789"), ("bytes=10-12", 416, None)],
)
def test_parts_of_a_file(hub: HubDouble, wanted: str, status: int, body: bytes | None):
    hub.publish("datasets", "lab/diary", {"a.parquet": CONTENT})
    found, content, headers = asked(hub, "/datasets/lab/diary/resolve/main/a.parquet", Range=wanted)
    assert found == status and (body is None or content == body)
    assert body is None or headers["Content-Range"].endswith("/10")


def test_a_listing_comes_in_pages(hub: HubDouble):
    hub.publish("datasets", "lab/diary", {f"{i}.txt": b"" for i in range(4)})
    hub.page = 2
    path, seen = "/api/datasets/lab/diary/tree/main?recursive=True", []
    while path:
        _, body, headers = asked(hub, path)
        seen.append([entry["path"] for entry in json.loads(body)])
        path = headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert seen == [[".gitattributes", "0.txt"], ["1.txt", "2.txt"], ["3.txt"]]


def test_a_private_repository_is_there_only_for_who_may_see_it(hub: HubDouble):
    made = {"organization": "lab", "name": "diary", "type": "dataset", "visibility": "private"}
    hub.repos["datasets", "lab/diary"] = Repo(made)
    assert [asked(hub, "/api/datasets/lab/diary", token=token)[0] for token in (TOKEN, None, "hf_x")] == [200, 401, 401]
    assert asked(hub, "/api/datasets/lab/diary", token=None)[2]["X-Error-Code"] == "RepoNotFound"


def test_a_large_file_is_only_taken_with_its_hash_and_a_signed_address(hub: HubDouble):
    hub.publish("datasets", "lab/diary", {})
    right, wrong = hashlib.sha256(CONTENT).hexdigest(), hashlib.sha256(b"").hexdigest()
    put = {"method": "PUT", "body": CONTENT, "token": None}
    assert asked(hub, f"/large-files/{right}", **put)[0] == 403
    assert asked(hub, f"/large-files/{wrong}?{SIGNATURE}", **put)[0] == 400
    pointer = {"key": "lfsFile", "value": {"path": "a.parquet", "oid": right, "size": 10}}
    head = hub.repos["datasets", "lab/diary"].head
    assert asked(hub, "/api/datasets/lab/diary/commit/main", "POST", commit(head, **pointer))[0] == 400
    assert asked(hub, f"/large-files/{right}?{SIGNATURE}", **put)[0] == 200
    assert asked(hub, "/api/datasets/lab/diary/commit/main", "POST", commit(head, **pointer))[0] == 200
    assert hub.repos["datasets", "lab/diary"].files == {"a.parquet": CONTENT}


def test_a_commit_on_an_old_parent_is_refused(hub: HubDouble):
    repo = hub.publish("datasets", "lab/diary", {})
    old = repo.head
    repo.add("notes.md", b"theirs")
    assert asked(hub, "/api/datasets/lab/diary/commit/main", "POST", commit(old))[0] == 412
    assert asked(hub, "/api/datasets/lab/diary/commit/main", "POST", commit(repo.head))[0] == 200


@pytest.mark.slow
def test_rows_are_streamed_in_parts(hub: HubDouble, python: Python, tmp_path: Path):
    from datasets import Features, Value

    from epbench.hub.dataset_folder import Config, write_dataset

    columns = {"id": [str(i) for i in range(3000)]}
    config = Config("first", "test", Features({"id": Value("string")}), columns)
    write_dataset(tmp_path / "diary", [config], "---\nlicense: mit\n---\n")
    file = "first/test-00000-of-00001.parquet"
    hub.publish("datasets", "lab/diary", {file: (tmp_path / "diary" / file).read_bytes()})
    code = (
        "from datasets import load_dataset as l; print(next(iter(l('lab/diary', split='test', streaming=True)))['id'])"
    )
    done = python("-c", code, HF_TOKEN="")
    assert done.stdout == "0\n", done.stderr
