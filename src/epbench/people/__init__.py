"""Questions for people: the page that asks them, and what comes back from it.

Like other shared packages it knows no benchmark: `eval_scripts/people.py` makes items from questions and verdicts.
"""
