"""Intervals and tests for questions that come in clusters, and what else is asked of several measures of a question.

`intervals` is about one run, and about what differs between books and within one. `paired` is about two runs on the same
questions, which it chooses and tests, and about two measures of them. `estimate` holds a result with all that stands beside
it, and `readout` is about the answers that a layer finds in a model's hidden states.

`ranks` compares several methods at once, and `smallest_difference` says what so many questions can show, also of two sets that
are not paired. Each procedure is tested on simulated runs.
"""
