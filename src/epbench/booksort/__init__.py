"""Book-SORT: which of two segments of a book came first?

Read the rooms in the order of the method: `texts` (books, cleaned and split into sentences), `pairs` (excerpts and their
segments), `dataset` (the pairs as Parquet), `context` (what a model is shown and asked), `answers` (what it said), `scores`.
`paper` makes the tables and figures of the paper from runs.
Paper: Pink et al., 2024.
"""
