"""From a name to a judge."""

from pathlib import Path

import pytest

from epbench import BadInput
from epbench.judges.protocol import is_free
from epbench.models.load import Options
from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.model import ModelJudge
from epbench.tulving.judging.similarity import SimilarityJudge


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
