"""Scores of Book-SORT runs, and what shows them.

Read `scoring` first (from answered questions to scores) and its part `middle_effect`, then `results` (what a run writes at its
end), `tables`, `report` (of one run, or of several side by side) and its `cards`. `question_files` has the table of questions,
from which all scores are computed. `comparison` takes the folders of several runs, and `run_files` checks the files of a run
as they are read.
"""
