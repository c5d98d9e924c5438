"""Calibrating a judge of MemFail: how often does it find a fault whose stage is certain, because it was planted?

Read `faults` first (what is planted, each with the label that a right judge must give), then `passport` (how a judge did).
"""
