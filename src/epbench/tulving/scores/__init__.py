"""Scores of runs on Tulving books, and what shows them.

Read `scoring` first (from judged answers to scores), then `results` (what a run writes at its end, with a card for each
question), `tables` and `report` (of one run, or of several side by side). `run_files` has the table of questions, and checks
the files of a run as they are read. `comparison` takes the folders of several runs, and `judge_agreement` compares judges.
"""
