"""A revision of the Hub and an adapter: other weights under the same name, with answers of their own."""

import json
import shutil

import pytest
from peft import PeftModel
from transformers import AutoModelForCausalLM

from epbench.models.fingerprint import commit_of, weights_fingerprint
from epbench.models.hf.model import TransformersModel, Variant, find_variant
from epbench.models.protocol import Request, Sampling, name_of, variant_of, weights_of
from epbench.models.vllm import VllmModel, variant_arguments
from tests.models.conftest import TEXT
from tests.models.tiny_adapter import make_adapter, put_in_hub_cache
from tests.refusals import refusal
from tests.tiny_model import make_tiny_model

OLD, NEW = "a" * 40, "b" * 40
REQUESTS = [Request(f"{n}", "", TEXT[:200], f"Who left {n} times?", Sampling(8)) for n in range(3)]


@pytest.fixture(scope="module")
def adapter(tiny):
    return make_adapter(tiny.parent / "adapter", tiny)


@pytest.fixture
def on_hub(tiny, tmp_path):
    """A model with two commits; main is the newer one, of other weights."""
    newer = make_tiny_model(tmp_path / "newer", TEXT, window=4096, seed=1)
    put_in_hub_cache("org/tiny", {OLD: tiny, NEW: newer}, {"main": NEW, "v1": OLD})
    commit_of.cache_clear()
    yield "org/tiny"
    commit_of.cache_clear()


def answers_of(model):
    return {reply.id: reply.text for reply in model.answer(REQUESTS)}


@pytest.mark.parametrize(("revision", "commit"), [("main", NEW), ("v1", OLD), (OLD, OLD)])
def test_a_revision_is_its_commit(on_hub, revision, commit):
    for model in (TransformersModel(on_hub, revision=revision), VllmModel(on_hub, revision=revision)):
        assert model.identity == f"{model.name}@{commit}"
        assert name_of(model.identity) == model.name
        assert variant_of(model) == {"model_args": {"revision": revision, "commit": commit}}
        assert model.window() == 4096 and model.count_tokens(REQUESTS[0])[0] > 10


@pytest.mark.slow
def test_a_revision_has_its_own_weights(on_hub, tiny, tmp_path):
    main, tagged = TransformersModel(on_hub), TransformersModel(on_hub, revision="v1")
    assert variant_of(main) == {} and main.identity == f"hf:org/tiny@{NEW}"
    assert answers_of(tagged) == answers_of(TransformersModel(str(tiny)))
    assert answers_of(main) == answers_of(TransformersModel(str(tmp_path / "newer"))) != answers_of(tagged)


def test_what_has_no_such_revision_is_refused(on_hub, tiny):
    for model, said in (
        (TransformersModel(on_hub, revision="v9"), "no revision 'v9' of it, neither in the Hub's cache nor on the Hub"),
        (TransformersModel(str(tiny), revision="main"), "only a model on the Hub has revisions, and this one lies on"),
    ):
        assert said in refusal(model.window)


@pytest.mark.slow
def test_an_adapter_answers_as_the_merged_model_does(tiny, adapter, tmp_path):
    base, named = TransformersModel(str(tiny)), TransformersModel(str(tiny), adapter=str(adapter))
    merged = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny), adapter).merge_and_unload()
    trained = shutil.copytree(tiny, tmp_path / "trained")  # as our trainings with LoRA leave it
    merged.save_pretrained(trained)
    assert answers_of(named) == answers_of(TransformersModel(str(trained))) != answers_of(base)
    assert named.identity.startswith(f"{base.identity}+")
    assert name_of(named.identity) == base.name
    assert name_of(f"{named.identity}-bfloat16") == base.name
    assert weights_of(named)["weights"].partition("+")[0] == weights_fingerprint(str(tiny))
    about = variant_of(named)["model_args"]
    assert about == {"adapter": str(adapter), "adapter_weights": named.identity[-12:]}


def test_an_adapter_of_the_hub_is_noted_with_its_commit(tiny, adapter):
    put_in_hub_cache("org/adapter", {OLD: adapter}, {"main": OLD})
    model = TransformersModel(str(tiny), adapter="org/adapter")
    assert variant_of(model)["model_args"]["adapter_commit"] == OLD
    assert model.identity == TransformersModel(str(tiny), adapter=str(adapter)).identity


def test_what_is_no_adapter_of_the_model_is_refused(tiny, adapter, tmp_path):
    for base, name, message in [
        (tiny, str(tiny), "expected a folder with adapter_config.json and adapter_model.safetensors"),
        (tiny, str(tmp_path / "nowhere"), "no such folder"),
        (tiny, "org/nowhere", "no such folder, and no such adapter on the Hub"),
        (adapter, str(adapter), "it is an adapter itself; give its base model"),
    ]:
        assert message in refusal(TransformersModel(str(base), adapter=name).window)
    deeper = make_adapter(tmp_path / "deeper", make_tiny_model(tmp_path / "deep", TEXT, layers=2, vocabulary=500))
    config = json.loads((deeper / "adapter_config.json").read_text())
    (deeper / "adapter_config.json").write_text(json.dumps(config | {"target_modules": ["no_such_layer"]}))
    assert "cannot read the adapter" in refusal(answers_of, TransformersModel(str(tiny), adapter=str(deeper)))


def test_vllm_gets_the_commit_and_the_adapter(tiny, adapter, on_hub, tmp_path):
    assert variant_arguments(Variant(str(tiny))) == {}
    assert variant_arguments(find_variant(on_hub, "v1")) == {"revision": OLD, "tokenizer_revision": OLD}
    lora = {"enable_lora": True, "max_loras": 1, "max_lora_rank": 8}
    assert variant_arguments(find_variant(str(tiny), None, str(adapter))) == lora
    other = shutil.copytree(adapter, tmp_path / "other")
    config = json.loads((other / "adapter_config.json").read_text())
    for change, message in [({"r": 1000}, "ranks up to 512, found 1000"), ({"peft_type": "IA3"}, "found IA3")]:
        (other / "adapter_config.json").write_text(json.dumps(config | change))
        assert message in refusal(variant_arguments, find_variant(str(tiny), None, str(other)))
