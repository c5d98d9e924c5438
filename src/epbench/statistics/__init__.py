"""Intervals and tests for questions that come in clusters.

`intervals` and `proportions` are about one run, `paired` about two runs on the same questions, and `comparison` chooses
the questions of two runs and tests them.
"""
