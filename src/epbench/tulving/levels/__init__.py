"""Books that take more than a search for names: what each level adds, the plan of every chapter, and its checks.

In reading order: `level` (what each level adds), `plan` (what a chapter must say, and how), `plot` (the plans of a book),
`asides` (level 3), `references` (level 4), `outcomes` (level 5), `vocabulary` (names in a text), `checks` (of
a chapter by any writer), `narration` and `scene_writer` (chapters without a model).
"""
