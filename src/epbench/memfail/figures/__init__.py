"""The figures of MemFail, as reports and the paper's exhibits draw them.

Read `panels` first: it draws into a pair of axes, so that every figure has the same colours, hatches, markers and intervals,
and can be read in black and white. `of_config` draws the figures of the runs of one config, and `by_model` those by the model
inside the memory system; both give HTML for reports.
"""
