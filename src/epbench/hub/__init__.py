"""Dataset folders and their cards: write, install locally, push."""
