"""The claims of MemFail's paper beside the runs that support or deny them, computed and never typed.

Read `cells` first (what runs say, whoever made them), then `evidence` (from counts to a decision),
`measures` (what claims are about), `claims` (each a function of the cells) and `report` (their table and their file).
"""
