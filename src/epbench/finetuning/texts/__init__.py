"""The texts that a model is trained on, as tokens.

Read `chunks` first (a book in parts), then `instructions` (examples of following instructions, with `instruction_rows`, which
reads them) and `tokens`, which makes samples of all of them.
"""
