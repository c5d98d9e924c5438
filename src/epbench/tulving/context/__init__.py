"""What a reader gets to see of a book.

`retrieved` has what of the book is retrieved for a question: passages, or the memories of a system. `requests` puts these,
the whole book or nothing before each question, in the words of a prompt pack.
"""
