"""Scores of runs on Tulving books, and what shows them.

Read `scoring` first (from judged answers to scores), then `results` (the files that a run has at its end, as they are written
and read), `tables` and `report` (of one run, or of several side by side). `comparison` takes the folders of several runs, and
`judge_agreement` compares judges.
"""
