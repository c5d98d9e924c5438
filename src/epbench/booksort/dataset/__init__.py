"""Book-SORT as a dataset: how it is made, described and read.

Making: `schema` (rows, columns and manifest), `card`.
Reading: `load` (pairs and books for an evaluation), `released` (the set that the authors published).
"""
