"""What a reply is worth: A or B is read off it.

`answers` reads texts and the records of answers.jsonl, and has what is kept of each judged question.
"""
