"""The texts that a model is trained on, as tokens.

Read `chunks` first (a book in parts), then `instructions` (examples of following instructions, as others publish them) and
`tokens`, which makes samples of all of them.
"""
