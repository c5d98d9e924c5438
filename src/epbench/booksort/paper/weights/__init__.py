"""Figures of the SORT paper about models that were trained on the books (Figures 15 to 20, Appendix F).

Read `trainings` first, which reads the folders of trainings and says which of them are compared with one another. `readout`,
`perplexity` and `accuracy` show what is measured by epoch, `tests` whether checkpoints differ, and `log_ratio` how sure they are.
"""
