"""Scores of runs on Tulving books, and what shows them.

Read `scoring` first (from judged answers to scores), then `run_files` (the files of a run: its questions as a table, and
checks of the others), `results` (what a run writes at its end), `tables` and `report` (of one run, or of several side by
side). `comparison` takes the folders of several runs, and `judge_agreement` compares judges.
"""
