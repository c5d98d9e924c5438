"""Books that take more than a search for names: what each level adds, and the plan of every chapter.

In reading order: `level` (what each level adds), `plan` (what a chapter must say, and how), `plot` (the plans of a book,
with the asides of level 3), `references` (level 4) and `outcomes` (level 5).
"""
