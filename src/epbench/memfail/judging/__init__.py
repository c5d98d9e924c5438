"""Judging what a memory system did for a question, stage by stage.

Read `lexical` first (what a judge is asked, and how rules judge it) with its `memories` and `alterations`, then `load` (from
a name to a judge, which may be any model, with its prompts), `multiple_choice` (answers that need no judge) and `diagnosis`
(the stages, where each question failed, and what a judge would not miss).
"""
