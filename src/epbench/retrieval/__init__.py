"""Chunk, embed and search: exact retrieval over one book."""
