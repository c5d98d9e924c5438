"""Tokenizers of some hundred tokens, and chat templates in the style of those that models come with."""

from functools import cache
from typing import Any

TEXT = "The ferry left the harbour at dawn. Nobody saw who had lit the lamp; the keeper did, and said so. " * 20


def _opening(template: str, start: str) -> str:
    """A template with what an answer begins with."""
    return template + "{% if add_generation_prompt %}" + start + "{% endif %}"


LLAMA = _opening(
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
)
CHATML = _opening(
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
    "<|im_start|>assistant\n",
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content }}{{ eos_token }}"
    "{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"
)
GEMMA = _opening(
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}",
    "<start_of_turn>model\n",
)
LATE_SYSTEM = (  # the system message stands in the last user message, wherever that is
    "{{ bos_token }}{% set system = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% set turns = messages[1:] if system else messages %}{% for m in turns %}"
    "{% if m.role == 'user' %}[INST]{% if system and loop.index0 >= loop.length - 2 %}{{ system }}\n\n{% endif %}"
    "{{ m.content }}[/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
UNENDED = _opening("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", "assistant: ")
CHANNELS = _opening(
    "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}"
    "<|message|>{{ m.content }}{% if loop.last and m.role == 'assistant' %}</s>{% else %}<|im_end|>{% endif %}{% endfor %}",
    "<|start|>assistant",
)
LEAVES_SYSTEM_OUT = CHATML.replace("{% for m in messages %}", "{% for m in messages if m.role != 'system' %}")
EMPTY_REASONING = CHATML.replace(  # before the last answer
    "\n{{ m.content }}",
    "\n{% if loop.last and m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}",
)
OPEN_REASONING = CHATML.replace("<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}")
TEMPLATES = {
    "llama": LLAMA, "chatml": CHATML, "mistral": MISTRAL, "gemma": GEMMA, "late-system": LATE_SYSTEM, "unended": UNENDED,
    "leaves-out": LEAVES_SYSTEM_OUT, "empty-reasoning": EMPTY_REASONING, "open-reasoning": OPEN_REASONING,
    "channels": CHANNELS, "none": None,
}  # fmt: skip
ENDS = dict.fromkeys(TEMPLATES, "</s>") | {"llama": "<|eot_id|>", "gemma": "<end_of_turn>"}
ENDS |= dict.fromkeys(("chatml", "leaves-out", "empty-reasoning", "open-reasoning"), "<|im_end|>")
"""The token that ends a turn."""

_SPECIAL = [
    "<pad>", "<s>", "</s>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|im_start|>", "<|im_end|>",
]  # fmt: skip
_ADDED = ["<start_of_turn>", "<end_of_turn>"]  # tokens that are not called special


def tokenizer_with(template: str | None, kind: str = "bytes") -> Any:
    """A tokenizer with a template, or one of `TEMPLATES`: of `bytes` (as Llama 3), `pieces` (as Llama 2) or `characters`."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_raw(kind), bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token=None
    )
    tokenizer.chat_template = TEMPLATES.get(template, template) if template else None
    return tokenizer


@cache
def _raw(kind: str) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    words = {"special_tokens": _SPECIAL, "show_progress": False}
    if kind == "pieces":
        raw = Tokenizer(models.BPE(byte_fallback=True))
        raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        raw.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
        own = [*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
        trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=own, show_progress=False)
    else:
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        size = 450 if kind == "bytes" else len(_SPECIAL) + 256
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **words)
    if kind == "characters":
        raw.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
        )
    raw.train_from_iterator([TEXT], trainer)
    raw.add_tokens([AddedToken(token, special=False) for token in _ADDED])
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", raw.token_to_id("<s>"))]
    )
    return raw
