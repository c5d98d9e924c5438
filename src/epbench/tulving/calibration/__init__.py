"""Calibrating a judge: how often is it right on answers whose verdict is certain?

Read `questions` and `kinds` first (how calibration answers are made), then `answers` (the calibration set), `passport`
(how a judge did on it), `store` (where passports are kept) and `check` (the whole check).
"""
