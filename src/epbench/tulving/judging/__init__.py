"""Judging the answers to questions about a book: which true items does an answer contain?

Read `verdicts` first (what a judge is given, what it finds, and judging the answers of a run), then `lexical` (words),
`similarity` (sentence embeddings), `load` (any model as judge, and from a name to a judge), and `own_answers` (answers that
come from elsewhere).

`realism` judges no answers: it rates how realistic the events of a book are.
"""
