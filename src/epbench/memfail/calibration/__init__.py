"""Calibrating a judge of MemFail: how often does it find a fault whose stage is certain, because it was planted?

Read `faults` first (how the text of one memory is made faulty, then cases with whole stores and records, each with the
label that a right judge must give), then `passport` (the whole check, how a judge did, where that is kept and how it is shown).
"""
