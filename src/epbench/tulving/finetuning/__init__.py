"""A Tulving book in the weights of a model: it is trained on questions and answers, and then asked without the book.

Read `material` (what is trained, and what a checkpoint is asked) and `measures` (one checkpoint becomes a run like any other, and
what of it is followed). How a model is trained is the business of `epbench.finetuning`. Paper: Section 5.1 and Appendix B.2.5.
"""
