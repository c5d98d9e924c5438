"""The tables and figures of the paper about Tulving books, made from runs, from datasets and from an archive.

Read `inputs` first: what is given, as runs and reported rows, and the line that stands for each in a table; then `rows`, what the
tables share; then `make`, which lists every table and figure in the order of the paper. `recall`, `order` and `comparisons` make
those about answers, `hallucinations`, `grouping` and `seeds` what the paper describes or could not show. Those about the books
themselves are in `book_tables`, `repetitions` and `book_figures`, made from what `books` reads; `ratings` asks a model how
realistic events are.
"""
