"""Run folders: scores are computed from the journals of a run alone, and what is done with runs is written once.

Read `folder` first (how a folder is opened, and who may write to it), `results` with `question_table` and `usage` (what is
written at the end), `checksums` (whether it is still as it was). `judge` says by which judge its scores are. `benchmark` is
what `merge` (the folders of shards), `verification` and comparisons need to know of a benchmark; `several` reads the folders
of runs that are shown side by side.
"""
