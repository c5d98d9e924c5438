"""Retrieval by embeddings as a user runs it."""

import json

import pytest


@pytest.mark.slow
def test_a_run_searches_by_embeddings_and_finds_them_again(script, short_book, tiny_model, tmp_path):
    pytest.importorskip("sentence_transformers")
    base = [
        "eval_scripts/tulving.py", "--dataset", short_book, "--memory", "rag-paragraph", "--retriever", f"st:{tiny_model}",
        "--limit", 30,
    ]  # fmt: skip
    cache = {"EPBENCH_CACHE": str(tmp_path / "vectors")}
    first = script(*base, "--out", tmp_path / "a", **cache)
    assert first.returncode == 0, first.stderr
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "vectors").rglob("*.vectors")}
    assert sizes
    second = script(*base, "--out", tmp_path / "b", **cache)
    assert second.returncode == 0, second.stderr
    assert {p.name: p.stat().st_size for p in (tmp_path / "vectors").rglob("*.vectors")} == sizes
    runs = [json.loads((tmp_path / name / "scores.json").read_text()) for name in "ab"]
    assert runs[0] == runs[1] and runs[0]["n_questions"] == 30
