"""From a name to a judge."""

from pathlib import Path

import pytest

from epbench import BadInput
from epbench.judges.protocol import identity_of, is_free
from epbench.models.load import Options
from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.load import ModelJudge, load_judge
from epbench.tulving.judging.similarity import SimilarityJudge


def test_a_reader_that_also_judges_is_the_same_judge_as_one_loaded_apart(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = Options("http://127.0.0.1:9/v1")
    apart = load_judge("openai:big", options)
    shared = load_judge("openai:big", options, reader=EndpointModel("big", base_url=options.base_url))
    elsewhere = load_judge("openai:big", Options("http://127.0.0.1:8/v1"))
    longer = load_judge("openai:big", options, max_tokens=9)
    assert identity_of(shared) == identity_of(apart)
    assert identity_of(apart) not in (identity_of(elsewhere), identity_of(longer))
    assert {judge.setup for judge in (load_judge("lexical"), load_judge("minilm"))} == {""}


def test_judges_are_chosen_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert isinstance(load_judge("lexical"), LexicalJudge)
    assert isinstance(load_judge("minilm"), SimilarityJudge)
    judge = load_judge("openai:big", Options(window=1000), calls=tmp_path / "c", max_tokens=9)
    assert isinstance(judge, ModelJudge)
    assert (judge.name, judge.model.window(), judge.calls, judge.max_tokens) == ("openai:big", 1000, tmp_path / "c", 9)
    reader = EndpointModel("big")
    assert load_judge("openai:big", reader=reader).model is reader
    assert load_judge("openai:bigger", reader=reader).model is not reader
    with pytest.raises(BadInput, match="judge: unknown model 'gpt'; expected one of: lexical"):
        load_judge("gpt")
    with pytest.raises(BadInput, match="judge max_tokens: expected at least 1, got 0"):
        load_judge("openai:big", max_tokens=0)
    with pytest.raises(BadInput, match=r"judge lexical: it follows rules and takes no prompts, got x\.toml"):
        load_judge("lexical", prompts=Path("x.toml"))


def test_rules_are_free_and_models_are_not(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert is_free(load_judge("lexical")) and is_free(load_judge("minilm")) and not is_free(load_judge("openai:big"))
