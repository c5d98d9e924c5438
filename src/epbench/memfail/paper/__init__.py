"""Tables and figures of the paper on MemFail, from runs, reported rates and datasets, and its claims.

Read `inputs` first (what they are made from, and success of every system on every config at every k as rows), then `make`, and
`claims`, which are decided for the report on several runs.
"""
