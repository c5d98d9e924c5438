"""The data that the authors of the paper released: their books, and the runs of their models on them.

In reading order: `archive` (reading from a folder or zip, and which books and runs there are), `books` (a released
book as one of ours, and how it was written), then `runs` (scoring the released answers again) with `verdicts` (the replies
of the released judge, and the scores as the paper's code prints them).
"""
