"""The tables and figures of the SORT paper (Pink et al., 2024), made from one's own runs and trainings.

Read `inputs` first: what is given, as runs, trainings and reported numbers. `rates` says how a table or figure of accuracies
is declared, and `results` declares them. `effects` shows what was chosen for each model and what changes its answers, and
`training` what a training does by epoch, and whether it matters. `make` puts all of them in the order of the paper.
"""
