"""Tulving books: episodic memory of a whole book of events.

The rooms in the order of the method: `events` (what happens), `chapters` (who writes it), `questions`, `dataset` (a book
as a dataset), `context` (what the reader sees), `reader` (the rule-based reader), `judging`, `calibration` (of judges),
`scores`, and `released` (the authors' data).
"""
