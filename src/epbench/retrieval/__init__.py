"""Exact search: every text is scored for every query, so that no index loses what a memory has stored.

Read `protocol` first. `load` compares words by BM25, and turns a name such as `bm25` or `st:PATH` into a retriever. `dense`
compares vectors, and keeps them on disk; these come from `embedders`, or from the searched texts alone.
"""
