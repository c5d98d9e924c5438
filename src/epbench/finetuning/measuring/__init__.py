"""What the benchmarks share when several processes measure one checkpoint, of which each has a copy.

`asking` has its questions answered in one journal, and `perplexity` says how well it predicts given texts; `tables` and
`page` show what all trainings have. What is asked, and what the answers are worth, is the business of the benchmarks.
"""
