"""The readers of Tulving books, which follow rules and need no model."""
