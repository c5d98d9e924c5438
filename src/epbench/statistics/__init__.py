"""Intervals and tests for questions that come in clusters, and what else is asked of several measures of a question.

`intervals` and `proportions` are about one run, `paired` about two runs on the same questions, and `comparison` chooses
the questions of two runs and tests them. `correlation` is about two measures of the same questions, and `readout` about the
answers that a layer finds in a model's hidden states.

`ranks` compares several methods at once, `two_samples` two sets of questions that are not paired, `estimation` shows the
size of a paired difference, `spread` takes apart what differs between books and within one, and `smallest_difference` says
what so many questions can show. Each procedure is tested on simulated runs.
"""
