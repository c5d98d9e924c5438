"""A model of the tests as a GGUF file, as llama.cpp's converter writes one."""

import json
from pathlib import Path
from typing import Any


def write_gguf(
    folder: Path, file: Path, *, architecture: str = "llama", tokenizer: bool = True, template: bool = True
) -> Path:
    """Write the Llama in a folder into one file, with all weights in float32, and with its tokenizer and template if wanted."""
    import gguf
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    config = model.config
    writer = gguf.GGUFWriter(file, architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    if tokenizer:
        _add_tokenizer(writer, AutoTokenizer.from_pretrained(folder), folder, template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        writer.add_tensor(names.get_name(name, (".weight",)), _ordered(name, weight.numpy(), config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(writer: Any, tokenizer: Any, folder: Path, template: bool) -> None:
    import gguf

    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    kinds = gguf.TokenType
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds.CONTROL if t in tokenizer.get_added_vocab() else kinds.NORMAL for t in tokens])
    merges = json.loads((folder / "tokenizer.json").read_text())["model"]["merges"]
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    if template:
        writer.add_chat_template(tokenizer.chat_template)


def _ordered(name: str, weight: Any, config: Any) -> Any:
    """Weights as the file has them: the rows of queries and keys are in the order of llama.cpp's rotary embedding."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    n = next((n for part, n in heads.items() if part in name), None)
    if n is None:
        return weight
    half = weight.shape[0] // n // 2
    return weight.reshape(n, 2, half, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
