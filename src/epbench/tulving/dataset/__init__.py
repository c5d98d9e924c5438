"""A Tulving book as a dataset.

In reading order: `build` (from a recipe to a book with its questions, the whole method, and its card), `schema` (configs and
columns), `load` (a dataset for an evaluation).
"""
