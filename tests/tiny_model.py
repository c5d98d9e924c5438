"""A Llama of two layers with random weights and a tokenizer of its own, made in about a second."""

from __future__ import annotations

from pathlib import Path

CHAT = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CHAT_WITHOUT_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT


def make_tiny_model(
    folder: Path, text: str, *, chat: bool | str = True, window: int = 32768, layers: int = 2, vocabulary: int = 600
) -> Path:
    """Write a model and its tokenizer into a folder.

    The initial weights are large and the embeddings are not tied, so that different questions get different answers.

    Args:
        folder: created if missing.
        text: what the tokenizer learns its words from.
        chat: whether the tokenizer has a chat template, or that template.
        window: `max_position_embeddings`.
        layers: number of layers.
        vocabulary: most tokens, at least 300.

    Returns:
        The folder.
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
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
