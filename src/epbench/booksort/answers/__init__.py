"""From what a model returned to A or B.

`records` reads the records of answers.jsonl, `parsing` the texts of answers, and `answer` has what is kept of each question.
"""
