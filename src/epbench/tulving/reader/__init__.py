"""The readers of Tulving books.

`load` turns a name into a reader. The rule-based one is `lexical`; `story` finds the dates and names for it. `everything`
reads nothing and names every item of the book.
"""
