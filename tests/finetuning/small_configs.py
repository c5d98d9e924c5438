"""Configurations of small models of several kinds, and of the paper's model."""

from transformers import GPT2Config, LlamaConfig, MistralConfig, Qwen2Config

SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 300,
}
LLAMA = LlamaConfig(**SHAPE, num_hidden_layers=3, tie_word_embeddings=False)
CONFIGS = {
    "llama": LLAMA,
    "llama with wide heads": LlamaConfig(**SHAPE, num_hidden_layers=2, head_dim=32, tie_word_embeddings=False),
    "mistral": MistralConfig(**SHAPE, num_hidden_layers=2),
    "qwen2": Qwen2Config(**SHAPE, num_hidden_layers=2, tie_word_embeddings=True),
    "gpt2": GPT2Config(n_embd=64, n_head=4, n_layer=2, n_positions=128, vocab_size=300, bos_token_id=0, eos_token_id=0),
}
LLAMA_3_8B = LlamaConfig(
    vocab_size=128_256,
    hidden_size=4096,
    intermediate_size=14_336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=8192,
    tie_word_embeddings=False,
)
