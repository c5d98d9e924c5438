"""The tables and figures of the MemFail paper, made from runs, reported rates and rows of the dataset.

Read `inputs` (what is given) and `cells` (a system's scores at one k, own and reported alike), then `make`, which puts
everything in the order of the paper. `material` makes Tables 1 to 5; `success`, `by_model`,
`tokens` and `stages` the figures; `scaling`, `differences` and `tokens` add what the paper leaves out. `notes` says what a
reader must know of floors, ceilings, judges and rows. `leaderboard` ranks the systems.
"""
