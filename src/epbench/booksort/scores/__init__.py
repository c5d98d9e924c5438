"""Scores of Book-SORT runs, and what shows them.

Read `scoring` first (from answered questions to scores) with its parts `labels`, `consistency` and `middle_effect`, then
`results` (what a run writes at its end), `tables`, `report` and its `cards`. `comparison`, `side_by_side` and `merging` take
the folders of several runs, `run_files` checks the files of a run as they are read, and `question_files` writes and reads its
questions as a table.
"""
