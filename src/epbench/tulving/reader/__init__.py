"""The readers of Tulving books, which follow rules and need no model.

`lexical` finds the dates and names of a story and answers from these. `everything` reads nothing and names every item of
the book.
"""
