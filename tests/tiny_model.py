"""A Llama of two layers with random weights and a tokenizer of its own, made in about a second."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

CHAT = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CHAT_WITHOUT_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT


def make_tiny_model(
    folder: Path,
    text: str,
    *,
    chat: bool | str = True,
    window: int = 32768,
    layers: int = 2,
    vocabulary: int = 600,
    seed: int = 0,
    ends: bool = False,
) -> Path:
    """Write a model and its tokenizer into a folder.

    The initial weights are large and the embeddings are not tied, so that different questions get different answers.
    Such a model hardly ever ends an answer, unless it `ends` each after one token. The tokenizer learns its words, at least
    300 (`vocabulary`), from the text; `chat` is its chat template, or whether it has ours.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    specials = ["<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator([text[:200_000]], trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", raw.token_to_id("<s>"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", pad_token="<pad>", model_max_length=window
    )
    tokenizer.chat_template = (chat if isinstance(chat, str) else CHAT) if chat else None

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=window,
        initializer_range=0.5,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    if ends:
        _end_answers(model, tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _end_answers(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Let the last token alone decide, by one number of its embedding that no layer changes, whether the answer ends.

    It goes on behind the tokens that end a prompt and behind no others. Those, and tokens that show anything but letters
    and digits, are never chosen.
    """
    import torch

    ends_of_prompts = [tokenizer(end, add_special_tokens=False)["input_ids"][-1] for end in ("\n", "a:")]
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 0.5
        model.model.embed_tokens.weight[ends_of_prompts, 0] = -0.5
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[0] = layer.mlp.down_proj.weight[0] = 0.0
        for token in range(len(tokenizer)):
            shown = tokenizer.decode([token], skip_special_tokens=True).strip()
            if not shown.isalnum():  # a sign alone is no answer
                model.lm_head.weight[token] = 0.0
        model.lm_head.weight[[*ends_of_prompts, tokenizer.eos_token_id]] = 0.0
        model.lm_head.weight[tokenizer.eos_token_id, 0] = 1e6
