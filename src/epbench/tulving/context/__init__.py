"""What a reader gets to see of a book: all of it, passages, memories of a system, or nothing."""
