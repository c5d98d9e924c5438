"""A Tulving book as a dataset.

In reading order: `build` (from a recipe to a book with its questions, the whole method), `schema` (configs and columns),
`card`, `load` (a dataset for an evaluation).
"""
