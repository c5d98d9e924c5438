"""What chapters of the higher levels are made of: scenes by kind of event, spaces by kind, and sentences with choices.

In reading order: `patterns` (a sentence with choices, and pronouns), `spread` (how often the same words return) and
`scene_files` (how each kind of event of a universe goes, what each space is like, and the sentences that all universes share).
"""
