"""Raw texts become books: clean narratives as words, with the words at which sentences begin.

Read `cleaning` (from a raw text to its narrative and its sentences), then `books`: which nine, how to download them, and a
folder of your own texts.
"""
