"""What chapters of the higher levels are made of: scenes by kind of event, spaces by kind, and sentences with choices.

In reading order: `patterns` (a sentence with choices, and how often the same words may return), `scene_files` (the
files of a universe that say how each kind of event goes, and what each space is like), `scenery` (both for the names of
one universe), `tale_files` (sentences that all universes share), `people` (pronouns).
"""
