"""Scores of MemFail runs, and what shows them.

Read `scoring` first (from outcomes to scores, and what a run writes at its end), then `tables` (of scores, and of what runs
took), `report` (figures and pages of one run, or of several side by side) and `comparison` (of several runs, question by
question). `run_files` has the table of questions, and checks the files of a run as they are read; `reported_rates` has what a
paper reports.
"""
