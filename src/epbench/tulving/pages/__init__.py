"""What the page of a run on a Tulving book shows of each question, from the journals and the chapters of the book."""
