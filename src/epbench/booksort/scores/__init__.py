"""Scores of Book-SORT runs, and what shows them.

Read `scoring` first (from answered questions to scores) with `middle_effect`, then `results` (what a run writes at its end,
with a card for each question), `tables` and `report` (of one run, or of several side by side) and `comparison` (of several
runs, question by question). `run_files` has the table of questions, from which all scores are computed, and checks the files of
a run as they are read.
"""
