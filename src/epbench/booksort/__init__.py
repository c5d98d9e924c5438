"""Book-SORT: which of two segments of a book came first?

Begin with `evaluate`, which is the method from top to bottom. Its parts, in their order: `texts` (books, cleaned and split
into sentences), `pairs` (excerpts and their segments), `dataset` (the pairs as Parquet), `context` (what a model is shown and
asked, and who answers), `judging` (what it said), `prompt_selection` (choosing a prompt on held-out pairs), `scores`. Each
imports only what comes before it. `paper` makes the tables and figures of the paper from runs.
Paper: Pink et al., 2024.
"""
