"""Judging what a memory system did for a question, stage by stage.

Read `protocol` first (what a judge is asked), then `lexical` with its `word_rules` and `alterations` (rules), `load` (from a
name to a judge, which may be any model) with `prompts`, `multiple_choice` (answers that need no judge), `diagnosis`
(the stages, and where each question failed), and `leave_one_out` (what a judge would not miss).
"""
