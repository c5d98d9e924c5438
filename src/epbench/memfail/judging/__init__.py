"""Judging what a memory system did for a question, stage by stage.

Read `lexical` first (what a judge is asked, and how rules judge it) with its `memories`, then `load` (from a name to any judge)
and `diagnosis` (where each question failed, and what the judge would not miss).
"""
