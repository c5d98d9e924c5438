"""A tiny Llama, so that fine-tuning can be tried without a network, a GPU or the weights of a real model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from epbench.files.replacing import replacing

_SPECIALS = ("<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
_CHAT = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_toy_model(folder: Path, texts: Iterable[str], *, window: int = 8192, seed: int = 1) -> None:
    """Write a Llama of about a million parameters with random weights, and a tokenizer that has learned these texts.

    It knows nothing before it is trained, and little afterwards: it shows that everything works, and no more.

    Args:
        folder: Where it goes; a folder that is there already stays as it is.
        texts: What the tokenizer learns its words from.
        window: The longest text in tokens.
        seed: Of the weights.
    """
    if (folder / "config.json").is_file():
        return
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2048, special_tokens=list(_SPECIALS), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    raw.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw, bos_token="<s>", eos_token="<|end|>", pad_token="<pad>", model_max_length=window
    )
    tokenizer.chat_template = _CHAT
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, head_dim=32, max_position_embeddings=window, tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with replacing(folder) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
