"""The rows of MemFail, the facts and questions that they give, and what in them limits the meaning of a score.

Read `types` (the vocabulary), `schema` (columns), `released` (the published rows), `questions` (from rows to facts and
questions), then `load`, which reads a dataset for an evaluation. `word_rules` (what rules find in a text),
`text_statistics` (what is counted in texts) and `shortcuts` (what comparing words gets right) lead to `findings`, the
report on the rows that `card` shows in README.md.
"""
