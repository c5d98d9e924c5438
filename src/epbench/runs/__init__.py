"""Run folders: work that costs time is journaled as it arrives, and scores are computed from the journals alone.

Read `folder` first (how a folder is opened, and who may write to it), then `journal` and `answers` (what grows while a
model works), `shapes` (what the files must look like) and `results` with `outcomes` and `usage` (what is written at the
end). `subset` chooses the questions of a run, `merge` joins the folders of its shards, `several` reads the folders of runs
that are shown side by side, and `secrets` keeps keys out of all files.
"""
