"""Judging what a memory system did for a question, stage by stage.

Read `lexical` first (what a judge is asked, and how rules judge it) with its `memories` and `alterations`, then `load` (from
a name to a judge, which may be any model, with its prompts), `multiple_choice` (answers that need no judge), `revision` (those
about facts that were corrected or withdrawn), `diagnosis` (the stages, and where each question failed) and `leave_one_out`
(what a judge would not miss).
"""
