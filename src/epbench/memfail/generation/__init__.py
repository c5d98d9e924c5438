"""MemFail rows that a language model writes: the reference's recipe, and the checks that it leaves out.

Read `specs` (what a row is to be about), `prompts`, `asking` (three tries, each told what was wrong), then the tasks:
`conditional`, `single_call` (Coexisting and Persona) and `long_hop`. What a row must pass is there or in `checks_…`, one
function for each check, with `words` for comparing texts; `duplicates` finds rows that are too alike. `generate` runs all of it.
"""
