"""A solver that reads a book and finds what it only implies, without having seen how the book was made.

In reading order: `frames` (regular expressions of sentences with slots), `statements` (what each paragraph says), `solver` (from
statements to dates, locations, people and kinds of event, and the proof that the evidence of every fact is enough, and that no
part of it can be missing).
"""
