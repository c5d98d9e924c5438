"""Book-SORT of a model that was trained on the books: what it is trained on, and what is measured of a checkpoint.

Read `material` (the texts, and how they are shown), then `measures` (runs of SORT, perplexities of segments, what hidden states
tell, and the report). How a model is trained is the business of `epbench.finetuning`. Paper: Appendix F.
"""
