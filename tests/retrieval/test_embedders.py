import logging
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from epbench.errors import BadInput
from epbench.retrieval.embedders import SentenceTransformerEmbedder, query_instruction

EN = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("model", "instruction"),
    [
        ("BAAI/bge-large-en-v1.5", EN),
        ("models--BAAI--bge-base-en-v1.5", EN),
        ("my-bge-small-en-v1.5-tuned", EN),
        ("BAAI/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章："),
        ("BAAI/bge-m3", ""),
        ("BAAI/bge-reranker-large", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", ""),
        ("notbge-large-en", ""),
        ("text-embedding-3-small", ""),
    ],
)
def test_only_bge_models_get_an_instruction(model, instruction):
    assert query_instruction(model) == instruction


def copied(model, folder):
    shutil.copytree(model, folder)
    return folder


def test_a_real_model_embeds_and_tells_queries_apart_only_if_it_is_bge(tiny_model, tmp_path):
    plain = SentenceTransformerEmbedder(str(tiny_model))
    folder = copied(tiny_model, tmp_path / "bge-small-en-v1.5")
    # No prompt of the model's configuration slips in.
    settings = '{"prompts": {"query": "who was "}, "default_prompt_name": "query"}'
    (folder / "config_sentence_transformers.json").write_text(settings)
    bge = SentenceTransformerEmbedder(str(folder))
    texts = ["the red cat sat", "who sang at the park?"]
    chunks = plain.embed(texts, query=False)
    assert chunks.shape == (2, 16) and chunks.dtype == np.float32
    np.testing.assert_array_equal(plain.embed(texts, query=True), chunks)
    np.testing.assert_allclose(bge.embed(texts, query=False), chunks, atol=1e-6)
    np.testing.assert_allclose(
        bge.embed(texts, query=True), plain.embed([EN + t for t in texts], query=False), atol=1e-6
    )
    assert not np.allclose(bge.embed(texts, query=True), chunks, atol=1e-3)


def test_the_name_is_of_the_content_not_of_the_place(tiny_model, tmp_path):
    first = SentenceTransformerEmbedder(str(tiny_model)).name
    moved = copied(tiny_model, tmp_path / "tiny")
    assert SentenceTransformerEmbedder(str(moved)).name == first
    (moved / "onnx").mkdir()
    (moved / "onnx/model.bin").write_text("not read")
    (moved / "README.md").write_text("not read")
    assert SentenceTransformerEmbedder(str(moved)).name == first
    (weights,) = moved.rglob("model.safetensors")
    save_file({name: part + 1 for name, part in load_file(weights).items()}, weights, metadata={"format": "pt"})
    assert SentenceTransformerEmbedder(str(moved)).name != first


def test_a_model_in_the_hubs_cache_is_named_by_its_commit(tiny_model, tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--BAAI--bge-small-en-v1.5"
    copied(tiny_model, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    by_id = SentenceTransformerEmbedder("BAAI/bge-small-en-v1.5")
    assert by_id.name == f"st:BAAI/bge-small-en-v1.5@{commit}"
    by_folder = SentenceTransformerEmbedder(str(repository / "snapshots" / commit))
    np.testing.assert_allclose(by_id.embed(["cat"], query=True), by_folder.embed(["cat"], query=True))
    assert not np.allclose(by_id.embed(["cat"], query=True), by_id.embed(["cat"], query=False), atol=1e-3)


def test_a_warning_about_cut_chunks_comes_once_with_both_numbers(tiny_model, caplog):
    model = SentenceTransformerEmbedder(str(tiny_model))
    caplog.set_level(logging.WARNING)
    model.check(["red " * 22, "blue"])  # with [CLS] and [SEP] just 24
    assert not caplog.records
    chunks = ["red " * 23, "red " * 50, "blue"]
    model.check(chunks)
    model.embed(chunks, query=False)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "reads at most 24 tokens: 2 of 3 chunks are cut, and the longest has 52 tokens" in caplog.text


def test_a_missing_model_is_reported_in_one_line(tiny_model, tmp_path):
    broken = copied(tiny_model, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"torn")
    for model in ("nobody/nothing", str(tmp_path / "nowhere"), str(broken)):
        with pytest.raises(BadInput, match="hf download .* or use bm25") as error:
            SentenceTransformerEmbedder(model)
        assert "\n" not in str(error.value)
