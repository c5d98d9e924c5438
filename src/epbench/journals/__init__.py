"""Append-only files of what has cost time or money, one record to a line, and asking a model without asking twice.

Read `journal` first (what the files are, and what a record of each holds), then `answers`.
"""
