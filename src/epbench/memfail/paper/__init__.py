"""Tables and figures of the paper on MemFail, from runs, reported rates and datasets, and its claims.

Read `inputs` (what they are made from) and `rows` (success of every system on every config at every k, as one frame) first,
then `figures`, `leaderboard` and `make` (all of them). `claims` decides the claims by what `measures` compares, and
`side_by_side` shows them in a report on several runs.
"""
