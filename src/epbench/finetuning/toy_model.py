"""A tiny Llama and tasks made by rules, so that fine-tuning can be tried without a network, a GPU or a real model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from epbench.draws import RandomStream
from epbench.files.replacing import replacing

_WINDOW = 8192  # tokens of the longest text
_SPECIALS = ("<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
_CHAT = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_toy_model(folder: Path, texts: Iterable[str]) -> None:
    """Write a Llama of about a million parameters with random weights, and a tokenizer that has learned these texts.

    It knows nothing before it is trained, and little afterwards: it shows that everything works, and no more. A folder
    that is there already stays as it is.
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
        tokenizer_object=raw, bos_token="<s>", eos_token="<|end|>", pad_token="<pad>", model_max_length=_WINDOW
    )
    tokenizer.chat_template = _CHAT
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, head_dim=32, max_position_embeddings=_WINDOW, tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = LlamaForCausalLM(config)
    with replacing(folder) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)


_WORDS = """
    anchor barley candle dune ember feather garden harbour island jacket kettle lantern meadow needle orchard
    pebble quarry ribbon saddle thistle umbrella valley willow yarn
""".split()


def toy_instructions(n: int, seed: int) -> list[list[Mapping[str, str]]]:
    """Return n different conversations: tasks with words and numbers, and their right answers; more begin with the same ones.

    One in three has a system message, and one in three a second task.
    """
    draw = RandomStream("toy instructions", seed)
    conversations: dict[str, list[Mapping[str, str]]] = {}
    while len(conversations) < n:
        messages: list[Mapping[str, str]] = []
        if draw.index(3) == 0:
            messages.append({"role": "system", "content": "You are a helpful assistant."})
        for _ in range(1 + (draw.index(3) == 0)):
            task, answer = _task(draw)
            messages += [{"role": "user", "content": task}, {"role": "assistant", "content": answer}]
        conversations.setdefault(str(messages), messages)
    return list(conversations.values())


def _task(draw: RandomStream) -> tuple[str, str]:
    """A task and its answer."""
    kind = draw.index(5)
    if kind == 1:
        word = draw.pick(_WORDS) + draw.pick(_WORDS)
        return f"How many letters does {word} have?", str(len(word))
    if kind == 3:
        first, second = draw.between(10, 999), draw.between(10, 999)
        return f"What is {first} plus {second}?", str(first + second)
    words = draw.sample(_WORDS, 3 + kind // 2)
    if kind == 0:
        return f"Repeat these words: {' '.join(words)}", " ".join(words)
    if kind == 2:
        return f"Sort these words from A to Z: {', '.join(words)}", ", ".join(sorted(words))
    return f"Which is the last of these words: {', '.join(words)}?", words[-1]
