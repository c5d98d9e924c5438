"""Figures of the SORT paper about what a context does to a model (Figures 10, 11, 12 and 14).

A context may be a whole book, may hide segments in its middle, may be longer than a model was made for, or may stand before
a model that was never taught to follow instructions. `accuracies` has their numbers and draws their lines.
"""
