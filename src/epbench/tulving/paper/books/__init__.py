"""The tables and figures of the paper that are about the books themselves: their sizes, how often a date, place or person
occurs, how chapters were written and checked, where facts stand, and the path of one person through a book.

Read `book` first, what the others take: `inputs` reads books from datasets (`own`) and from an archive (`published`). Then in
the order of the paper: `characteristics` (Tables 2, 26, 28), `repetitions` (6, 9), `writing` (7, 8), `positions` (Figure 5),
`widespreadness` (Table 12) and `path` (Figure 6, drawn by `map_drawing`). `realism` has a model rate events for
Tables 24 and 25, which are about answers. `make` puts all of them in order.
"""
