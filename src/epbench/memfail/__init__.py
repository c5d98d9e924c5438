"""MemFail: at which stage does a memory system fail?

Read the rooms in the order of the method: `templates` (rows made without a model), `dataset` (the five tables, what they
store and what they ask), `pipeline` (store, retrieve, answer), `judging` (stage by stage), `scores`. Beside them stand
`calibration`, which plants faults to see whether a judge finds them, and `validation`, which counts what in the rows limits
the meaning of a score; `claims` holds the paper's claims against runs, `figures` draws, and `paper` makes the paper's tables
and figures from runs. Paper: Garg et al., 2026.
"""
