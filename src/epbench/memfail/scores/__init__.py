"""Scores of MemFail runs, and what shows them.

Read `scoring` first (from outcomes to scores), then `results` (what a run writes at its end, with a card for each question),
`tables`, `figures` and `report` (of one run, or of several side by side). `run_files` has the table of questions, and checks
the files of a run as they are read. `comparison` takes the folders of several runs; `cost` says what runs took, and
`reported_rates` what a paper reports.
"""
