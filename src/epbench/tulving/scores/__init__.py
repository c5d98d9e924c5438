"""Scores of runs on Tulving books, and what shows them.

Read `scoring` first (from judged answers to scores), then `results` (what a run writes at its end), `tables` and `report` (of
one run, or of several) and `comparison` (of several runs, question by question). `run_files` has the table of questions, and
checks the files of a run as they are read. `inventions` makes the card of each question, and `judge_agreement` compares judges.
"""
