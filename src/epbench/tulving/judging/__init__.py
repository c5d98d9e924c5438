"""Judging the answers to questions about a book: which true items does an answer contain?

Read `protocol` first (what a judge is given and what it finds), then `rules` and `lexical` (words), `similarity` with
its `phrases` (sentence embeddings), `load` with its `prompts` (from a name to a judge, and any model as judge),
`own_answers` (answers that come from elsewhere), and `verdicts` (judging the answers of a run).

`realism` judges no answers: it rates how realistic the events of a book are.
"""
