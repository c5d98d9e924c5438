"""Models of transformers on this machine: a shared context is read once, and its questions are answered in batches.

Read `model` first, then `prompt_tokens` (from a request to token ids, with `chat_templates`) and `shared_prefix` (from token
ids to answers, by `prefix_rows` and `prefix_attention`). `checkpoint`, which vLLM uses as well, reads no weights, and
`likelihood` tells how probable given texts are.
"""
