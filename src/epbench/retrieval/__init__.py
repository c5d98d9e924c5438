"""Exact search: every text is scored for every query, so that no index loses what a memory has stored.

Read `protocol` first. `bm25` compares words, `dense` compares vectors; these come from `embedders` (a model on this
machine), `openai_embedder` (an endpoint) or `lsa` (the searched texts alone) and are kept on disk by `vector_cache`. `load` turns
a name such as `bm25` or `st:PATH` into a retriever.
"""
