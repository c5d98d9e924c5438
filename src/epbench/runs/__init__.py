"""Run folders: scores are computed from the journals of a run alone, and what is done with runs is written once.

Read `folder` first (how a folder is opened, who may write to it, and by which judge its scores are), `usage` (what the replies of
a model come to) and `results` (what is written at the end), `checksums` (whether it is still as it was). `benchmark` is what
`merge` (the folders of shards), `verification` and comparisons need to know of a benchmark, to score a run again and to read its
questions; `several` reads the folders of runs that are shown side by side.
"""
