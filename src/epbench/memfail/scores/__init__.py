"""Scores of MemFail runs, and what shows them.

Read `scoring` first (from outcomes to scores), then `results` (what a run writes at its end, and the cards of its page) with
`question_files` (what became of each question and each fact that it needs), `tables`, `report` and its `figures`, which
`panels` draws so that they can be read in black and white. `comparison` takes the folders of several runs: `breakdown` shows
them in numbers of questions, and `cost` by what they took. `reported_rates` reads what a paper reports, and `run_files` checks
the files of a run as they are read.
"""
