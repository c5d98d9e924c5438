"""What a reader gets to see of a book.

`requests` puts the whole book, retrieved passages or nothing before each question, `memory_system` what a memory system
remembers; `prompts` holds the words around both, and `passages` notes what was retrieved.
"""
