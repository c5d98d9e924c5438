"""Books that take more than a search for names: what each level adds, and the plan of every chapter.

In reading order: `plan` (what each level adds, the plan of a chapter, and a book that is being planned), `banks` (the sentences
that tell facts), `plot` (the plans of a book, step by step, with what level 3 adds), `people`, `places` and `days`
(level 4: what only other chapters tell), `entangled` (level 5: accounts, corrections, and what events change).
"""
