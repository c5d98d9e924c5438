"""The rows of MemFail, and the facts and questions that they give.

Read `types` (the vocabulary), `schema` (columns), `released` (the published rows), `questions` (from rows to
facts and questions), then `load`, which reads a dataset for an evaluation, and `card`, which writes its README.md.
"""
