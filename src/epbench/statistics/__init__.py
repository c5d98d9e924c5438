"""Intervals and tests for questions that come in clusters, and what else is asked of several measures of a question.

`intervals` and `proportions` are about one run, `paired` about two runs on the same questions, and `comparison` chooses
the questions of two runs and tests them. `correlation` is about two measures of the same questions, and `readout` about the
answers that a layer finds in a model's hidden states.
"""
