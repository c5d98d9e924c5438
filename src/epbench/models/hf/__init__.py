"""Models of transformers on this machine: a shared context is read once, and its questions are answered in batches.

Read `model` first, then `prompt_tokens` (from a request to token ids, with `chat_templates`) and `shared_prefix` (from token
ids to answers). The latter builds on `prefix_batches` (which prompts go together), `prefix_rows` and `prefix_attention`.
`checkpoint` is what can be known of a model before its weights are loaded; vLLM uses it as well. `gguf_files` makes
checkpoints of GGUF files, `memory` refuses weights that do not fit, and `likelihood` tells how probable given texts are, without
generating anything.
"""
