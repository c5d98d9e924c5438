"""A solver that reads a book of level 4 and finds what it only implies, without having seen how the book was made.

In reading order: `statements` (what each paragraph says, by regular expressions), `solver` (from statements to dates,
locations, people and kinds of event, and the proof that the evidence of every fact is
enough, and that no part of it can be missing).
"""
