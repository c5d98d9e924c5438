"""The tables and figures of the paper about Tulving books, made from runs, from datasets and from an archive.

Read `inputs` first: what is given, as runs and reported rows, and the line that stands for each; then `make`, which lists every
table and figure in the order of the paper. `recall`, `contrasts`, `groups` and `inventions` make those about answers, with what
is in `shared`. `books` reads what is told of books, and `book_tables` and `book_chapters` make those about them.
"""
