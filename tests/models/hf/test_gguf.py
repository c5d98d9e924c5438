"""GGUF files become checkpoints in the cache, once; what cannot be converted is one line."""

import hashlib
import logging
import shutil
import struct
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from epbench.files.cache import cache_folder
from epbench.models.fingerprint import weights_fingerprint
from epbench.models.hf import gguf_files, memory
from epbench.models.hf.checkpoint import find_checkpoint
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request, Sampling
from tests.models.conftest import TEXT
from tests.models.tiny_gguf import write_gguf
from tests.refusals import refusal
from tests.tiny_model import CHAT, make_tiny_model

checkpoint_of = partial(gguf_files.checkpoint_of, dtype=torch.float32)
ASKED = Request("1", "You read.", "The book of A and B.", "Who left?", Sampling(max_tokens=5))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(tiny, tmp_path):
    return write_gguf(tiny, tmp_path / "tiny.gguf")


def test_the_checkpoint_has_the_weights_and_the_tokenizer_of_the_file(tiny, file):
    folder = checkpoint_of(file)
    ours, theirs = (AutoModelForCausalLM.from_pretrained(path).state_dict() for path in (folder, tiny))
    assert ours.keys() == theirs.keys()
    assert all(ours[name].dtype == torch.float32 and ours[name].equal(theirs[name]) for name in ours)
    mine, original = (AutoTokenizer.from_pretrained(path) for path in (folder, tiny))
    assert mine.chat_template == original.chat_template == CHAT
    assert (mine.bos_token, mine.eos_token, mine.pad_token) == ("<s>", "</s>", "<pad>")
    written = "<|user|>\nWho was seen?<|end|>"
    assert mine(written, add_special_tokens=False).input_ids == original(written, add_special_tokens=False).input_ids


def test_a_file_answers_like_the_model_that_it_was_made_from(tiny, file):
    def answer(name):
        model = TransformersModel(str(name))
        return model.window(), [reply.text for reply in model.answer([ASKED])]

    assert answer(file) == answer(tiny)


def test_each_dtype_has_a_checkpoint_with_the_fingerprint_of_the_file(tiny, file, monkeypatch, caplog):
    exact, half = checkpoint_of(file), checkpoint_of(file, dtype=torch.bfloat16)
    assert {folder.name.rpartition("-")[2] for folder in (exact, half)} == {"float32", "bfloat16"}
    ours, theirs = (AutoModelForCausalLM.from_pretrained(path).state_dict() for path in (half, tiny))
    assert all(ours[name].equal(theirs[name].bfloat16()) for name in theirs) and not caplog.text
    assert half.joinpath("model.safetensors").stat().st_size < 0.6 * exact.joinpath("model.safetensors").stat().st_size
    assert {find_checkpoint(str(file), dtype) for dtype in ("auto", "float32")} == {str(exact)}
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    named = {dtype: TransformersModel(str(file), dtype=dtype) for dtype in ("auto", "bfloat16")}
    with monkeypatch.context() as patch:
        patch.setattr("epbench.models.fingerprint._read", lambda path: pytest.fail(f"{path} was read again"))
        assert weights_fingerprint(str(half)) == weights_fingerprint(str(exact)) == digest
    assert named["auto"].identity == f"hf:{file}@{digest}" and named["bfloat16"].identity.endswith(f"{digest}-bfloat16")
    half.joinpath("config.json").write_text(half.joinpath("config.json").read_text() + "\n")
    assert weights_fingerprint(str(half)) not in (digest, None), "files that have changed are no longer those of it"


def test_it_is_converted_once_and_again_when_its_content_changes(tiny, file, cache, monkeypatch):
    folder = checkpoint_of(file)
    assert folder.parent == cache / "checkpoints" and folder.name.startswith("tiny-")
    assert sorted(path.name for path in cache.glob("checkpoints/*")) == [folder.name, f"{folder.name}.lock"]
    with monkeypatch.context() as patch:
        patch.setattr(gguf_files, "_convert", lambda *args: pytest.fail("it was converted before"))
        assert checkpoint_of(file) == folder
        assert checkpoint_of(shutil.copy(file, file.with_name("tiny-too.gguf")).rename(file)) == folder
    other = make_tiny_model(file.parent / "other", TEXT, window=4096, seed=1)
    assert checkpoint_of(write_gguf(other, file)) != folder


