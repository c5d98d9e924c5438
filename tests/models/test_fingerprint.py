"""Answers belong to weights, not to the path where these lie."""

import json
import os
import shutil

import pytest

from epbench.models import fingerprint
from epbench.models.fingerprint import weights_fingerprint
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request, name_of, weights_of
from epbench.models.vllm import VllmModel
from epbench.tulving.reader import LexicalReader
from tests.models.conftest import TEXT
from tests.models.tiny_adapter import put_in_hub_cache


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/weights.json"


@pytest.fixture
def read(monkeypatch):
    """Names of the files that are read for their digest."""
    names, whole = [], fingerprint._read
    monkeypatch.setattr(fingerprint, "_read", lambda path: names.append(path.name) or whole(path))
    return names


def test_a_fingerprint_is_of_the_content_not_of_the_place(folder, tmp_path):
    first = weights_fingerprint(str(folder))
    assert len(first) == 12 and int(first, 16) >= 0
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert weights_fingerprint(str(moved)) == first
    os.utime(folder / "model.safetensors", (1, 1))
    assert weights_fingerprint(str(folder)) == first


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"])
def test_every_file_that_decides_answers_counts(folder, name):
    first = weights_fingerprint(str(folder))
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    changed = weights_fingerprint(str(folder))
    (folder / name).unlink()
    assert len({first, changed, weights_fingerprint(str(folder))}) == 3


def test_what_a_training_leaves_beside_the_weights_does_not_count(folder):
    first = weights_fingerprint(str(folder))
    for name in ("optimizer.pt", "rng_state_0.pth", "training_args.bin", "trainer_state.json", "README.md"):
        (folder / name).write_text("not the model")
    (folder / "checkpoint-9").mkdir()
    (folder / "checkpoint-9/model.safetensors").write_text("another model")
    assert weights_fingerprint(str(folder)) == first
    (folder / "pytorch_model.bin").write_text("weights")
    assert weights_fingerprint(str(folder)) != first


def test_a_checkpoint_is_read_once(folder, store, read, monkeypatch):
    monkeypatch.setattr(fingerprint, "_SETTLED_NS", -(10**18))  # as if it had been written long ago
    first = weights_fingerprint(str(folder))
    n = len(read)
    assert "model.safetensors" in read and len(json.loads(store.read_text())) == n
    assert weights_fingerprint(str(folder)) == first and len(read) == n
    content = (folder / "config.json").read_bytes()
    (folder / "config.json").write_bytes(content + b" ")
    assert weights_fingerprint(str(folder)) != first and read[n:] == ["config.json"]
    assert len(json.loads(store.read_text())) == n, "what is known of a file that has changed is forgotten"


def test_files_that_may_still_be_written_are_read_again(folder, store, read):
    """A file of one size can change twice within one tick of the file system's clock."""
    first = weights_fingerprint(str(folder))
    n = len(read)
    assert weights_fingerprint(str(folder)) == first and len(read) == 2 * n and not store.exists()


@pytest.mark.parametrize("content", ["", '{"1 2 3 4 /x": 7}'])
def test_a_damaged_store_is_made_anew(folder, store, read, monkeypatch, content):
    monkeypatch.setattr(fingerprint, "_SETTLED_NS", -(10**18))
    store.parent.mkdir()
    store.write_text(content)
    first = weights_fingerprint(str(folder))
    n = len(read)
    assert weights_fingerprint(str(folder)) == first and len(read) == n > 0


def test_much_is_announced_and_a_store_that_cannot_be_written_is_done_without(folder, store, read, monkeypatch, caplog):
    monkeypatch.setattr(fingerprint, "_SETTLED_NS", -(10**18))
    monkeypatch.setattr(fingerprint, "_LONG_TO_READ", 1)
    store.parent.write_text("a file where the folder should be")
    with caplog.at_level("INFO", "epbench"):
        first, n = weights_fingerprint(str(folder)), len(read)
    assert weights_fingerprint(str(folder)) == first and len(read) == 2 * n and f"in {folder} once" in caplog.text


def test_links_into_the_hubs_cache_are_named_by_their_blobs(folder, tmp_path, read):
    first = weights_fingerprint(str(folder))
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    digest = fingerprint._read(folder / "model.safetensors")
    (folder / "model.safetensors").rename(blobs / digest)
    (folder / "model.safetensors").symlink_to(blobs / digest)
    read.clear()
    assert weights_fingerprint(str(folder)) == first
    assert digest not in read and "model.safetensors" not in read and "config.json" in read


def test_a_name_on_the_hub_has_its_commit(folder):
    commit = "0123456789abcdef0123456789abcdef01234567"
    put_in_hub_cache("some/tiny", {commit: folder}, {"main": commit})
    assert weights_fingerprint("some/tiny") == commit
    assert TransformersModel("some/tiny").identity == f"hf:some/tiny@{commit}"
    assert weights_fingerprint("nobody/nothing") is None
    assert TransformersModel("nobody/nothing").identity == "hf:nobody/nothing"


def test_an_adapter_counts_with_its_base(folder, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_text("weights")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(folder)}))
    first = weights_fingerprint(str(adapter))
    (folder / "model.safetensors").write_text("others")
    assert weights_fingerprint(str(adapter)) != first


def test_identity_is_name_and_fingerprint(folder):
    found = weights_fingerprint(str(folder))
    for kind in (TransformersModel, VllmModel):
        for dtype, weights in (("auto", found), ("bfloat16", f"{found}-bfloat16")):
            model = kind(str(folder), dtype=dtype)
            assert model.identity == f"{model.name}@{weights}" and name_of(model.identity) == model.name
            assert weights_of(model) == {"weights": weights}
    assert TransformersModel("nobody/nothing", dtype="float16").identity == "hf:nobody/nothing@float16"
    assert name_of("hf:nobody/nothing@float16") == "hf:nobody/nothing"
    assert LexicalReader().identity == "lexical" and weights_of(LexicalReader()) == {}
    assert name_of("openai:some@0123456789abcdef") == "openai:some@0123456789abcdef"
    assert name_of("hf:me@work/model") == "hf:me@work/model"


def test_a_plan_reads_no_weights(folder, read):
    """Neither of the reader, nor of a judge."""
    from epbench.models.estimate import estimate
    from epbench.tulving.judging.load import ModelJudge
    from epbench.tulving.judging.verdicts import JudgeInput, plan_lines

    model = TransformersModel(str(folder))
    estimate([Request("1", "", TEXT, "who?")], model)
    lines = plan_lines(ModelJudge(model, max_tokens=9), [JudgeInput("1", "who?", "entities", "all", ("Zoe",), "Zoe")])
    assert lines[0].startswith(f"judge hf:{folder}: 1 verdicts")
    assert not read and ModelJudge(model).name == model.identity and read
