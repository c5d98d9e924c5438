"""Book-SORT: which of two segments of a book came first?"""
