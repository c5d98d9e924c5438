"""The tables and figures of the paper about Tulving books, made from runs, from datasets and from an archive.

Read `inputs` first: what is given, as runs and reported rows, the line that stands for each, and what the tables share; then
`make`, which lists every table and figure in the order of the paper. `recall`, `contrasts`,
`groups` and `inventions` make those about answers. `books` reads what is told of books, and `book_tables` and `book_chapters`
make those about them.
"""
