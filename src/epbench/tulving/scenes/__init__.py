"""What chapters of the higher levels are made of: scenes by kind of event, spaces by kind, and sentences with choices.

In reading order: `patterns` (a sentence with choices, pronouns, and how often the same words may return) and `scene_files`
(how each kind of event of a universe goes, what each space is like, and the sentences that all universes share).
"""
