"""Book-SORT of a model that was trained on the books: what it is trained on, and what is measured of a checkpoint.

Read `material` (the texts, and how they are shown), `plan` (which questions a checkpoint is asked), `texts` (perplexities of
segments, and hidden states) and `measures` (the runs of SORT, and all that is measured). How a model is trained is the
business of `epbench.finetuning`. Paper: Appendix F.
"""
