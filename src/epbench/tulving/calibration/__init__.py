"""Calibrating a judge: how often is it right on answers whose verdict is certain?

Read `answers` first (the calibration set and how it is made), then `passport` (how a judge did on it, where that is kept, and
scores corrected by it) and `check` (the whole check).
"""
