"""Scores of Book-SORT runs, and what shows them.

Read `scoring` first (from answered questions to scores) with `middle_effect`, then `results` (what a run writes at its end),
`tables`, `report` and its `cards`. `comparison` and `side_by_side` take the folders of several runs, `run_files` checks the
files of a run as they are read, and `question_files` writes and reads its questions as a table.
"""
