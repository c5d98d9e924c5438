"""MemFail rows that a language model writes: the reference's recipe, and the checks that it leaves out.

Read `asking` (the prompts, and three tries, each told what was wrong), then the tasks: `essays` (Conditional-Facts and
Persona-Retrieval), `facts` (Coexisting-Facts and `revision`) and `long_hop`. `generate` runs all of it.
"""
