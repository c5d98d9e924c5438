"""Books that take more than a search for names: what each level adds, and the plan of every chapter.

In reading order: `plan` (what each level adds, and what a chapter must say, and how), `plot` (the plans of a book, with the
asides of level 3) and `references` (levels 4 and 5: what only other chapters tell, and what events change).
"""
