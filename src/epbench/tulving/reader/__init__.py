"""The readers of Tulving books.

The rule-based one is `lexical`; `story` finds the dates and names for it. `everything` reads nothing and names every
item of the book.
"""
