"""Books that take more than a search for names: what each level adds, and the plan of every chapter.

In reading order: `plan` (what each level adds, and what a chapter must say, and how), `plot` (the plans of a book, step by
step), `banks` and `book` (the sentences, and what the chapters tell so far), `contrasts` (level 3: what is so beside what is
not), `people`, `places` and `days` (level 4: what only other chapters tell), `entangled` (level 5: accounts, corrections, and
what events change).
"""
