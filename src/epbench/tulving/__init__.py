"""Tulving books: universe → events → chapters → questions → score (one module per arrow)."""
