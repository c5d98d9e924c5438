"""The prompts of a reader, in our own words; the shared part comes first, so that it is read once for all questions."""

from __future__ import annotations

SYSTEM = "You have an excellent memory for events and answer questions about them truthfully and briefly."

BOOK = """Read the book below as if you had lived through its events yourself. Afterwards you will be asked one question \
about it.

=== The book ===

{book}

=== End of the book ==="""

CHUNKS = """Below are passages of a book, found by a search for the question that follows. Read them as if you had lived \
through the events yourself.

=== Passages ===

{chunks}

=== End of the passages ==="""

NOTHING = "You will be asked one question about a book that you may remember."

QUESTION = """Question: {question}

Answer from the text alone. List every item that applies and no other. If the text does not tell, say that you do not \
know."""