def test_a_file_without_a_chat_template_is_said_to_be_one(tiny, tmp_path, caplog):
    caplog.set_level(logging.INFO, "epbench.models.hf.checkpoint")
    folder = checkpoint_of(write_gguf(tiny, tmp_path / "base.gguf", template=False))
    assert AutoTokenizer.from_pretrained(folder).chat_template is None
    assert "base.gguf: it has no chat template, so prompts will be plain text" in caplog.text


def refused(file):
    """The one line about a file that cannot be converted, which leaves nothing half-written."""
    line = refusal(checkpoint_of, file)
    assert f"model {file}: " in line and len(line) < 700
    assert not [path for path in cache_folder("checkpoints").glob("*") if path.suffix != ".lock"]
    return line


def test_files_that_cannot_be_converted_are_refused_in_one_line(tiny, tmp_path):
    assert "cannot read its tokenizer" in refused(write_gguf(tiny, tmp_path / "none.gguf", tokenizer=False))
    assert "cannot read its" in refused(write_gguf(tiny, tmp_path / "new.gguf", architecture="brand-new"))
    for content in ("not a model", ""):
        (tmp_path / "text.gguf").write_text(content)
        assert "cannot read its" in refused(tmp_path / "text.gguf")
    assert "gone.gguf: no such file" in refusal(checkpoint_of, tmp_path / "gone.gguf")


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_a_file_that_is_cut_off_is_refused(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    assert "expected a whole GGUF file" in refused(file)


def patched(file, behind, form, value, skip=0):
    """Replace a number so many bytes behind some bytes of a file; return what was there."""
    content = bytearray(file.read_bytes())
    at = content.index(behind) + len(behind) + skip
    before = struct.unpack_from(form, content, at)[0]
    struct.pack_into(form, content, at, value)
    file.write_bytes(content)
    return before


@pytest.mark.parametrize(
    ("behind", "form", "value", "skip", "why"),
    [
        (b"llama.block_count", "<I", 100_000, 4, "it names 100,000 blocks and has 2"),
        (b"llama.embedding_length", "<I", 2**30, 4, "the sizes that it names make a model of"),
        (b"output_norm.weight", "<Q", 2**64 - 64, 16, "at offset 18,446,744,073,709,551,552 of"),
        (b"output_norm.weight", "<Q", 33, 16, "at offset 33 of"),
        (b"output_norm.weight", "<Q", 2**40, 4, "'output_norm.weight' of 4,398,046,511,104 bytes"),
        (b"GGUF", "<Q", 2**60, 4, ""),
        (b"GGUF", "<Q", 2**62, 20, "an item of 4,611,686,018,427,387,904 bytes"),
        (b"tokenizer.ggml.token_type", "<Q", 2**60, 8, "an array of 1,152,921,504,606,846,976 items"),
    ],
)
def test_sizes_that_do_not_fit_the_file_are_refused_before_weights_are_read(
    file, monkeypatch, behind, form, value, skip, why
):
    assert patched(file, behind, form, value, skip) != value
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *args, **more: pytest.fail("weights are read"))
    line = refused(file)
    assert "cannot read its header (" in line and why in line


def test_too_small_a_disk_is_refused_with_both_numbers(file, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2 * 10**6))
    said = "take 0.01 GB, but 0.00 GB are free on this disk; set EPBENCH_CACHE to a folder"
    assert said in refusal(checkpoint_of, file)
    assert not list(cache_folder("checkpoints").glob("tiny*/*"))


def test_too_little_memory_is_refused_before_anything_is_loaded(tiny, file, monkeypatch):
    n = AutoModelForCausalLM.from_pretrained(tiny).num_parameters()
    monkeypatch.setattr(memory, "available_memory", lambda device: 3 * n)
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *args, **more: pytest.fail("weights are read"))
    said = f"its {n:,} weights take 0.00 GB in float32, but 0.00 GB of memory are available on cpu; in bfloat16 they take 0.00 GB"
    assert refused(file).endswith(said)
    assert refusal(next, TransformersModel(str(tiny)).answer([ASKED])) == f"model hf:{tiny}: {said}"
    with pytest.raises(pytest.fail.Exception, match="weights are read"):
        list(TransformersModel(str(tiny), dtype="bfloat16").answer([ASKED]))
