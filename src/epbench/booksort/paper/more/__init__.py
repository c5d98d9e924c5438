"""The half of the SORT paper's tables and figures that is not about accuracies of models: settings, contexts and weights.

`make` puts them together, in the order of the paper.
"""
