"""Calibrating a judge of MemFail: how often does it find a fault whose stage is certain, because it was planted?

Read `texts` first (how the text of one memory is made faulty), then `faults` (cases with whole stores and records, each
with the label that a right judge must give), `passport` (how a judge did on them, and where that is kept), `report` and
`check` (the whole check).
"""
