"""Scores of runs on Tulving books, and what shows them.

Read `scoring` first (from judged answers to scores) and `correction` (for the judge's errors), then `results` (what a run
writes at its end), `tables` and `report` (of one run, or of several side by side). `comparison` takes the folders of several
runs, `judge_agreement` compares judges, and `run_files` checks the files of a run as they are read.
"""
