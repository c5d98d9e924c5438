"""Judging what a memory system did for a question, stage by stage.

Read `protocol` first (what a judge is asked), then `lexical` with its `word_rules` (rules), `model` with its `prompts`
(any model), `load` (from a name to a judge), `multiple_choice` (answers that need no judge), and `stages` and
`diagnosis` (where each question failed).
"""
