"""MemFail rows that a language model writes: the reference's recipe, and the checks that it leaves out.

Read `specs` (what a row is to be about), `asking` (the prompts, and three tries, each told what was wrong), then the tasks
with what their rows must pass: `conditional`, `single_call` (Coexisting, Persona and `revision`) and `long_hop`. `words`
compares texts and finds those that are too alike; `generate` runs all of it.
"""
