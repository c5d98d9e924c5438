"""The tables and figures of the SORT paper (Pink et al., 2024), made from one's own runs and trainings.

Read `inputs` first: what is given, as runs, trainings and reported numbers; then `make`, which lists every table and figure
in the order of the paper. `results` makes those about answers with and without memory; `settings_and_weights` puts together
those of `settings` (data, prompts, queries), of `contexts` (whole books, lengths, the middle of an excerpt) and of `weights`
(trainings). `leaderboard` ranks the runs.
"""
