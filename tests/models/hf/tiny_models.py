"""Tiny models with random weights, one for each kind of cache, and the plain path to their answers."""

import math

import torch
import transformers

from epbench.models.hf.prefix_rows import Forward
from epbench.models.hf.shared_prefix import Prompt

SIZES = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 4096,
    "initializer_range": 0.3,
    "tie_word_embeddings": False,
}
GPT2 = {"vocab_size": 300, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 4096, "initializer_range": 0.3}
LINEAR = SIZES | {
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "layer_types": ["linear_attention", "full_attention"],
}
MODELS = {
    "Llama": (SIZES, "joint"),
    "Qwen3": (SIZES, "joint"),
    "GPT2": (GPT2, "joint"),
    "Mistral": (SIZES | {"sliding_window": 24}, "repeated"),
    "Gemma2": (SIZES | {"sliding_window": 24, "attn_logit_softcapping": 5.0}, "repeated"),
    "Qwen3Next": (LINEAR, None),  # a running state: whether it can be shared depends on the release
    "Mamba": ({"vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8}, None),
}


def tiny(kind, **more):
    """A model of a kind with further settings, and the strategy that it should get."""
    settings, strategy = MODELS[kind]
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**settings | more, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    head = getattr(transformers, f"{kind}LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM")
    return head(config).eval(), strategy


def biased(dtype):
    """A Qwen2 whose keys have large biases, as all of Qwen2.5 have: its scores are large and differ by little."""
    torch.manual_seed(1)
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZES, pad_token_id=0)).eval()
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.k_proj.bias.normal_(0, 30)
    return model.to(dtype)


def of_tokens(likelihoods, rows):
    """The log-probability of every token, each as a span, with NaN for the first."""
    found = likelihoods.of_spans(rows, [{str(i): [i] for i in range(1, len(row))} for row in rows])
    return [[math.nan, *(span.log_likelihood for span in spans.values())] for spans in found]


def alone(model, ids, n):
    """The plain path: the prompt by itself through `generate`."""
    given = torch.tensor([ids])
    out = model.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=n, do_sample=False)
    new = out[0, len(ids) :].tolist()
    return new[: new.index(2)] if 2 in new else new


def answered(reader, prompts):
    found = dict(reader.answer(prompts))
    return [found[i] for i in range(len(prompts))]


def answered_as_alone(reader, asked, n):
    """Completions of up to n tokens, which are those of each prompt alone."""
    found = answered(reader, [Prompt(ids, n) for ids in asked])
    assert [one.ids for one in found] == [alone(reader.forward.model, ids, n) for ids in asked]
    return found


def before_each_read(monkeypatch, see):
    """Call `see` with the tokens and the cache whenever a model is about to read."""
    whole = Forward.__call__

    def seen(self, ids, cache, *args, **more):
        see(ids, cache)
        return whole(self, ids, cache, *args, **more)

    monkeypatch.setattr(Forward, "__call__", seen)


def out_of_memory_if(monkeypatch, too_much):
    def check(ids, cache):
        if too_much(ids, cache):
            raise torch.OutOfMemoryError("scarce")

    before_each_read(monkeypatch, check)
