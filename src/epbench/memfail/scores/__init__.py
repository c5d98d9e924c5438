"""Scores of MemFail runs, and what shows them.

Read `scoring` first (from outcomes to scores), then `question_files` (what became of each question and each fact that it needs,
and the cards of a run's page) and `results` (what a run writes at its end), with its `tables` and `figures`. `run_files` checks
the files of runs as they are read, and compares runs; `cost` says what they took, and `reported_rates` what a paper reports.
"""
