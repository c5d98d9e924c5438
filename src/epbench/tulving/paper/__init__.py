"""The tables and figures of the paper about Tulving books, made from runs, from datasets and from an archive.

Read `inputs` first: what is given, as runs, books and reported rows; then `lines`, who stands in a row of a table; then `make`,
which lists every table and figure in the order of the paper. `results` makes those about answers. Those about the books
themselves are in `book_tables`, `repetitions` and `book_figures`, made from what `books` reads; `ratings` asks a model how
realistic events are.
"""
