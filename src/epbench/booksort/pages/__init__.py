"""What the page of a Book-SORT run shows of each pair: both segments, the answer, and the excerpt that they are from."""
