"""Raw texts become books: clean narratives as words, with the words at which sentences begin.

Read `gutenberg` (which nine books, and how to download them), `cleaning` (from a raw text to its narrative), `sentences`
(where sentences begin), then `books`, which puts these together.
"""
