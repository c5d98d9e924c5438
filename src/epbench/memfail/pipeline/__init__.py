"""A MemFail run: facts are told to a memory system, questions are asked, and a reader answers with what comes back.

Read `setting` (how a config is run), `conversations` and `replies` (what the system is told), `queries` (what it is asked),
`prompts` and `reader` (who answers), then `harness`, which runs one config, and `estimate`, which predicts its cost.
"""
