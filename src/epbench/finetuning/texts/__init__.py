"""The texts that a model is trained on, as tokens.

Read `samples` first (a training text as tokens, with those that are learned), then `chunks` (a book in parts), `instructions`
(examples of following instructions, with `instruction_rows`, which reads them, and `toy_instructions`, made by rules) and
`tokens`, which makes samples of all of them (with `turns`: where messages stand in what a chat template writes).
"""
