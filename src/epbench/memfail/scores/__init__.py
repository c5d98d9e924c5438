"""Scores of MemFail runs, and what shows them.

Read `scoring` first (from outcomes to scores), then `run_files` (what a run writes at its end, and how it is read), `tables`
(of scores, and of what runs took) and `report` (figures and pages of one run, or of several side by side). `comparison` takes
the folders of several runs, and `reported_rates` what a paper reports.
"""
