"""Calibrating a judge of MemFail: how often does it find a fault whose stage is certain, because it was planted?

Read `faults` first (how the text of one memory is made faulty, then cases with whole stores and records, each with the
label that a right judge must give), `passport` (how a judge did on them, where that is kept, and how it is shown) and
`check` (the whole check).
"""
