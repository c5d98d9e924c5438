"""The tables and figures of the paper about Tulving books, made from runs, from datasets and from an archive.

Read `inputs` first: what is given, as runs and reported rows, and the line that stands for each in a table; then `rows`, what the
tables share; then `make`, which lists every table and figure in the order of the paper. `recall`, `order`, `comparisons`,
`contrasts` and `groups` make those about answers. `books` reads what is told of books, and `book_tables`, `book_chapters` and
`book_map` make those about them; `realism` asks a model how realistic events are.
"""
