"""The rows of MemFail, the facts and questions that they give, and what in them limits the meaning of a score.

Read `schema` (columns), `released` (the published rows), then `load`, which reads a dataset for an evaluation: from its
rows to facts and questions. `word_rules` (what rules find and count in a text) and `shortcuts` (what comparing words gets
right) lead to `findings`, the report on the rows, which the `card` shows.
"""
