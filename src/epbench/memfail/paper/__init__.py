"""Tables and figures of the paper on MemFail, from runs, reported rates and datasets, and its claims.

Read `inputs` (what they are made from) and `rows` (success of every system on every config at every k, as one frame) first,
then `figures`, `leaderboard` and `make` (all of them). `claims` decides the claims by what `measures` compares, for the
report on several runs in `epbench.memfail.scores.comparison`.
"""
