"""Append-only files of what has cost time or money, one record to a line, and asking a model without asking twice.

Read `journal` first, then `records` (what a record of each file holds) and `answers`.
"""
